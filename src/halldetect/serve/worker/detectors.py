"""The detectors of the worker: one for each choice of options, over models loaded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from halldetect.claims.extraction import Draft
from halldetect.detector import Detector
from halldetect.pipeline import Progress
from halldetect.protocols import Extractor
from halldetect.serve.settings import EMBEDDED, CheckSettings
from halldetect.serve.worker.wire import Options

# As many combinations of options as are kept; beyond, the oldest is built anew when asked for.
KEPT = 64


class BatchAbandoned(BaseException):
    """Nobody waits for the batch any more. Not an Exception: no step may take it for a failure
    of its model and go on."""


class Detectors(Protocol):
    """How the worker gets its detectors."""

    def load(self) -> None:
        """Load the default models; raises HallDetectError where that cannot be done."""
        ...

    def of(self, options: Options) -> Detector: ...


class Builder(Protocol):
    """Makes the detectors inside the worker process, where `alive` raises BatchAbandoned."""

    def __call__(
        self, checking: CheckSettings, progress: Progress, alive: Callable[[], None]
    ) -> Detectors: ...


class Loaded:
    """Real models. Verifiers are shared by name within a process, extractors here."""

    def __init__(
        self, checking: CheckSettings, progress: Progress, alive: Callable[[], None]
    ) -> None:
        self._checking = checking
        self._progress = progress
        self._alive = alive
        self._extractors: dict[str, Extractor] = {}
        self._detectors: dict[Options, Detector] = {}

    def load(self) -> None:
        detector = self.of(default_options(self._checking))
        _ = detector.verifier

    def of(self, options: Options) -> Detector:
        if options not in self._detectors:
            if len(self._detectors) >= KEPT:
                del self._detectors[next(iter(self._detectors))]
            self._detectors[options] = self._build(options)
        return self._detectors[options]

    def _build(self, options: Options) -> Detector:
        checking = self._checking
        detector = Detector(
            options.extractor,
            None if options.verifier == EMBEDDED else options.verifier,
            scoring=options.scoring,
            threshold=options.threshold,
            exact=options.exact,
            granularities=checking.granularities,
            guard=checking.guard,
            truncate=checking.truncate,
            seed=checking.seed,
            threads=checking.threads,
            max_source=checking.max_source,
            max_response=checking.max_response,
            progress=self._progress,
        )
        if options.extractor not in self._extractors:
            self._extractors[options.extractor] = Interruptible(detector.extractor, self._alive)
        detector.extractor = self._extractors[options.extractor]
        return detector


class Interruptible:
    """An extractor that stops between two passes once nobody waits any more."""

    def __init__(self, extractor: Extractor, alive: Callable[[], None]) -> None:
        self._extractor = extractor
        self._alive = alive

    @property
    def description(self) -> dict[str, object]:
        return self._extractor.description

    def draft(self, block: str, limit: int) -> Draft:
        self._alive()
        return self._extractor.draft(block, limit)


def default_options(checking: CheckSettings) -> Options:
    return Options(
        checking.extractor,
        checking.verifier,
        checking.scoring,
        checking.threshold,
        checking.exact,
    )
