"""The load that the service handles, its behaviour under overload, and its memory over time.

All requests use HTTP on loopback. tests/serve/test_load.py runs it with the fake verifier of the
tests, which counts words, so that only the service is measured; `benchmarks.soak` and
`benchmarks.faults` use its clients.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from halldetect.report.demo import SOURCE
from tests.support.running import Running

QUEUE, BATCH = 32, 8
# The fake verifier obeys this text, so it takes the same time on every machine.
SLOW = "Boat {number} sleeps 2 ms a day."
# Numbers from here on are new: the service caches its last reports.
UNSEEN = 1_000_000
QUICK = "Boat {number} has sails."
LIMITS = ("--rate", "0", "--queue", str(QUEUE), "--max-items", "8", "--max-batch", str(BATCH))


@dataclass(frozen=True, slots=True)
class Run:
    """The outcome of a load. `mixed` counts answers to another request; 0 clients mean a fixed
    rate."""

    clients: int
    requests: int
    seconds: float
    statuses: dict[str, int]
    mixed: int
    p50_ms: float
    p99_ms: float

    @property
    def per_second(self) -> float:
        """Successful requests per second."""
        return self.statuses.get("200", 0) / self.seconds


class Connection:
    """A minimal HTTP/1.1 client: a full one would cost more than the measured service."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._place = (parts.hostname, parts.port)
        self._writer: asyncio.StreamWriter | None = None
        self._head = (
            f"POST /v1/check HTTP/1.1\r\nHost: {parts.netloc}\r\n"
            "Content-Type: application/json\r\nContent-Length: "
        )

    async def post(self, body: bytes) -> tuple[str, bytes]:
        """Return the status and the body of the answer; the connection stays open."""
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(*self._place)
        self._writer.write(f"{self._head}{len(body)}\r\n\r\n".encode() + body)
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
        answer = await self._reader.readexactly(int(fields["content-length"]))
        status = head.split()[1]
        assert status != "429" or int(fields["retry-after"]) >= 1
        return status, answer

    async def close(self) -> None:
        """Close the connection."""
        if self._writer is not None:
            self._writer.close()
            with suppress(OSError):
                await self._writer.wait_closed()


class Load:
    """Requests with distinct texts, and their outcome."""

    def __init__(self, url: str, text: str) -> None:
        self._url = url
        self._text = text
        self._idle: list[Connection] = []
        self._statuses: Counter[str] = Counter()
        self._latencies: list[float] = []
        self._mixed = 0

    async def ask(self, number: int) -> None:
        """Send one request and record its status and time."""
        connection = self._idle.pop() if self._idle else Connection(self._url)
        text = self._text.format(number=number)
        body = json.dumps({"source": SOURCE, "response": text}).encode()
        began = time.perf_counter()
        try:
            status, answer = await connection.post(body)
        except (OSError, EOFError) as error:
            await connection.close()
            self._statuses[type(error).__name__] += 1
            return
        self._idle.append(connection)
        self._statuses[status] += 1
        if status == "200":
            self._latencies.append(time.perf_counter() - began)
            self._mixed += json.loads(answer)["report"]["response"] != text

    async def by_clients(self, clients: int, requests: int) -> Run:
        """Run clients that each send a request when the last one is answered."""
        numbers = iter(range(requests))

        async def one() -> None:
            for number in numbers:
                await self.ask(number)

        began = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(clients)))
        return await self._run(clients, requests, time.perf_counter() - began)

    async def by_rate(self, per_second: float, requests: int) -> Run:
        """Send requests at a fixed rate, without waiting for answers."""
        began = time.perf_counter()
        tasks = []
        for number in range(requests):
            await asyncio.sleep(max(0.0, began + number / per_second - time.perf_counter()))
            tasks.append(asyncio.create_task(self.ask(UNSEEN + number)))
        await asyncio.gather(*tasks)
        return await self._run(0, requests, time.perf_counter() - began)

    async def _run(self, clients: int, requests: int, seconds: float) -> Run:
        for connection in self._idle:
            await connection.close()
        known = self._latencies if len(self._latencies) > 1 else [0.0, 0.0]
        cuts = statistics.quantiles(known, n=100)
        return Run(
            clients,
            requests,
            round(seconds, 2),
            dict(sorted(self._statuses.items())),
            self._mixed,
            round(1000 * cuts[49], 1),
            round(1000 * cuts[98], 1),
        )


def clients(url: str, count: int, requests: int, text: str) -> Run:
    """Run clients that send their requests one after the other."""
    return asyncio.run(Load(url, text).by_clients(count, requests))


def megabytes(pid: int) -> float:
    """Return the resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)


def memory(service: Running) -> dict[str, float]:
    """Return the resident memory of the two processes."""
    return {"http_mb": megabytes(service.process.pid), "worker_mb": megabytes(service.worker())}


def measure_load(service: Running, requests: int) -> dict[str, Any]:
    """Measure one client, a client per place in the queue, and four times that rate."""
    clients(service.url, 1, 50, SLOW)
    alone = clients(service.url, 1, requests, SLOW)
    capacity = clients(service.url, QUEUE, 4 * requests, SLOW)
    rate = 4 * capacity.per_second
    over = asyncio.run(Load(service.url, SLOW).by_rate(rate, 8 * requests))
    shown = {
        name: {**asdict(run), "per_second": round(run.per_second, 1)}
        for name, run in (("alone", alone), ("capacity", capacity), ("four_times", over))
    }
    return {**shown, "offered_per_second": round(rate, 1), "p99_bound_ms": bound(alone)}


def bound(alone: Run) -> float:
    """Return the latency limit: twice the time to work through a full queue."""
    return round(2 * alone.p50_ms * QUEUE, 1)


def measure_memory(service: Running, requests: int, step: int) -> list[dict[str, Any]]:
    """Measure the memory after every `step` requests."""
    found = []
    for done in range(step, requests + 1, step):
        run = clients(service.url, BATCH, step, QUICK)
        assert run.statuses == {"200": step}, run.statuses
        assert run.mixed == 0
        found.append({"requests": done, **memory(service), "seconds": run.seconds})
        print(f"{done} requests: {found[-1]}", file=sys.stderr, flush=True)
    return found
