"""The worker process: the only one with the models, checking in batches for all the others.

One thread reads and writes the sockets, one checks. When this process dies, every request it
was working on is told so by its HTTP process, and `keeper.py` starts another.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from collections import Counter
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
from halldetect.serve.worker import wire
from halldetect.serve.worker.detectors import BatchAbandoned, Builder
from halldetect.serve.worker.job_queue import Entry, Full, Queue
from halldetect.serve.worker.wire import Job

READY, FAILED = "ready", "failed"
_PROGRESS_EVERY = 0.1
_EXCERPT = 120


def work(
    path: Path, checking: CheckSettings, limits: Limits, builder: Builder, lifeline: Connection
) -> None:
    """The life of the process. `lifeline` says when it is ready; its end is the end of this."""
    for name in ("SIGINT", "SIGTERM"):  # who starts the service stops it, after the last request
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    Thread(target=_end_with, args=(lifeline,), daemon=True).start()
    worker = Worker(limits)
    try:
        worker.load(checking, builder)
    except HallDetectError as error:
        lifeline.send((FAILED, str(error)))
        return
    except Exception as error:
        lifeline.send((FAILED, f"the models cannot be loaded: {type(error).__name__}: {error}"))
        return
    asyncio.run(worker.serve(path, lambda: lifeline.send((READY, ""))))


def _end_with(lifeline: Connection) -> None:
    with suppress(EOFError, OSError):
        lifeline.recv()
    os._exit(0)  # an orderly exit would wait for native code


class Worker:
    def __init__(self, limits: Limits) -> None:
        self._queue = Queue(limits.queue, limits.batch)
        self._owners: dict[str, asyncio.StreamWriter] = {}
        self._left: Counter[str] = Counter()
        self._batch: list[Entry] = []
        self._last_progress = 0.0

    def load(self, checking: CheckSettings, builder: Builder) -> None:
        self._detectors = builder(checking, self._progress, self._alive)
        self._detectors.load()

    async def serve(self, path: Path, ready: Any) -> None:
        self._loop = asyncio.get_running_loop()
        server = await asyncio.start_unix_server(
            self._converse, path, limit=wire.LINE_LIMIT, start_serving=True
        )
        Thread(target=self._check, daemon=True).start()
        ready()
        async with server:
            await server.serve_forever()

    # -- the thread of the sockets

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One HTTP process. What it asked for is forgotten when it goes."""
        try:
            while text := await reader.readline():
                self._hear(wire.decoded(text), writer)
        except (ConnectionError, ValueError):
            pass
        finally:
            for job in [job for job, owner in self._owners.items() if owner is writer]:
                self._forget(job)
            writer.close()

    def _hear(self, message: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        if "cancel" in message:
            self._forget(message["cancel"])
        elif "stats" in message:
            writer.write(wire.line({"id": message["stats"], "event": "stats", **self._stats()}))
        else:
            job = wire.submitted(message)
            self._owners[job.id] = writer
            self._left[job.id] = len(job.pairs)
            answer = self._queue.offer(job)
            if isinstance(answer, Full):
                self._forget(job.id)
                told = {"event": "full", "retry_after": answer.retry_after}
            else:
                told = {"event": "accepted", "queued": answer}
            writer.write(wire.line({"id": job.id, **told}))

    def _forget(self, job: str) -> None:
        self._queue.cancel(job)
        self._owners.pop(job, None)
        self._left.pop(job, None)

    def _stats(self) -> dict[str, int]:
        queue = self._queue
        return {
            "queued": len(queue),
            "running": queue.running,
            "batches": queue.batches,
            "pairs": queue.pairs,
        }

    def _write(self, job: str, message: dict[str, Any], last: bool) -> None:
        owner = self._owners.get(job)
        if owner is not None and not owner.is_closing():
            owner.write(wire.line({"id": job, **message}))
        if last:
            self._left[job] -= 1
            if self._left[job] <= 0:
                self._forget(job)

    # -- the thread that checks

    def _tell(self, job: Job, message: dict[str, Any], *, last: bool = False) -> None:
        """`last` says that one pair of the job is done with."""
        self._loop.call_soon_threadsafe(self._write, job.id, message, last)

    def _check(self) -> None:
        while (taken := self._queue.take()) is not None:
            options, self._batch = taken
            started = time.time()
            try:
                detector = self._detectors.of(options)
                reports = detector.check_many(
                    [entry.pair for entry in self._batch], observe=self._observe
                )
            except BatchAbandoned:
                pass
            except Exception as error:
                self._fail(error)
            else:
                for entry, report in zip(self._batch, reports, strict=True):
                    found = {"report": report.to_json(indent=None), "facts": facts(report)}
                    self._tell(
                        entry.job, {"event": "report", "pair": entry.place, **found}, last=True
                    )
            self._queue.done(self._batch, time.time() - started)

    def _fail(self, error: Exception) -> None:
        """A defect is written down by its place alone: its message may hold somebody's text."""
        if isinstance(error, HallDetectError):
            told = {"code": "model_unavailable", "message": str(error)}
        else:
            told = {"code": "internal", "message": "the check failed; the log says where"}
            where = "".join(traceback.format_tb(error.__traceback__)[-3:])
            print(f"halldetect: {type(error).__name__} in the worker\n{where}", file=sys.stderr)
        for entry in self._batch:
            self._tell(entry.job, {"event": "failed", "pair": entry.place, **told}, last=True)

    def _alive(self) -> None:
        if not any(self._queue.wanted(entry.job) for entry in self._batch):
            raise BatchAbandoned

    def _progress(self, phase: str, done: int, of: int) -> None:
        if not self._batch:
            return  # loading
        self._alive()
        now = time.monotonic()
        if done < of and now - self._last_progress < _PROGRESS_EVERY:
            return
        self._last_progress = now
        told = {"event": "progress", "phase": phase, "done": done, "of": of}
        for job in {entry.job.id: entry.job for entry in self._batch}.values():
            if job.watch:
                self._tell(job, told)

    def _observe(self, event: Event) -> None:
        entry = self._batch[event.pair]
        if not entry.job.watch:
            return
        if isinstance(event, ClaimsExtracted):
            told: dict[str, Any] = {"claims": [asdict(claim) for claim in event.claims]}
            self._tell(entry.job, {"event": "claims", **told})
        else:
            told = {"place": event.index, "claim": asdict(event.claim)}
            self._tell(entry.job, {"event": "verdict", **told})


def facts(report: Report) -> dict[str, Any]:
    """What the service itself needs of a report: for its metrics and its list of reports."""
    states = Counter(str(claim.status) for claim in report.claims)
    return {
        "verdict": str(report.verdict),
        "score": report.score,
        "threshold": report.threshold,
        "claims": {str(status): states[str(status)] for status in Status},
        "seconds": report.cost.seconds,
        "pairs_judged": report.cost.pairs_judged,
        "excerpt": " ".join(report.response[: 4 * _EXCERPT].split())[:_EXCERPT],
        "question": report.question,
    }
