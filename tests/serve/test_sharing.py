"""One worker for many requests: small checks beside large ones."""

from __future__ import annotations

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
