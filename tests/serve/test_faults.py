"""Failures around the service: the worker, the clients, the disk, the signals."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from halldetect.errors import ModelError
from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings
from tests.support.api_requests import ASKED, SOURCE, events, refused
from tests.support.fake_service import AWAKE
from tests.support.running import (
    PATIENCE,
    LocalService,
    Reachable,
    eventually,
    http_front,
    local_service,
    serving,
)

LONG = 90_000  # milliseconds that nobody waits for: longer than a busy machine needs


def slow(ms: int, word: str = "Somebody") -> dict[str, Any]:
    return {"source": SOURCE, "response": f"{word} sleeps {ms} ms."}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalService]:
    """A queue of two, checked one by one."""
    settings = ServiceSettings(
        StorageSettings(
            f"sqlite:///{tmp_path_factory.mktemp('faults') / 'serve.db'}", reports=True
        ),
        limits=Limits(queue=2, max_items=2, batch=1, rate=0, timeout=PATIENCE, write_timeout=0.5),
    )
    with local_service(settings) as running:
        yield running


def in_work(service: Reachable) -> float:
    """How many pairs have reached the worker and are not done."""
    numbers = service.worker_numbers()
    return numbers["queued"] + numbers["running"]


def idle(service: Reachable) -> bool:
    return in_work(service) == 0


def test_killed_worker_is_replaced(small: LocalService, monkeypatch: pytest.MonkeyPatch) -> None:
    start, may_start = small.supervisor._start, Event()

    def start_later() -> None:
        may_start.wait(PATIENCE)
        start()

    monkeypatch.setattr(small.supervisor, "_start", start_later)
    with small.client() as client, ThreadPoolExecutor(1) as pool:
        before = small.worker()
        asked = pool.submit(client.post, "/v1/check", json=slow(LONG))
        watched = {"method": "POST", "url": "/v1/check/stream", "json": slow(LONG, "Another")}
        with client.stream(**watched) as stream:
            lines = stream.iter_lines()
            accepted = next(lines)
            eventually(lambda: in_work(small) == 2)
            os.kill(before, signal.SIGKILL)
            told = "\n".join([accepted, *lines])
        answer = asked.result(PATIENCE)
        assert "another is being started" in refused(answer, "worker_failed")
        assert int(answer.headers["Retry-After"]) >= 1
        kind, data = events(told)[-1]
        assert (kind, data["error"]["code"]) == ("error", "worker_failed")
        assert client.get("/healthz").status_code == 200
        refused(client.get("/readyz"), "worker_failed")
        may_start.set()
        eventually(lambda: client.get("/readyz").status_code == 200)
        assert small.worker() != before
        assert client.post("/v1/check", json=ASKED).status_code == 200


def test_deadly_request_hurts_itself_only(small: LocalService) -> None:
    with small.client() as client:
        deadly = {"source": SOURCE, "response": "The verifier dies here."}
        refused(client.post("/v1/check", json=deadly), "worker_failed")
        eventually(lambda: client.get("/readyz").status_code == 200)
        assert client.post("/v1/check", json=ASKED).status_code == 200


def test_full_queue_refuses_the_rest(small: LocalService) -> None:
    together = Barrier(8)

    def ask(at: int) -> tuple[int, httpx.Response]:
        with small.client() as client:
            together.wait()
            return at, client.post("/v1/check", json=slow(300, f"Number{at}"))

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    good = [(at, answer.json()) for at, answer in answers if answer.status_code == 200]
    assert 2 <= len(good) < 8
    for at, body in good:
        assert body["report"]["response"].startswith(f"Number{at} "), "nobody gets another's"
    for _, answer in answers:
        if answer.status_code != 200:
            refused(answer, "queue_full")
            assert int(answer.headers["Retry-After"]) >= 1


def test_time_is_up(small: LocalService) -> None:
    with small.client() as client:
        hasty = {**slow(LONG), "timeout_seconds": 0.1}
        answer = client.post("/v1/check", json=hasty, timeout=LONG / 2000)
        assert "time is up" in refused(answer, "deadline_exceeded")
        told = events(client.post("/v1/check/stream", json=hasty, timeout=LONG / 2000).text)
        assert told[-1][1]["error"]["code"] == "deadline_exceeded"
        eventually(lambda: idle(small))


@pytest.mark.parametrize("path", ["/v1/check", "/v1/check/stream"])
def test_leaving_client_cancels_its_request(small: LocalService, path: str) -> None:
    # Sixteen claims go to the verifier at a time, in two rounds.
    source = " ".join(f"The bridge of {year} has six lanes." for year in range(1900, 1916))
    response = " ".join(f"In place {at} of {path} one sleeps 4000 ms a day." for at in range(32))
    with small.client() as client, pytest.raises(httpx.ReadTimeout):
        client.post(path, json={"source": source, "response": response}, timeout=0.3)
    # Without the cancellation it would go on for two minutes.
    eventually(lambda: idle(small), patience=60)


def test_check_without_pauses_is_interrupted(small: LocalService) -> None:
    worker = small.worker()
    asked = {"source": SOURCE, "response": "The verifier never pauses."}
    with small.client() as client:
        with pytest.raises(httpx.ReadTimeout):
            client.post("/v1/check", json=asked, timeout=0.3)
        eventually(lambda: idle(small), patience=PATIENCE / 4)
        assert client.post("/v1/check", json=ASKED).status_code == 200
    assert small.worker() == worker


def raw(service: Reachable) -> socket.socket:
    parts = urlsplit(service.url)
    connection = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
    return connection


def test_slow_sender(tmp_path: Path) -> None:
    settings = ServiceSettings(
        StorageSettings(f"sqlite:///{tmp_path / 'x.db'}"), limits=Limits(read_timeout=0.3)
    )
    with http_front(settings) as service, raw(service) as connection:
        connection.sendall(
            b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b'Content-Length: 500\r\n\r\n{"source": '
        )
        answer = b"".join(iter(lambda: connection.recv(4096), b""))
        assert b" 408 " in answer.splitlines()[0]
        assert b"read_timeout" in answer


def unsent(service: LocalService) -> float:
    """How many checks ended without anybody to tell."""
    for line in service.get("/metrics").text.splitlines():
        if line.startswith(
            'halldetect_requests_total{method="POST",route="/v1/check",status="499"'
        ):
            return float(line.split()[-1])
    return 0.0


def test_client_that_does_not_read(small: LocalService) -> None:
    asked = {"source": "word " * 600_000, "response": "", "include": ["html", "view"]}
    body = json.dumps(asked).encode()
    head = "POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    before = unsent(small)
    with raw(small) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.sendall(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        eventually(lambda: unsent(small) == before + 1)


def test_huge_body_is_not_read(small: LocalService) -> None:
    with raw(small) as connection:
        connection.sendall(
            b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
        )
        assert b" 413 " in connection.recv(4096).splitlines()[0]


def test_body_of_unknown_keys_is_refused_at_once(small: LocalService) -> None:
    many = {**ASKED, **{f"key{at}": 1 for at in range(100_000)}}
    with small.client() as client:
        refused(client.post("/v1/check", json=many), "invalid_json")


def test_broken_requests_harm_nobody(small: LocalService) -> None:
    with raw(small) as connection:
        connection.sendall(
            b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500\r\n\r\n{"
        )
    with raw(small) as connection:
        connection.sendall(b"\x16\x03\x01 nonsense\r\n\r\n")
        assert b" 400 " in connection.recv(4096).splitlines()[0]
    with small.client() as client:
        assert client.post("/v1/check", json=ASKED).status_code == 200


def test_unloadable_models_end_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_LOAD", "fails")
    settings = ServiceSettings(StorageSettings(f"sqlite:///{tmp_path / 'x.db'}"))
    with (
        pytest.raises(ModelError, match="cannot be loaded: RuntimeError: no model"),
        local_service(settings),
    ):
        pass
    assert not (tmp_path / "x.db").exists(), "without storage there is no database"


def test_sigterm_lets_requests_finish(tmp_path: Path) -> None:
    awake = tmp_path / "awake"
    environment = {AWAKE: str(awake)}
    with (
        serving("--drain", "4", environment=environment) as service,
        ThreadPoolExecutor(3) as pool,
    ):
        with service.client() as client:
            asked = pool.submit(client.post, "/v1/check", json=slow(LONG))
            watched = pool.submit(client.post, "/v1/check/stream", json=slow(LONG, "Another"))
            eventually(lambda: in_work(service) == 2)
            stuck = {**ASKED, "response": "The verifier never wakes.", "threshold": 0.4}
            late = pool.submit(client.post, "/v1/check", json=stuck)
            eventually(lambda: in_work(service) == 3)
            service.process.send_signal(signal.SIGTERM)
            awake.touch()
            assert asked.result(PATIENCE).status_code == 200
            assert events(watched.result(PATIENCE).text)[-1][0] == "report"
            refused(late.result(PATIENCE), "shutting_down")
            assert service.process.wait(PATIENCE) == 0
        with pytest.raises(httpx.TransportError):
            service.get("/healthz")
        assert "Traceback" not in service.said()


@pytest.mark.slow
def test_sigterm_during_start_leaves_nothing() -> None:
    with serving(wait=False, environment={"FAKE_LOAD": "takes long"}) as service:
        eventually(lambda: "loading" in service.said())
        worker = service.worker()
        assert service.stop() == 0
        eventually(lambda: not Path(f"/proc/{worker}").exists())
        assert "Traceback" not in service.said()


@pytest.mark.slow
def test_full_disk_keeps_the_report(tmp_path: Path) -> None:
    """No file may grow past a size: what the kernel says then is what a full disk says."""
    limit = 400_000

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    options = ("--store", "--database", f"sqlite:///{tmp_path / 'serve.db'}")
    text = "The bridge opened in 1932. " * 3000
    asked = {"source": text, "response": ASKED["response"], "store": True}
    with serving(*options, preexec_fn=bounded) as service, service.client() as client:
        for _ in range(12):
            answer = client.post("/v1/check", json=asked)
            assert answer.status_code == 200
            assert answer.json()["report"]["verdict"] == "hallucinated"
            if answer.json()["store_error"] is not None:
                break
        assert answer.json()["store_error"]["code"] == "store_unavailable"
        assert client.post("/v1/check", json=ASKED).status_code == 200
        assert client.get("/v1/reports").json()["reports"], "what was kept before can be read"
