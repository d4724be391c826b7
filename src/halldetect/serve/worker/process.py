"""The worker process: the only one with the models, which checks in batches for all the others.

One thread reads and writes the sockets, another one checks. When this process dies, the HTTP
processes report it to every request it was working on, and `supervisor.py` starts another.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

from halldetect.errors import HallDetectError
from halldetect.pipeline import ClaimsExtracted, Event
from halldetect.report import Report, Status
from halldetect.serve.settings import CheckSettings, Limits
from halldetect.serve.worker.detectors import BatchAbandoned, DetectorPool, DetectorPoolFactory
from halldetect.serve.worker.job_queue import JobQueue, QueuedPair, QueueFull
from halldetect.serve.worker.wire import MAX_LINE_BYTES, Job, decode, decode_job, encode

# What the process sends to its supervisor once: one of these, and a message.
READY, FAILED = "ready", "failed"
_PROGRESS_SECONDS = 0.1
_EXCERPT_CHARACTERS = 120


def run_worker(
    socket: Path,
    settings: CheckSettings,
    limits: Limits,
    pool_factory: DetectorPoolFactory,
    supervisor: Connection,
) -> None:
    """Load the models and check until the supervisor closes its connection.

    Args:
        socket: path of the Unix socket to listen on.
        settings: how texts are checked.
        limits: sizes of the queue and of a batch.
        pool_factory: builds the detectors.
        supervisor: gets READY or FAILED with a message; the process ends when it is closed.
    """
    # The supervisor ends this process, after the last request; signals to the group do not.
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    Thread(target=_exit_with, args=(supervisor,), daemon=True).start()
    worker = CheckWorker(limits)
    try:
        worker.load(settings, pool_factory)
    except HallDetectError as error:
        supervisor.send((FAILED, str(error)))
        return
    except Exception as error:
        supervisor.send((FAILED, f"the models cannot be loaded: {type(error).__name__}: {error}"))
        return
    asyncio.run(worker.serve(socket, lambda: supervisor.send((READY, ""))))


def _exit_with(supervisor: Connection) -> None:
    with suppress(EOFError, OSError):
        supervisor.recv()
    os._exit(0)  # an orderly exit would wait for native code


class CheckWorker:
    """Takes jobs from the HTTP processes and sends back events and reports.

    Args:
        limits: sizes of the queue and of a batch.
    """

    _pool: DetectorPool
    _loop: asyncio.AbstractEventLoop

    def __init__(self, limits: Limits) -> None:
        self._queue = JobQueue(limits.queue, limits.batch)
        self._connections: dict[str, asyncio.StreamWriter] = {}
        self._unfinished_pairs: Counter[str] = Counter()
        self._batch: list[QueuedPair] = []
        self._last_progress = 0.0

    def load(self, settings: CheckSettings, pool_factory: DetectorPoolFactory) -> None:
        """Build the detector pool and load the default models."""
        self._pool = pool_factory(settings, self._on_progress, self._raise_if_abandoned)
        self._pool.load()

    async def serve(self, socket: Path, on_ready: Callable[[], None]) -> None:
        """Serve for ever.

        Args:
            socket: path of the Unix socket to listen on.
            on_ready: called once the worker takes jobs.
        """
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_unix_server(
            self._serve_connection, socket, limit=MAX_LINE_BYTES, start_serving=True
        )
        Thread(target=self._check_batches, daemon=True).start()
        on_ready()
        async with server:
            await server.serve_forever()

    # Methods of the thread that reads and writes the sockets

    async def _serve_connection(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Serve one HTTP process; when it leaves, its jobs are dropped."""
        try:
            while line := await reader.readline():
                self._on_message(decode(line), writer)
        except (ConnectionError, ValueError):
            pass
        finally:
            for job in [job for job, owner in self._connections.items() if owner is writer]:
                self._drop_job(job)
            writer.close()

    def _on_message(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if "cancel" in message:
            self._drop_job(message["cancel"])
        elif "stats" in message:
            stats = self._queue.stats()
            writer.write(encode({"id": message["stats"], "event": "stats", **stats}))
        else:
            job = decode_job(message)
            self._connections[job.id] = writer
            self._unfinished_pairs[job.id] = len(job.pairs)
            answer = self._queue.put(job)
            if isinstance(answer, QueueFull):
                self._drop_job(job.id)
                event = {"event": "full", "retry_after": answer.retry_after}
            else:
                event = {"event": "accepted", "queued": answer}
            writer.write(encode({"id": job.id, **event}))

    def _drop_job(self, job_id: str) -> None:
        self._queue.cancel(job_id)
        self._connections.pop(job_id, None)
        self._unfinished_pairs.pop(job_id, None)

    def _write_event(self, job_id: str, event: dict[str, Any], ends_pair: bool) -> None:
        connection = self._connections.get(job_id)
        if connection is not None and not connection.is_closing():
            connection.write(encode({"id": job_id, **event}))
        if ends_pair:
            self._unfinished_pairs[job_id] -= 1
            if self._unfinished_pairs[job_id] <= 0:
                self._drop_job(job_id)

    # Methods of the thread that checks

    def _send_event(self, job: Job, event: dict[str, Any], *, ends_pair: bool = False) -> None:
        """Hand an event to the other thread; `ends_pair` says that one pair of the job is done."""
        self._loop.call_soon_threadsafe(self._write_event, job.id, event, ends_pair)

    def _check_batches(self) -> None:
        while True:
            self._batch = self._queue.take_batch()
            started = time.time()
            try:
                detector = self._pool.get(self._batch[0].job.configuration)
                pairs = [item.pair for item in self._batch]
                reports = detector.check_many(pairs, observe=self._on_event)
            except BatchAbandoned:
                pass
            except Exception as error:
                self._send_failure(error)
            else:
                for item, report in zip(self._batch, reports, strict=True):
                    event = {
                        "event": "report",
                        "pair": item.index,
                        "report": report.to_json(indent=None),
                        "overview": report_overview(report),
                    }
                    self._send_event(item.job, event, ends_pair=True)
            self._queue.batch_done(self._batch, time.time() - started)

    def _send_failure(self, error: Exception) -> None:
        """Fail the batch. The message of an unexpected error may quote a text: it is not logged."""
        if isinstance(error, HallDetectError):
            failure = {"code": "model_unavailable", "message": str(error)}
        else:
            failure = {"code": "internal", "message": "the check failed; the log says where"}
            trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
            print(f"halldetect: {type(error).__name__} in the worker\n{trace}", file=sys.stderr)
        for item in self._batch:
            event = {"event": "failed", "pair": item.index, **failure}
            self._send_event(item.job, event, ends_pair=True)

    def _raise_if_abandoned(self) -> None:
        if not any(self._queue.is_wanted(item.job) for item in self._batch):
            raise BatchAbandoned

    def _on_progress(self, phase: str, done: int, of: int) -> None:
        if not self._batch:
            return  # the models are being loaded
        self._raise_if_abandoned()
        now = time.monotonic()
        if done < of and now - self._last_progress < _PROGRESS_SECONDS:
            return
        self._last_progress = now
        event = {"event": "progress", "phase": phase, "done": done, "of": of}
        for job in {item.job.id: item.job for item in self._batch}.values():
            if job.watch:
                self._send_event(job, event)

    def _on_event(self, event: Event) -> None:
        job = self._batch[event.pair].job
        if not job.watch:
            return
        if isinstance(event, ClaimsExtracted):
            claims = [asdict(claim) for claim in event.claims]
            self._send_event(job, {"event": "claims", "claims": claims})
        else:
            claim = asdict(event.claim)
            self._send_event(job, {"event": "verdict", "place": event.index, "claim": claim})


def report_overview(report: Report) -> dict[str, Any]:
    """Return what the service itself needs of a report, for metrics and the list of reports."""
    states = Counter(str(claim.status) for claim in report.claims)
    start = report.response[: 4 * _EXCERPT_CHARACTERS]
    return {
        "verdict": str(report.verdict),
        "score": report.score,
        "threshold": report.threshold,
        "claims": {str(status): states[str(status)] for status in Status},
        "seconds": report.cost.seconds,
        "pairs_judged": report.cost.pairs_judged,
        "excerpt": " ".join(start.split())[:_EXCERPT_CHARACTERS],
        "question": report.question,
    }
