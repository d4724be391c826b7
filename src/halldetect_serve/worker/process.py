"""The worker process: it alone loads the models, and checks one batch after the other.

A check pauses every few thousand tokens: it ends if nobody waits for it, and batches with a lower
rank run first. `supervisor.py` starts another process when this one dies.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any, Protocol

from halldetect.batch.cache import is_repeatable, without_cost
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import ConfigurationError, HallDetectError
from halldetect.inputs import Pair
from halldetect.protocols import ClaimsExtracted, Event, Progress
from halldetect.report import Report, Status
from halldetect.report.json_form import plain
from halldetect.verification.remaining_time import RemainingTime
from halldetect_serve.settings import CheckSettings

# The process sends one of these to its supervisor at the start, with a message.
READY, FAILED = "ready", "failed"
# Above this number the oldest detector is dropped; it is rebuilt if needed.
MAX_DETECTORS = 64
_CONVERT_PHASE = "convert"
_PROGRESS_SECONDS = 0.1
_EXCERPT_CHARACTERS = 120


@dataclass(frozen=True, slots=True)
class Job:
    """Pairs to check together.

    Attributes:
        configuration: options of the check.
        pairs: the pairs to check.
        watch: True if the caller wants events during the check.
        repair: True to repair the responses, False to check them.
        judge_from: offset in the response where the checked part begins; the rest is context.
    """

    configuration: Configuration
    pairs: tuple[Pair, ...]
    watch: bool = False
    repair: bool = False
    judge_from: int = 0


@dataclass(frozen=True, slots=True)
class Batch:
    """A job for the worker: pairs of one or several requests."""

    id: int
    job: Job


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
    """The end of a batch.

    Attributes:
        id: the id of the batch.
        seconds: its duration.
        reports: per pair the report, and the report to cache or None; None without reports.
        error: code and message; None if the batch is done or was abandoned.
    """

    id: int
    seconds: float
    reports: list[tuple[FinishedReport, FinishedReport | None]] | None
    error: dict[str, Any] | None = None


class BatchAbandoned(BaseException):
    """Nobody waits for the batch.

    It is not an Exception, so that no step mistakes it for a failure of its model.
    """


class DetectorPool(Protocol):
    """The detectors of the worker: one per configuration."""

    def load(self) -> None:
        """Load the default models, or raise HallDetectError."""

    def get(self, configuration: Configuration) -> Detector:
        """Return the detector with that configuration."""


# Builds the pool inside the worker process; the second argument receives the progress of checks.
DetectorPoolFactory = Callable[[CheckSettings, Progress], DetectorPool]


class ModelDetectorPool:
    """Detectors over models that are loaded once."""

    def __init__(self, settings: CheckSettings, progress: Progress) -> None:
        self._default = settings.configuration
        self._progress = progress
        self._detectors: dict[Configuration, Detector] = {}

    def load(self) -> None:
        """Load the default models, and open the index if one is configured."""
        self.get(self._default).description()

    def get(self, configuration: Configuration) -> Detector:
        """Return the detector with that configuration."""
        found = self._detectors.get(configuration)
        if found is None:
            default = self._detectors.get(self._default)
            # A request chooses only a verifier, which the process shares; the other large parts
            # come from the default detector.
            found = (
                Detector(config=configuration, progress=self._progress)
                if default is None
                else default.sharing(configuration)
            )
            if len(self._detectors) >= MAX_DETECTORS:
                oldest = next(key for key in self._detectors if key != self._default)
                del self._detectors[oldest]
            self._detectors[configuration] = found
        return found


def run_worker(
    settings: CheckSettings, pool_factory: DetectorPoolFactory, connection: Connection
) -> None:
    """Load the models and check until the supervisor exits or sends None."""
    # Signals to the group are ignored: the supervisor ends this process after the last request.
    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), signal.SIG_IGN)
    # An orderly exit would wait for native code.
    CheckWorker(settings, pool_factory, connection).run(on_end=lambda: os._exit(0))


@dataclass(slots=True)
class _RunningBatch:
    """A batch that is being checked.

    Attributes:
        batch: the batch.
        interrupted: seconds for which it was interrupted, per phase.
        phases: remaining time per phase that has begun.
    """

    batch: Batch
    interrupted: dict[str, float] = field(default_factory=dict)
    phases: dict[str, RemainingTime] = field(default_factory=dict)

    def seconds_left(self, phase: str, done: int, of: int) -> float | None:
        """Return the remaining seconds of a phase; None if unknown."""
        now = time.monotonic() - self.interrupted.get(phase, 0.0)
        remaining = self.phases.setdefault(phase, RemainingTime(now))
        left = remaining.seconds(done / of if of else None, now)
        return None if left is None else round(left, 1)


class CheckWorker:
    """Takes batches from the connection and sends back events and reports."""

    def __init__(
        self, settings: CheckSettings, pool_factory: DetectorPoolFactory, connection: Connection
    ) -> None:
        self._connection = connection
        self._rewriter = settings.rewriter
        self._pool = pool_factory(settings, self._on_progress)
        self._inbox: SimpleQueue[Batch | Abandon | None] = SimpleQueue()
        self._abandoned: set[int] = set()
        self._running: list[_RunningBatch] = []  # the last one runs, the others wait for it
        self._last_progress: tuple[str, int, int] | None = None
        self._last_progress_at = 0.0

    def run(self, on_end: Callable[[], None]) -> None:
        """Load the models, report it, and check until None arrives or the connection closes.

        Args:
            on_end: called at that moment, in another thread.
        """
        Thread(target=self._receive, args=(on_end,), daemon=True).start()
        try:
            self._pool.load()
        except Exception as error:
            known = isinstance(error, HallDetectError)
            failure = f"the models cannot be loaded: {type(error).__name__}: {error}"
            self._connection.send((FAILED, str(error) if known else failure))
            return
        self._connection.send((READY, ""))
        while (message := self._inbox.get()) is not None:
            self._take(message)

    def _receive(self, on_end: Callable[[], None]) -> None:
        try:
            while (message := self._connection.recv()) is not None:
                self._inbox.put(message)
        except (EOFError, OSError):
            pass  # the service has died
        self._inbox.put(None)
        on_end()

    def _take(self, message: Batch | Abandon) -> None:
        if isinstance(message, Abandon):
            self._abandoned.add(message.id)
        else:
            self._check(message)

    def _check(self, batch: Batch) -> None:
        running = _RunningBatch(batch)
        self._running.append(running)
        started = time.monotonic()
        reports: list[tuple[FinishedReport, FinishedReport | None]] | None = None
        error: dict[str, Any] | None = None
        try:
            reports = self._finish(running)
        except BatchAbandoned:
            pass
        except Exception as failure:
            error = _describe_failure(failure)
        self._running.pop()
        self._abandoned.discard(batch.id)
        spent = max(0.0, time.monotonic() - started - sum(running.interrupted.values()))
        self._connection.send(BatchEnd(batch.id, spent, reports, error))

    def _finish(self, running: _RunningBatch) -> list[tuple[FinishedReport, FinishedReport | None]]:
        """Return per pair the report to send, and the one to cache if it is repeatable."""
        job = running.batch.job
        pair = job.pairs[0]
        detector = self._pool.get(job.configuration)
        if job.repair:
            repair = detector.repair(
                pair.source, pair.response, question=pair.question, rewriter=self._rewriter
            )
            overview = report_overview(repair.report or repair.original)
            return [(FinishedReport(repair.to_json(indent=None), overview), None)]
        if job.judge_from:
            report = detector.check_part(
                pair.source, pair.response, job.judge_from, question=pair.question
            )
            return [(_finished(report), None)]
        reports = detector.check_many(job.pairs, observe=self._on_event)
        return [
            (_finished(report), _finished(without_cost(report)) if is_repeatable(report) else None)
            for report in _without_interruptions(reports, running)
        ]

    def _checkpoint(self, phase: str) -> None:
        """Run the batches with a lower rank, and stop if nobody waits.

        Raises:
            BatchAbandoned: if nobody waits for the batch.
        """
        running = self._running[-1]
        while not self._inbox.empty():
            message = self._inbox.get()
            if message is None:
                self._inbox.put(None)
                raise BatchAbandoned
            started = time.monotonic()
            self._take(message)
            seconds = running.interrupted.get(phase, 0.0) + time.monotonic() - started
            running.interrupted[phase] = seconds
        if running.batch.id in self._abandoned:
            raise BatchAbandoned

    def _on_progress(self, phase: str, done: int, of: int) -> None:
        if not self._running:
            return  # the models are being loaded
        # A verifier under conversion holds the lock of all verifiers: a nested check would
        # deadlock.
        if phase != _CONVERT_PHASE:
            self._checkpoint(phase)
        running, now = self._running[-1], time.monotonic()
        left = running.seconds_left(phase, done, of)
        is_news = done == of and (phase, done, of) != self._last_progress
        if not is_news and now - self._last_progress_at < _PROGRESS_SECONDS:
            return
        self._last_progress, self._last_progress_at = (phase, done, of), now
        event = {"event": "progress", "phase": phase, "done": done, "of": of, "seconds_left": left}
        self._connection.send(BatchEvent(running.batch.id, None, event))

    def _on_event(self, event: Event) -> None:
        message: dict[str, Any]
        if isinstance(event, ClaimsExtracted):
            claims = [plain(claim) for claim in event.claims]
            message = {"event": "claims", "claims": claims}
        else:
            message = {"event": "verdict", "place": event.index, "claim": plain(event.claim)}
        self._connection.send(BatchEvent(self._running[-1].batch.id, event.pair, message))


def _describe_failure(error: Exception) -> dict[str, Any]:
    """Return code and message. Unexpected errors may quote a text: log only their place."""
    if isinstance(error, ConfigurationError):
        return {"code": "invalid_request", "message": str(error)}
    if isinstance(error, HallDetectError):
        return {"code": "model_unavailable", "message": str(error)}
    trace = "".join(traceback.format_tb(error.__traceback__)[-3:])
    print(f"halldetect: {type(error).__name__} in the worker\n{trace}", file=sys.stderr)
    return {"code": "internal", "message": "the check failed; the log says where"}


def _without_interruptions(reports: list[Report], running: _RunningBatch) -> list[Report]:
    """Return the reports of a batch without the time of its interruptions."""
    shares = {}
    for phase, seconds in running.interrupted.items():
        spent = sum(report.cost.seconds.get(phase, 0.0) for report in reports)
        shares[phase] = max(0.0, 1.0 - seconds / spent) if spent else 1.0

    def scaled(seconds: dict[str, float]) -> dict[str, float]:
        return {
            phase: round(value * shares[phase], 4) if phase in shares else value
            for phase, value in seconds.items()
        }

    return [
        replace(report, cost=replace(report.cost, seconds=scaled(report.cost.seconds)))
        for report in reports
    ]


def _finished(report: Report) -> FinishedReport:
    return FinishedReport(report.to_json(indent=None), report_overview(report))


def report_overview(report: Report) -> dict[str, Any]:
    """Return the parts of a report that metrics and the list of reports need."""
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
