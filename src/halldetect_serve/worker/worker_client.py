"""The connection of an HTTP process to the worker: submit a job, get its events, cancel it."""

from __future__ import annotations

import asyncio
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from halldetect.config import Configuration
from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect_serve.error_responses import service_error
from halldetect_serve.worker.wire import (
    MAX_LINE_BYTES,
    FinishedReport,
    Job,
    decode,
    encode,
    encode_job,
)

# None tells the receiver that the connection is lost.
_Inbox = asyncio.Queue[dict[str, Any] | None]

_RECONNECT_SECONDS = 0.1
_STATS_SECONDS = 1.0
_WORKER_DIED = "the worker ended while it was checking this; another is being started"
_NO_WORKER = "the worker is not running yet; it is being started"


class WorkerClient:
    """One connection to the worker, opened again whenever it breaks.

    Args:
        socket: path of the Unix socket on which the worker listens.
    """

    _task: asyncio.Task[None]

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._writer: asyncio.StreamWriter | None = None
        self._inboxes: dict[str, _Inbox] = {}

    async def start(self) -> None:
        """Start to connect, in the background."""
        self._task = asyncio.create_task(self._stay_connected())

    async def stop(self) -> None:
        """Close the connection."""
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task

    async def submit(
        self,
        configuration: Configuration,
        pairs: tuple[Pair, ...],
        timeout: float,
        *,
        watch: bool = False,
        repair: bool = False,
        judge_from: int = 0,
    ) -> PendingJob:
        """Put pairs into the queue of the worker.

        Args:
            configuration: options of the check.
            pairs: what to check.
            timeout: seconds until the job has to be done, waiting included.
            watch: whether events are wanted while the check runs.
            repair: whether the responses are to be repaired; else they are checked.
            judge_from: where in a response the part begins that is checked.

        Raises:
            ServiceError: `queue_full`, `worker_failed` or `deadline_exceeded`.
        """
        deadline = time.monotonic() + timeout
        name = secrets.token_hex(8)
        job = Job(name, configuration, pairs, deadline, watch, repair, judge_from)
        pending = PendingJob(self, job, asyncio.get_running_loop().time() + timeout)
        try:
            pending.inbox = await self._send(job.id, encode_job(job))
            answer = await pending.next_event()
            if answer["event"] == "full":
                message = "too much is waiting to be checked"
                raise service_error("queue_full", message, answer["retry_after"])
            pending.queued = answer["queued"]
        except BaseException:
            pending.close()
            raise
        return pending

    async def stats(self) -> dict[str, int] | None:
        """Return what the worker is doing; None if it does not answer."""
        message_id = secrets.token_hex(8)
        try:
            inbox = await self._send(message_id, encode({"stats": message_id}))
            return await asyncio.wait_for(inbox.get(), _STATS_SECONDS)
        except (ServiceError, TimeoutError):
            return None
        finally:
            self._inboxes.pop(message_id, None)

    def cancel(self, job_id: str) -> None:
        """Cancel what is left of a job."""
        if self._inboxes.pop(job_id, None) is not None and self._writer is not None:
            self._writer.write(encode({"cancel": job_id}))

    async def _send(self, message_id: str, line: bytes) -> _Inbox:
        """Send a line; the answers with that id arrive in the inbox."""
        if self._writer is None:
            raise service_error("worker_failed", _NO_WORKER)
        inbox = self._inboxes[message_id] = _Inbox()
        try:
            self._writer.write(line)
            await self._writer.drain()
        except ConnectionError:
            raise service_error("worker_failed", _WORKER_DIED) from None
        return inbox

    async def _stay_connected(self) -> None:
        while True:
            try:
                reader, self._writer = await asyncio.open_unix_connection(
                    self._socket, limit=MAX_LINE_BYTES
                )
                while line := await reader.readline():
                    message = decode(line)
                    inbox = self._inboxes.get(message["id"])
                    if inbox is not None:
                        inbox.put_nowait(message)
            except (OSError, ValueError):
                pass
            finally:
                self._on_disconnect()
            await asyncio.sleep(_RECONNECT_SECONDS)

    def _on_disconnect(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        for inbox in self._inboxes.values():
            inbox.put_nowait(None)


class PendingJob:
    """A job that the worker has accepted.

    Use it as a context manager: what is left of the job at the end is cancelled.

    Args:
        client: the connection through which the job was submitted.
        job: the job.
        deadline: in the time of the event loop.
    """

    def __init__(self, client: WorkerClient, job: Job, deadline: float) -> None:
        self._client = client
        self._job = job
        self._deadline = deadline
        self.inbox: _Inbox = _Inbox()
        self.queued = 0
        self.started = time.monotonic()

    def __enter__(self) -> PendingJob:
        """Return the job itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel what is left of the job."""
        self.close()

    def close(self) -> None:
        """Cancel what is left of the job."""
        self._client.cancel(self._job.id)

    async def next_event(self) -> dict[str, Any]:
        """Wait for the next event of the worker.

        Raises:
            ServiceError: the error that ended the job.
        """
        try:
            async with asyncio.timeout_at(self._deadline):
                event = await self.inbox.get()
        except TimeoutError:
            message = "time is up before the check was done"
            raise service_error("deadline_exceeded", message) from None
        if event is None:
            raise service_error("worker_failed", _WORKER_DIED)
        if event["event"] == "failed":
            raise service_error(event["code"], event["message"])
        return event

    async def reports(self) -> list[FinishedReport]:
        """Wait for the reports of all pairs and return them in the order of the pairs.

        Raises:
            ServiceError: the error that ended the job.
        """
        reports: dict[int, FinishedReport] = {}
        while len(reports) < len(self._job.pairs):
            event = await self.next_event()
            if event["event"] == "report":
                reports[event["pair"]] = FinishedReport(event["report"], event["overview"])
        return [reports[index] for index in sorted(reports)]
