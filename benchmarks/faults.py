"""Faults around the service, each with its own service and the verifier of the tests.

A fault returns its figures and, in `problems`, a line for whatever was lost, hung, or answered in a
way that it must not be. `benchmarks.soak` runs them after its load.
"""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import socket
import sqlite3
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

from benchmarks.serve import QUICK, Load
from tests.support.running import Running, eventually, serving

SOURCE = "The ferry crosses every hour. The bridge opened in 1932. " * 40
ALLOWED = {"200", "429", "503"}
HEAD = "POST /v1/check HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
Found = dict[str, Any]


def stored(service: Running, count: int, name: str) -> list[str]:
    """Check and keep some reports; return the ids of those that the service says it keeps."""
    kept = []
    with service.client() as client:
        for number in range(count):
            body = {"source": SOURCE, "response": f"{name} {number} crosses.", "store": True}
            with suppress(httpx.TransportError):
                answer = client.post("/v1/check", json=body).json()
                if answer.get("stored"):
                    kept.append(answer["stored"]["id"])
    return kept


def missing(service: Running, kept: list[str]) -> list[str]:
    """Return the ids of reports that the service no longer has."""
    with service.client() as client:
        return [name for name in kept if client.get(f"/v1/reports/{name}").status_code != 200]


def works(service: Running) -> bool:
    """Return True if a check without a store works, once a killed worker has started again."""
    body = {"source": SOURCE, "response": "The bridge opened in 1932."}
    with service.client() as client:
        for _ in range(20):
            if (status := client.post("/v1/check", json=body).status_code) != 503:
                return status == 200
            time.sleep(1)
    return False


def connections(_: str) -> Found:
    """Open 500 connections at once."""
    with serving("--rate", "0") as service:
        load = Load(service.url, QUICK)

        async def ask_all() -> None:
            await asyncio.gather(*(load.ask(number) for number in range(500)))

        began = time.monotonic()
        asyncio.run(asyncio.wait_for(ask_all(), 120))
        statuses = dict(load._statuses)
        found = [f"status {name}" for name in set(statuses) - ALLOWED]
        found += [] if works(service) else ["no check works after it"]
        seconds = round(time.monotonic() - began, 1)
    return {"statuses": statuses, "seconds": seconds, "problems": found}


def slow_and_leaving(_: str) -> Found:
    """Connect 100 endless senders, 50 that do not read, 100 that leave; others must not wait."""
    with serving("--rate", "0") as service:
        address = (urlsplit(service.url).hostname or "", urlsplit(service.url).port or 0)
        lines = [socket.create_connection(address, 10) for _ in range(250)]
        for number, line in enumerate(lines):
            body = f'{{"source": "It rains.", "response": "Boat {number} sleeps 300 ms a day."}}'
            whole = f"{HEAD}Content-Length: {len(body)}\r\n\r\n{body}".encode()
            line.sendall(whole[:-20] if number < 100 else whole)
            if number >= 150:
                line.close()
        with service.client() as client:
            began = time.monotonic()
            alive = client.get("/healthz").status_code == 200
            health = time.monotonic() - began
        for line in lines:
            line.close()
        began = time.monotonic()
        eventually(lambda: service.worker_numbers()["running"] == 0, 60)
        cleared = time.monotonic() - began
        found = [] if alive and health < 2 else [f"/healthz took {health:.1f} s"]
        found += [] if works(service) else ["no check works after it"]
    return {"health_s": round(health, 2), "cleared_s": round(cleared, 1), "problems": found}


def worker_killed(_: str) -> Found:
    """Kill the worker three times under load."""
    with serving("--rate", "0") as service, ThreadPoolExecutor(12) as pool:

        def ask(number: int) -> str:
            body = {"source": "It rains.", "response": f"Boat {number} sleeps 100 ms a day."}
            with service.client() as client:
                return str(client.post("/v1/check", json=body).status_code)

        asked = []
        for round_ in range(3):
            asked += [pool.submit(ask, round_ * 100 + number) for number in range(12)]
            time.sleep(0.3)
            with suppress(AssertionError, OSError):
                os.kill(service.worker(), signal.SIGKILL)
            eventually(lambda: service.get("/readyz").status_code == 200)
        statuses = Counter(item.result(120) for item in asked)
        found = [f"status {name}" for name in set(statuses) - ALLOWED]
        found += [] if works(service) else ["no check works after it"]
    return {"statuses": dict(statuses), "problems": found}


def server_killed(folder: str) -> Found:
    """Kill the server while it keeps reports; it must have all that it acknowledged."""
    options = ("--store", "--database", f"sqlite:///{folder}/killed.db", "--rate", "0")
    kept: list[str] = []
    with serving(*options) as service, ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(stored, service, 40, f"Boat{at}") for at in range(4)]
        time.sleep(2)
        service.process.send_signal(signal.SIGKILL)
        for item in asked:
            kept += item.result(120)
    with serving(*options) as service:
        lost = missing(service, kept)
    return {"kept": len(kept), "problems": [f"report {name} is lost" for name in lost]}


