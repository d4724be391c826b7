"""One worker for many requests: small checks beside large ones."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings
from tests.support.fake_service import AWAKE
from tests.support.running import PATIENCE, Reachable, eventually, http_front

SOURCE = "The bridge opened in 1932. It is 503 metres long. Six lanes cross it. " * 12
SMALL = {"source": "Six lanes cross it.", "response": "Six lanes cross it."}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reachable]:
    place = tmp_path_factory.mktemp("sharing") / "serve.db"
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{place}"), limits=Limits(rate=0, timeout=PATIENCE)
    )
    with http_front(settings) as service:
        yield service


def large(name: str, claims: int, milliseconds: int) -> dict[str, Any]:
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


def test_small_check_does_not_wait(
    shared: Reachable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(AWAKE, str(tmp_path / "awake"))
    with ThreadPoolExecutor(1) as pool:
        # At least 24 seconds, in steps of one, until the small ones are done.
        running = pool.submit(post, shared, large("a", claims=400, milliseconds=60))
        eventually(lambda: shared.worker_numbers()["running"] == 1)
        for at in range(2):
            body = {**SMALL, "source": f"Six lanes cross it. It is {at} metres long."}
            assert post(shared, body)["verdict"] == "faithful"
        assert not running.done()
        (tmp_path / "awake").touch()
        assert running.result()["verdict"] == "hallucinated"
