"""Services for tests on a free port of loopback, in a process of their own or in a thread."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import uvicorn

from halldetect_serve.server import create_tables, open_listener, uvicorn_config
from halldetect_serve.settings import ServiceSettings
from halldetect_serve.worker.process import CheckWorker, DetectorPoolFactory
from halldetect_serve.worker.supervisor import WorkerSupervisor
from tests.support.fake_service import FakeDetectorPool
from tests.support.paths import ROOT

SOURCE = ROOT / "src"
# How long anything may take: a machine may be busy with other tests.
PATIENCE = 120.0
_SERVING = re.compile(r"serving on (http://\S+)")


@dataclass(frozen=True, slots=True)
class Reachable:
    """Something that is reached by HTTP."""

    url: str

    def client(self, token: str | None = None, **options: Any) -> httpx.Client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        # No certificates are needed, and to read them takes a tenth of a second.
        return httpx.Client(
            base_url=self.url, headers=headers, timeout=PATIENCE, verify=False, **options
        )

    def get(self, path: str) -> httpx.Response:
        with self.client() as client:
            return client.get(path)

    def worker_numbers(self) -> dict[str, float]:
        """Return the counts of the worker; ask again while it is not up."""
        prefix, until = "halldetect_worker_", time.monotonic() + PATIENCE
        while True:
            lines = self.get("/metrics").text.splitlines()
            found = [line.split() for line in lines if line.startswith(prefix)]
            numbers = {name.removeprefix(prefix): float(value) for name, value in found}
            if numbers["up"] == 1:
                return numbers
            assert time.monotonic() < until, "the worker does not answer"
            time.sleep(0.02)

    def idle(self) -> bool:
        """Return True if no pair waits or is being checked, abandoned ones included."""
        numbers = self.worker_numbers()
        return numbers["queued"] + numbers["running"] == 0


@dataclass(frozen=True, slots=True)
class Running(Reachable):
    """A service in a process of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    def worker(self) -> int:
        """The process id of the verifier worker: the only child that runs `spawn_main`."""
        # Each thread has its own children, and a worker is started again by another thread.
        for children in Path(f"/proc/{self.process.pid}/task").glob("*/children"):
            with suppress(OSError):  # a thread or a child that has just ended
                for child in children.read_text().split():
                    if b"spawn_main" in Path(f"/proc/{child}/cmdline").read_bytes():
                        return int(child)
        raise AssertionError("no worker")

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self, patience: float = PATIENCE) -> int:
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(patience)


@dataclass(frozen=True, slots=True)
class LocalService(Reachable):
    """A service whose HTTP side runs in a thread of the test; its worker is a real process."""

    supervisor: WorkerSupervisor

    def worker(self) -> int:
        pid = self.supervisor._process.pid
        assert pid is not None
        return pid


class ThreadedWorker(WorkerSupervisor):
    """A worker in a thread of the test: it starts at once, and nothing may kill it."""

    def _start(self) -> None:
        self._connection, theirs = multiprocessing.Pipe()
        worker = CheckWorker(self._settings, self._pool_factory, theirs)
        Thread(target=worker.run, args=(theirs.close,), daemon=True).start()

    def _end(self) -> None:
        self._connection.send(None)


@contextmanager
def local_service(
    settings: ServiceSettings, pool_factory: DetectorPoolFactory = FakeDetectorPool
) -> Iterator[LocalService]:
    """A worker process and its HTTP side in a thread, for tests that send no signal."""
    with (
        WorkerSupervisor(settings.checks, pool_factory) as supervisor,
        _http_side(settings, supervisor) as url,
    ):
        yield LocalService(url, supervisor)


@contextmanager
def http_front(settings: ServiceSettings) -> Iterator[Reachable]:
    """A service whose worker is a thread, for tests that do nothing bad to it."""
    with (
        ThreadedWorker(settings.checks, FakeDetectorPool) as supervisor,
        _http_side(settings, supervisor) as url,
    ):
        yield Reachable(url)


@contextmanager
def _http_side(settings: ServiceSettings, supervisor: WorkerSupervisor) -> Iterator[str]:
    with open_listener(replace(settings, port=0)) as listener:
        create_tables(settings)
        server = uvicorn.Server(uvicorn_config(settings, supervisor))
        thread = Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        _await(url, time.monotonic() + 180)
        try:
            yield url
        finally:
            server.should_exit = True
            thread.join(20)


@contextmanager
def serving(
    *options: str,
    real: bool = False,
    wait: bool = True,
    environment: Mapping[str, str] | None = None,
    **how: Any,
) -> Iterator[Running]:
    """The service with a fake verifier, or `real`: the command itself with its own models."""
    program = ["-m", "halldetect", "serve"] if real else ["-m", "tests.support.fake_service"]
    paths = [str(SOURCE), str(ROOT)]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        base = {**os.environ, "HALLDETECT_HOME": folder} if not real else {**os.environ}
        base |= {"PYTHONPATH": os.pathsep.join(paths), **(environment or {})}
        with log.open("wb") as out:
            process = subprocess.Popen(
                [sys.executable, *program, "--port", "0", *options], stderr=out, env=base, **how
            )
        try:
            yield Running(_address(process, log) if wait else "", process, log)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(15)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _address(process: subprocess.Popen[bytes], log: Path, patience: float = 180) -> str:
    until = time.monotonic() + patience
    while time.monotonic() < until:
        said = log.read_text(errors="replace")
        if found := _SERVING.search(said):
            _await(found[1], until)
            return found[1]
        if process.poll() is not None:
            raise AssertionError(f"the service ended with {process.returncode}: {said}")
        time.sleep(0.02)
    raise AssertionError(f"the service did not start: {log.read_text()}")


def _await(url: str, until: float) -> None:
    while time.monotonic() < until:
        try:
            if Reachable(url).get("/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.02)


def eventually(condition: Any, patience: float = PATIENCE) -> None:
    until = time.monotonic() + patience
    while not condition():
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.02)