def disk_full(folder: str) -> Found:
    """Let no file of a store grow, as on a full disk: checks continue, kept reports stay."""
    options = ("--store", "--database", f"sqlite:///{folder}/full.db", "--rate", "0")

    def bounded() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))

    with serving(*options, preexec_fn=bounded) as service:
        kept = stored(service, 300, "Boat")
        found = [] if works(service) else ["no check works with a full disk"]
    with serving(*options) as service:
        found += [f"report {name} is lost" for name in missing(service, kept)]
        found += [] if stored(service, 1, "New") else ["nothing is kept with room again"]
    found += [] if len(kept) < 300 else ["the disk was never full"]
    return {"kept": len(kept), "problems": found}


def _damaged(folder: str, name: str, damage: Callable[[Path], None]) -> Found:
    """Damage a store with reports; the service refuses it in a line, or checks without it."""
    path = Path(folder) / f"{name}.db"
    options = ("--store", "--database", f"sqlite:///{path}", "--rate", "0")
    with serving(*options) as service:
        kept = stored(service, 30, "Boat")
    damage(path)
    found, outcome, kept_after = [], "served", 0
    try:
        with serving(*options) as service:
            found += [] if works(service) else ["no check works"]
            kept_after = len(stored(service, 3, "New"))
            said = service.said()
    except AssertionError as error:
        outcome, said = "refused at the start", str(error)
    # The command prints an error of ours in one line; the service of the tests does not catch it.
    ours = "halldetect.errors." in said.strip().rpartition("\n")[2]
    found += ["a traceback"] if "Traceback" in said and not ours else []
    found += ["the store was not damaged"] if kept_after else []
    return {"kept_before": len(kept), "outcome": outcome, "problems": found}


def read_only(folder: str) -> Found:
    """Refuse every write by a trigger, since root may write to any file."""

    def damage(path: Path) -> None:
        with sqlite3.connect(path) as database:
            tables = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
            for (table,) in tables.fetchall():
                with suppress(sqlite3.Error):  # tables of the full-text index take no trigger
                    database.execute(
                        f"CREATE TRIGGER refuse_{table} BEFORE INSERT ON {table} "
                        "BEGIN SELECT RAISE(ABORT, 'attempt to write a readonly database'); END"
                    )
        path.chmod(0o444)

    return _damaged(folder, "readonly", damage)


def _overwrite(path: Path, start: int, end: int) -> None:
    """Write random bytes over a range of a store; fail if SQLite finds nothing wrong."""
    with path.open("r+b") as file:
        file.seek(start)
        file.write(random.Random(36).randbytes(end - start))
    with suppress(sqlite3.DatabaseError), sqlite3.connect(path) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() != ("ok",), "still sound"


def corrupted(folder: str) -> Found:
    """Overwrite the first half of the store, but for its header, between two services."""
    return _damaged(
        folder, "corrupted", lambda path: _overwrite(path, 4096, path.stat().st_size // 2)
    )


def corrupted_while_serving(folder: str) -> Found:
    """Overwrite the second half of a store in use: checks continue, no answer is a status 500."""
    path = Path(folder) / "used.db"
    options = ("--store", "--database", f"sqlite:///{path}", "--rate", "0")
    with serving(*options) as service, service.client() as client:
        kept = stored(service, 30, "Boat")
        with sqlite3.connect(path) as database:  # the pages may still be in the journal
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        _overwrite(path, path.stat().st_size // 2, path.stat().st_size)
        paths = ["/v1/reports", "/v1/reports?search=ferry", *(f"/v1/reports/{i}" for i in kept)]
        statuses = Counter(str(client.get(item).status_code) for item in paths)
        kept_after = len(stored(service, 3, "New"))
        found = [f"status {name}" for name in set(statuses) - {"200", "503"}]
        found += [] if statuses["503"] else ["nothing failed: the store was not damaged"]
        found += [] if works(service) else ["no check works"]
        found += ["a traceback"] if "Traceback" in service.said() else []
    return {"statuses": dict(statuses), "kept_after": kept_after, "problems": found}


def two_servers(folder: str) -> Found:
    """Let two servers keep reports in one store; each must have all of them."""
    options = ("--store", "--database", f"sqlite:///{folder}/shared.db", "--rate", "0")
    with serving(*options) as one, serving(*options) as two, ThreadPoolExecutor(2) as pool:
        asked = [
            pool.submit(stored, service, 40, name) for service, name in ((one, "One"), (two, "Two"))
        ]
        kept = [name for item in asked for name in item.result(120)]
        lost = missing(one, kept) + missing(two, kept)
    found = [f"report {name} is not seen" for name in lost]
    found += [] if len(kept) == 80 else [f"only {len(kept)} of 80 reports were kept"]
    return {"kept": len(kept), "problems": found}


FAULTS = (
    connections, slow_and_leaving, worker_killed, server_killed, disk_full, read_only, corrupted,
    corrupted_while_serving, two_servers,
)  # fmt: skip


def run_faults() -> dict[str, Found]:
    """Run every fault; one that fails altogether has that as its problem."""
    results = {}
    for fault in FAULTS:
        began = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            try:
                found = fault(folder)
            except (AssertionError, OSError, TimeoutError, httpx.HTTPError) as error:
                found = {"problems": [f"{type(error).__name__}: {str(error)[:200]}"]}
        results[fault.__name__] = {**found, "took_s": round(time.monotonic() - began, 1)}
        print(fault.__name__, results[fault.__name__], flush=True)
    return results
