"""The worker process: the only one with the models, which checks in batches for all the others.

One thread reads and writes the sockets, another one checks. A check is interrupted every few
thousand tokens: it ends if nobody waits for it any more, and work that goes before it in the queue
is done in between. When this process dies, the HTTP processes report it to every request it was
working on, and `supervisor.py` starts another.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any

from halldetect.batch.cache import is_repeatable, without_cost
from halldetect.detector import Detector
from halldetect.errors import ConfigurationError, HallDetectError
from halldetect.inputs import Pair
from halldetect.pair_state import ClaimsExtracted, Event
from halldetect.report import Report, Status
from halldetect.verification.remaining_time import RemainingTime
from halldetect_serve.settings import CheckSettings, Limits
from halldetect_serve.worker.detectors import BatchAbandoned, DetectorPool, DetectorPoolFactory
from halldetect_serve.worker.job_queue import JobQueue, QueueFull, WorkItem, work_key
from halldetect_serve.worker.report_memory import RememberedCheck, ReportMemory
from halldetect_serve.worker.wire import (
    MAX_LINE_BYTES,
    FinishedReport,
    Job,
    decode,
    decode_job,
    encode,
)

# What the process sends to its supervisor once: one of these, and a message.
READY, FAILED = "ready", "failed"
_CONVERT_PHASE = "convert"
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


@dataclass(slots=True)
class _RunningBatch:
    """A batch that is being checked.

    items        its pairs
    interrupted  seconds for which it was interrupted, per phase
    phases       how long each phase will still take; nothing for those that have not begun
    """

    items: list[WorkItem]
    interrupted: dict[str, float] = field(default_factory=dict)
    phases: dict[str, RemainingTime] = field(default_factory=dict)

    def seconds_left(self, phase: str, done: int, of: int) -> float | None:
        """Return how long a phase will still take, None while that is unknown."""
        now = time.monotonic() - self.interrupted.get(phase, 0.0)
        remaining = self.phases.setdefault(phase, RemainingTime(now))
        left = remaining.seconds(done / of if of else None, now)
        return None if left is None else round(left, 1)


class CheckWorker:
    """Takes jobs from the HTTP processes and sends back events and reports.

    Args:
        limits: sizes of the queue, of a batch and of the memory of reports.
    """

    _pool: DetectorPool
    _rewriter: str | None
    _loop: asyncio.AbstractEventLoop

    def __init__(self, limits: Limits) -> None:
        self._queue = JobQueue(limits.queue, limits.batch)
        self._memory = ReportMemory(limits.report_memory)
        self._connections: dict[str, asyncio.StreamWriter] = {}
        self._unfinished_pairs: Counter[str] = Counter()
        self._running: list[_RunningBatch] = []  # the last one is at work, the others wait for it
        self._last_progress: tuple[str, int, int] | None = None
        self._last_progress_at = 0.0

    def load(self, settings: CheckSettings, pool_factory: DetectorPoolFactory) -> None:
        """Build the detector pool and load the default models."""
        self._rewriter = settings.rewriter
        self._pool = pool_factory(settings, self._on_progress, self._between_drafts)
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
            stats = {**self._queue.stats(), "remembered": self._memory.hits}
            writer.write(encode({"id": message["stats"], "event": "stats", **stats}))
        else:
            self._take_job(decode_job(message), writer)

    def _take_job(self, job: Job, writer: asyncio.StreamWriter) -> None:
        self._connections[job.id] = writer
        self._unfinished_pairs[job.id] = len(job.pairs)
        keys = {
            at: work_key(job.configuration, pair, repair=job.repair, judge_from=job.judge_from)
            for at, pair in enumerate(job.pairs)
        }
        known = {at: self._memory.get(key) for at, key in keys.items()}
        new = {at: key for at, key in keys.items() if known[at] is None}
        answer = self._queue.put(job, new)
        if isinstance(answer, QueueFull):
            self._write_event(job.id, {"event": "full", "retry_after": answer.retry_after})
            self._drop_job(job.id)
            return
        self._write_event(job.id, {"event": "accepted", "queued": answer.before})
        for event in answer.events if job.watch else ():
            self._write_event(job.id, event)
        for at, check in known.items():
            if check is not None:
                for event in check.events if job.watch else ():
                    self._write_event(job.id, event)
                self._write_event(job.id, _report_event(check.report, at), ends_pair=True)

    def _drop_job(self, job_id: str) -> None:
        self._queue.cancel(job_id)
        self._connections.pop(job_id, None)
        self._unfinished_pairs.pop(job_id, None)

    def _write_event(self, job_id: str, event: dict[str, Any], *, ends_pair: bool = False) -> None:
        """Send an event; `ends_pair` says that one pair of the job is done."""
        connection = self._connections.get(job_id)
        if connection is not None and not connection.is_closing():
            connection.write(encode({"id": job_id, **event}))
        if ends_pair:
            self._unfinished_pairs[job_id] -= 1
            if self._unfinished_pairs[job_id] <= 0:
                self._drop_job(job_id)

    def _on_report(
        self, item: WorkItem, report: FinishedReport, remembered: FinishedReport | None
    ) -> None:
        if remembered is not None:
            self._memory.put(item.key, RememberedCheck(remembered, item.events))
        for waiter in self._queue.finish(item):
            self._write_event(waiter.job.id, _report_event(report, waiter.index), ends_pair=True)

    def _on_failure(self, item: WorkItem, failure: dict[str, Any]) -> None:
        for waiter in self._queue.finish(item):
            event = {"event": "failed", "pair": waiter.index, **failure}
            self._write_event(waiter.job.id, event, ends_pair=True)

    # Methods of the thread that checks

    def _check_batches(self) -> None:
        while True:
            self._check(self._queue.take_batch())

    def _check(self, items: list[WorkItem]) -> None:
        running = _RunningBatch(items)
        self._running.append(running)
        started = time.monotonic()
        results: list[Callable[[], None]] = []
        try:
            detector = self._pool.get(items[0].configuration)
            if items[0].repair:
                finished: list[tuple[FinishedReport, FinishedReport | None]]
                finished = [(self._repair(detector, items[0].pair), None)]
            elif items[0].judge_from:
                finished = [(_part_report(detector, items[0]), None)]
            else:
                pairs = [item.pair for item in items]
                reports = detector.check_many(pairs, observe=self._on_event)
                finished = [
                    (
                        _finished(report),
                        _finished(without_cost(report)) if is_repeatable(report) else None,
                    )
                    for report in _without_interruptions(reports, running)
                ]
        except BatchAbandoned:
            for item in items:
                self._queue.put_back(item)
        except Exception as error:
            failure = _describe_failure(error)
            results = [partial(self._on_failure, item, failure) for item in items]
        else:
            results = [
                partial(self._on_report, item, report, remembered)
                for item, (report, remembered) in zip(items, finished, strict=True)
            ]
        self._running.pop()
        spent = time.monotonic() - started - sum(running.interrupted.values())
        self._queue.batch_done(items, max(spent, 0.0))
        # Sent only now: whoever has a report finds it in the counts.
        for send in results:
            self._loop.call_soon_threadsafe(send)

    def _repair(self, detector: Detector, pair: Pair) -> FinishedReport:
        repair = detector.repair(
            pair.source, pair.response, question=pair.question, rewriter=self._rewriter
        )
        overview = report_overview(repair.report or repair.original)
        return FinishedReport(repair.to_json(indent=None), overview)

    def _between_drafts(self) -> None:
        self._checkpoint("extract")

    def _checkpoint(self, phase: str) -> None:
        """Stop if nobody waits any more, and let smaller work go first.

        Raises:
            BatchAbandoned: if nobody waits for the batch.
        """
        if not self._running:
            return  # the models are being loaded
        running = self._running[-1]
        if not any(self._queue.is_wanted(item) for item in running.items):
            raise BatchAbandoned
        while batch := self._queue.take_urgent(running.items):
            started = time.monotonic()
            self._check(batch)
            seconds = running.interrupted.get(phase, 0.0) + time.monotonic() - started
            running.interrupted[phase] = seconds

    def _on_progress(self, phase: str, done: int, of: int) -> None:
        # A verifier that is being converted holds the lock of all verifiers: a check in between
        # would wait for it for ever.
        if phase != _CONVERT_PHASE:
            self._checkpoint(phase)
        if not self._running:
            return
        running, now = self._running[-1], time.monotonic()
        left = running.seconds_left(phase, done, of)
        is_news = done == of and (phase, done, of) != self._last_progress
        if not is_news and now - self._last_progress_at < _PROGRESS_SECONDS:
            return
        self._last_progress, self._last_progress_at = (phase, done, of), now
        event = {"event": "progress", "phase": phase, "done": done, "of": of, "seconds_left": left}
        self._send_event(self._queue.watching(running.items), event)

    def _on_event(self, event: Event) -> None:
        item = self._running[-1].items[event.pair]
        message: dict[str, Any]
        if isinstance(event, ClaimsExtracted):
            message = {"event": "claims", "claims": [asdict(claim) for claim in event.claims]}
        else:
            message = {"event": "verdict", "place": event.index, "claim": asdict(event.claim)}
        self._send_event(self._queue.record(item, message), message)

    def _send_event(self, jobs: Iterable[Job], event: dict[str, Any]) -> None:
        for job in jobs:
            self._loop.call_soon_threadsafe(self._write_event, job.id, event)


def _describe_failure(error: Exception) -> dict[str, Any]:
    """Return code and message. An unexpected error may quote a text: its message is not logged."""
    if isinstance(error, ConfigurationError):
        return {"code": "invalid_request", "message": str(error)}
    if isinstance(error, HallDetectError):
        return {"code": "model_unavailable", "message": str(error)}
    trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
    print(f"halldetect: {type(error).__name__} in the worker\n{trace}", file=sys.stderr)
    return {"code": "internal", "message": "the check failed; the log says where"}


def _without_interruptions(reports: list[Report], running: _RunningBatch) -> list[Report]:
    """Return the reports of a batch without the time of what was checked in between."""
    for phase, seconds in running.interrupted.items():
        spent = sum(report.cost.seconds.get(phase, 0.0) for report in reports)
        share = max(0.0, 1.0 - seconds / spent) if spent else 1.0
        reports = [_scaled(report, phase, share) for report in reports]
    return reports


def _scaled(report: Report, phase: str, share: float) -> Report:
    if phase not in report.cost.seconds:
        return report
    seconds = {**report.cost.seconds, phase: round(report.cost.seconds[phase] * share, 4)}
    return replace(report, cost=replace(report.cost, seconds=seconds))


def _finished(report: Report) -> FinishedReport:
    return FinishedReport(report.to_json(indent=None), report_overview(report))


def _part_report(detector: Detector, item: WorkItem) -> FinishedReport:
    pair = item.pair
    return _finished(
        detector.check_part(pair.source, pair.response, item.judge_from, question=pair.question)
    )


def _report_event(report: FinishedReport, pair: int) -> dict[str, Any]:
    return {"event": "report", "pair": pair, "report": report.json, "overview": report.overview}


def report_overview(report: Report) -> dict[str, Any]:
    """Return what the service itself needs of a report, for metrics and the list of reports."""
    states = Counter(str(claim.status) for claim in report.claims)
    errors = Counter(str(claim.error.kind) for claim in report.claims if claim.error is not None)
    start = report.response[: 4 * _EXCERPT_CHARACTERS]
    return {
        "verdict": str(report.verdict),
        "score": report.score,
        "threshold": report.threshold,
        "claims": {str(status): states[str(status)] for status in Status},
        "errors": dict(errors),
        "seconds": report.cost.seconds,
        "pairs_judged": report.cost.pairs_judged,
        "excerpt": " ".join(start.split())[:_EXCERPT_CHARACTERS],
        "question": report.question,
    }
