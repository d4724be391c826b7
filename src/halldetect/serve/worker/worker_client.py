"""The worker as the HTTP processes see it: send a job, get its events, cancel it."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect.serve.error_responses import problem
from halldetect.serve.worker import wire
from halldetect.serve.worker.wire import Job, Options

_RECONNECT = 0.1
_STATS_TIMEOUT = 1.0
_GONE = "the worker ended while it was checking this; another is being started"
_AWAY = "the worker is not running yet; it is being started"


@dataclass(frozen=True, slots=True)
class FinishedReport:
    """A finished report as JSON text, and what the service itself needs of it."""

    report: str
    facts: dict[str, Any]


class WorkerClient:
    """One connection to the worker, made again whenever it breaks."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._writer: asyncio.StreamWriter | None = None
        self._inboxes: dict[str, asyncio.Queue[dict[str, Any] | None]] = {}

    async def start(self) -> None:
        self._task = asyncio.create_task(self._stay_connected())

    async def stop(self) -> None:
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    @property
    def connected(self) -> bool:
        return self._writer is not None

    async def submit(
        self, options: Options, pairs: tuple[Pair, ...], seconds: float, *, watch: bool = False
    ) -> PendingJob:
        """A place in the queue; raises a problem if there is none."""
        job = Job(secrets.token_hex(8), options, pairs, time.time() + seconds, watch)
        ticket = PendingJob(self, job, asyncio.get_running_loop().time() + seconds)
        try:
            ticket.inbox = await self._ask(job.id, wire.submission(job))
            answer = await ticket.next()
            if answer["event"] == "full":
                raise problem(
                    "queue_full", "too much is waiting to be checked", answer["retry_after"]
                )
            ticket.queued = answer["queued"]
        except BaseException:
            ticket.close()
            raise
        return ticket

    async def stats(self) -> dict[str, int] | None:
        """What the worker is doing; None where it does not say."""
        name = secrets.token_hex(8)
        try:
            inbox = await self._ask(name, wire.line({"stats": name}))
            return await asyncio.wait_for(inbox.get(), _STATS_TIMEOUT)
        except (ServiceError, TimeoutError):
            return None
        finally:
            self._inboxes.pop(name, None)

    def forget(self, job: str) -> None:
        if self._inboxes.pop(job, None) is not None and self._writer is not None:
            self._writer.write(wire.line({"cancel": job}))

    async def _ask(self, name: str, message: bytes) -> asyncio.Queue[dict[str, Any] | None]:
        if self._writer is None:
            raise problem("worker_failed", _AWAY)
        inbox = self._inboxes[name] = asyncio.Queue()
        try:
            self._writer.write(message)
            await self._writer.drain()
        except ConnectionError:
            raise problem("worker_failed", _GONE) from None
        return inbox

    async def _stay_connected(self) -> None:
        while True:
            try:
                reader, self._writer = await asyncio.open_unix_connection(
                    self._socket, limit=wire.LINE_LIMIT
                )
                while text := await reader.readline():
                    message = wire.decoded(text)
                    inbox = self._inboxes.get(message["id"])
                    if inbox is not None:
                        inbox.put_nowait(message)
            except (OSError, ValueError):
                pass
            finally:
                self._lose()
            await asyncio.sleep(_RECONNECT)

    def _lose(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for inbox in self._inboxes.values():
            inbox.put_nowait(None)


class PendingJob:
    """A job in the worker's hands. Close it, and whatever is left of the job is cancelled."""

    def __init__(self, judge: WorkerClient, job: Job, until: float) -> None:
        self._judge = judge
        self._job = job
        self._until = until
        self.inbox: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue()
        self.queued = 0
        self.started = time.monotonic()

    def __enter__(self) -> PendingJob:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._judge.forget(self._job.id)

    async def next(self) -> dict[str, Any]:
        """The next message; raises the problem that ended the job."""
        try:
            async with asyncio.timeout_at(self._until):
                message = await self.inbox.get()
        except TimeoutError:
            raise problem("deadline_exceeded", "time is up before the check was done") from None
        if message is None:
            raise problem("worker_failed", _GONE)
        if message["event"] == "failed":
            raise problem(message["code"], message["message"])
        return message

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """Every message up to the last report."""
        left = len(self._job.pairs)
        while left:
            message = await self.next()
            left -= message["event"] == "report"
            yield message

    async def findings(self) -> list[FinishedReport]:
        """The reports, in the order of the pairs."""
        found: dict[int, FinishedReport] = {}
        async for message in self.events():
            if message["event"] == "report":
                found[message["pair"]] = FinishedReport(message["report"], message["facts"])
        return [found[place] for place in sorted(found)]
