"""One worker for many requests: small checks beside large ones, and equal work."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings
from tests.support.running import Reachable, eventually, http_front

SOURCE = "The bridge opened in 1932. It is 503 metres long. Six lanes cross it. " * 12
SMALL = {"source": "Six lanes cross it.", "response": "Six lanes cross it."}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reachable]:
    place = tmp_path_factory.mktemp("sharing") / "serve.db"
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{place}"), limits=Limits(rate=0, timeout=60)
    )
    with http_front(settings) as service:
        yield service


def large(name: str, claims: int = 200, milliseconds: int = 10) -> dict[str, Any]:
    """A check that takes a long time, in many small steps."""
    response = " ".join(
        f"Person {name} {at} sleeps {milliseconds} ms in a far away town." for at in range(claims)
    )
    return {"source": SOURCE, "response": response}


def post(service: Reachable, body: dict[str, Any]) -> dict[str, Any]:
    with service.client() as client:
        answer = client.post("/v1/check", json=body)
    assert answer.status_code == 200, answer.text
    return dict(answer.json()["report"])


def test_small_check_does_not_wait(shared: Reachable) -> None:
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(post, shared, large("a", claims=60, milliseconds=50))
        eventually(lambda: shared.worker_numbers()["running"] == 1)
        waited = []
        for at in range(3):
            asked = time.monotonic()
            body = {**SMALL, "source": f"Six lanes cross it. It is {at} metres long."}
            assert post(shared, body)["verdict"] == "faithful"
            waited.append(time.monotonic() - asked)
        assert not running.done()
        assert running.result()["verdict"] == "hallucinated"
    # The large one takes three seconds, in steps of less than half a second.
    assert max(waited) < 2.0


def test_equal_requests_are_checked_once(shared: Reachable) -> None:
    body = large("c", claims=40)
    before = shared.worker_numbers()
    with ThreadPoolExecutor(4) as pool:
        reports = list(pool.map(lambda _: post(shared, body), range(4)))
    after = shared.worker_numbers()
    assert after["pairs"] - before["pairs"] == 1
    assert after["shared"] - before["shared"] == 3
    assert len({json.dumps(report["claims"]) for report in reports}) == 1


def test_joined_check_outlives_its_first_client(shared: Reachable) -> None:
    body = large("e", claims=30, milliseconds=40)
    before = shared.worker_numbers()["shared"]

    def events() -> list[str]:
        with shared.client() as client, client.stream("POST", "/v1/check/stream", json=body) as it:
            return [line[7:] for line in it.iter_lines() if line.startswith("event: ")]

    with ThreadPoolExecutor(1) as pool:
        with shared.client() as client, client.stream("POST", "/v1/check/stream", json=body) as it:
            lines = it.iter_lines()  # kept: the connection ends with it
            assert next(line for line in lines if line == "event: claims")
            second = pool.submit(events)
            eventually(lambda: shared.worker_numbers()["shared"] == before + 1)
        found = second.result()
        assert (found[0], found[-1]) == ("accepted", "report")
        assert found.count("claims") == 1
        assert found.count("verdict") >= 30
