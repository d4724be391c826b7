"""The worker process: it alone loads the models, and checks one batch after the other.

A check pauses every few thousand tokens: it ends if nobody waits for it, and batches with a lower
rank run first. An abandoned check that does not pause is interrupted. `supervisor.py` starts
another process when this one dies.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread, Timer
from typing import Any

from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import ConfigurationError, HallDetectError
from halldetect.inputs import Pair
from halldetect.machine.clock import seconds_left
from halldetect.protocols import ClaimsExtracted, Event, Progress
from halldetect.report import Report, Status
from halldetect.report.json_form import plain
from halldetect_serve.settings import CheckSettings

# The process sends one of these to its supervisor at the start, with a message.
READY, FAILED = "ready", "failed"
# Above this number the oldest detector is dropped; it is rebuilt if needed.
MAX_DETECTORS = 64
_CONVERT_PHASE = "convert"
_PROGRESS_SECONDS = 0.1
# Seconds until an abandoned batch that does not pause is interrupted.
_GRACE_SECONDS = 0.3
_EXCERPT_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Job:
    """Pairs to check together with the same options."""

    configuration: Configuration
    pairs: tuple[Pair, ...]
    watch: bool = False  # send events during the check
    repair: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """A job for the worker, of one or several requests; `phases` says when each phase began."""

    id: int
    job: Job
    phases: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Abandon:
    """Nobody waits for the batch with this id."""

    id: int


@dataclass(frozen=True, slots=True)
class FinishedReport:
    """A finished report or repair as JSON text on one line, and its `report_overview`."""

    json: str
    overview: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BatchEvent:
    """An event of a batch, about one of its pairs or (None) about all of them."""

    id: int
    pair: int | None
    event: dict[str, Any]


@dataclass(frozen=True, slots=True)
class BatchEnd:
    """The end of a batch: its reports, or an error with code and message; neither if abandoned."""

    id: int
    reports: list[FinishedReport] | None = None
    error: dict[str, Any] | None = None


class BatchAbandoned(BaseException):
    """Nobody waits for the batch; no Exception, so that no step takes it for its own failure."""


class ModelDetectorPool:
    """The detectors of the worker, one per configuration, over models that are loaded once."""

    def __init__(self, settings: CheckSettings, progress: Progress) -> None:
        self._configuration = settings.configuration
        self._progress = progress

    def load(self) -> None:
        """Load the default models, and open the index if one is configured."""
        self._default = Detector(config=self._configuration, progress=self._progress)
        self._default.description()
        # A request chooses only a verifier, which the process shares; the other large parts come
        # from the default detector.
        self._sharing = lru_cache(MAX_DETECTORS)(self._default.sharing)

    def get(self, configuration: Configuration) -> Detector:
        """Return the detector with that configuration."""
        is_default = configuration == self._configuration
        return self._default if is_default else self._sharing(configuration)


# Builds the pool inside the worker process; the second argument receives the progress of checks.
DetectorPoolFactory = Callable[[CheckSettings, Progress], ModelDetectorPool]


def run_worker(
    settings: CheckSettings, pool_factory: DetectorPoolFactory, connection: Connection
) -> None:
    """Load the models and check until the supervisor exits or sends None."""
    # Signals to the group are ignored: the supervisor ends this process after the last request.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    worker = CheckWorker(settings, pool_factory, connection, interrupt=_thread.interrupt_main)
    signal.signal(signal.SIGINT, worker.on_interrupt)
    # An orderly exit would wait for native code.
    worker.run(on_end=lambda: os._exit(0))


class CheckWorker:
    """Checks batches from the connection; `interrupt` makes the main thread call on_interrupt."""

    def __init__(
        self,
        settings: CheckSettings,
        pool_factory: DetectorPoolFactory,
        connection: Connection,
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        self._connection = connection
        self._interrupt = interrupt
        self._interruptible = False  # True while a detector works, outside of its callbacks
        self._pool = pool_factory(settings, self._on_progress)
        self._inbox: SimpleQueue[Batch | None] = SimpleQueue()
        self._abandoned: set[int] = set()
        self._running: list[Batch] = []  # the last one runs, the others wait for it
        self._last_progress: tuple[str, int, int] | None = None
        self._last_progress_at = 0.0

    def run(self, on_end: Callable[[], None]) -> None:
        """Load the models and check until the connection closes; then call `on_end`."""
        Thread(target=self._receive, args=(on_end,), daemon=True).start()
        try:
            self._pool.load()
        except Exception as error:
            known = isinstance(error, HallDetectError)
            failure = f"the models cannot be loaded: {type(error).__name__}: {error}"
            self._connection.send((FAILED, str(error) if known else failure))
            return
        self._connection.send((READY, ""))
        while (batch := self._inbox.get()) is not None:
            self._check(batch)

    def _receive(self, on_end: Callable[[], None]) -> None:
        try:
            while (message := self._connection.recv()) is not None:
                if isinstance(message, Abandon):
                    self._abandoned.add(message.id)
                    self._interrupt_later()
                else:
                    self._inbox.put(message)
        except (EOFError, OSError):
            pass  # the service has died
        self._inbox.put(None)
        on_end()

    def _interrupt_later(self) -> None:
        timer = Timer(_GRACE_SECONDS, self._interrupt)
        timer.daemon = True
        timer.start()

    def on_interrupt(self, *_: object) -> None:
        """Raise BatchAbandoned in the main thread if nobody waits for the running batch."""
        if self._running and self._running[-1].id in self._abandoned:
            if self._interruptible:
                raise BatchAbandoned
            self._interrupt_later()

    def _check(self, batch: Batch) -> None:
        self._running.append(batch)
        reports, error = None, None
        try:
            try:
                self._interruptible = True
                reports = self._finish(batch.job)
            finally:
                self._interruptible = False
        except BatchAbandoned:
            pass
        except Exception as failure:
            error = _describe_failure(failure)
        self._running.pop()
        self._abandoned.discard(batch.id)
        self._connection.send(BatchEnd(batch.id, reports, error))

    def _finish(self, job: Job) -> list[FinishedReport]:
        pair = job.pairs[0]
        detector = self._pool.get(job.configuration)
        if job.repair:
            repair = detector.repair(pair.source, pair.response, question=pair.question)
            overview = report_overview(repair.original if repair.report is None else repair.report)
            return [FinishedReport(repair.to_json(indent=None), overview)]
        reports = detector.check_many(job.pairs, observe=self._on_event)
        return [
            FinishedReport(report.to_json(indent=None), report_overview(report))
            for report in reports
        ]

    def _checkpoint(self) -> None:
        """Run the batches with a lower rank; raise BatchAbandoned if nobody waits."""
        running = self._running[-1]
        while not self._inbox.empty():
            message = self._inbox.get()
            if message is None:
                self._inbox.put(None)
                raise BatchAbandoned
            self._check(message)
        if running.id in self._abandoned:
            raise BatchAbandoned

    def _on_progress(self, phase: str, done: int, of: int) -> None:
        if not self._running:
            return  # the models are being loaded
        # A verifier under conversion holds the lock of all verifiers: a nested check would
        # deadlock. Other requests need it too, so it is not interrupted.
        converts = phase == _CONVERT_PHASE
        self._interruptible = False
        try:
            if not converts:
                self._checkpoint()
            self._send_progress(phase, done, of)
        finally:
            self._interruptible = not converts

    def _send_progress(self, phase: str, done: int, of: int) -> None:
        running, now = self._running[-1], time.monotonic()
        began = running.phases[phase] = running.phases.get(phase, now) if done else now
        spent, fraction = now - began, done / of if of else 0.0
        left = seconds_left(spent, fraction, 1 - fraction)
        is_news = done == of and (phase, done, of) != self._last_progress
        if not is_news and now - self._last_progress_at < _PROGRESS_SECONDS:
            return
        self._last_progress, self._last_progress_at = (phase, done, of), now
        event = {"event": "progress", "phase": phase, "done": done, "of": of}
        event["seconds_left"] = None if left is None else round(left, 1)
        self._connection.send(BatchEvent(running.id, None, event))

    def _on_event(self, event: Event) -> None:
        message: dict[str, Any]
        if isinstance(event, ClaimsExtracted):
            claims = [plain(claim) for claim in event.claims]
            message = {"event": "claims", "claims": claims}
        else:
            message = {"event": "verdict", "place": event.index, "claim": plain(event.claim)}
        self._interruptible = False
        self._connection.send(BatchEvent(self._running[-1].id, event.pair, message))
        self._interruptible = True


def _describe_failure(error: Exception) -> dict[str, Any]:
    """Return code and message. Unexpected errors may quote a text: log only their place."""
    if isinstance(error, ConfigurationError):
        return {"code": "invalid_request", "message": str(error)}
    if isinstance(error, HallDetectError):
        return {"code": "model_unavailable", "message": str(error)}
    trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
    print(f"halldetect: {type(error).__name__} in the worker\n{trace}", file=sys.stderr)
    return {"code": "internal", "message": "the check failed; the log says where"}


def report_overview(report: Report) -> dict[str, Any]:
    """Return the parts of a report that metrics and the list of reports need."""
    states = Counter(str(claim.status) for claim in report.claims)
    start = report.response[: 4 * _EXCERPT_CHARACTERS]
    return {
        "verdict": str(report.verdict),
        "reason": report.reason,
        "score": report.score,
        "threshold": report.threshold,
        "claims": {str(status): states[str(status)] for status in Status},
        "seconds": report.cost.seconds,
        "pairs_judged": report.cost.pairs_judged,
        "excerpt": " ".join(start.split())[:_EXCERPT_CHARACTERS],
        "question": report.question,
    }
