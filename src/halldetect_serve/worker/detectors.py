"""The detectors of the worker: one per configuration, over models that are loaded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from halldetect.claims.extraction import Draft
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.pair_state import Progress
from halldetect.protocols import Extractor
from halldetect.repair.rewriters import Rewriter
from halldetect_serve.settings import CheckSettings

# Beyond this number the oldest detector is dropped, and built again if it is needed.
MAX_DETECTORS = 64


class BatchAbandoned(BaseException):
    """Nobody waits for the batch any more.

    It is not an Exception, so that no step mistakes it for a failure of its model and goes on.
    """


class DetectorPool(Protocol):
    """Where the worker gets its detectors."""

    def load(self) -> None:
        """Load the default models.

        Raises:
            HallDetectError: if they cannot be loaded.
        """
        ...

    def get(self, configuration: Configuration) -> Detector:
        """Return the detector with that configuration."""
        ...


class DetectorPoolFactory(Protocol):
    """Builds the detector pool inside the worker process."""

    def __call__(
        self,
        settings: CheckSettings,
        progress: Progress,
        checkpoint: Callable[[], None],
    ) -> DetectorPool:
        """Build the pool.

        Args:
            settings: the default configuration and the models on offer.
            progress: gets the progress of every check.
            checkpoint: lets smaller work go first; raises BatchAbandoned once nobody waits.
        """
        ...


class ModelDetectorPool:
    """Detectors with real models: verifiers are shared within the process, extractors here.

    The arguments are those of `DetectorPoolFactory`.
    """

    def __init__(
        self,
        settings: CheckSettings,
        progress: Progress,
        checkpoint: Callable[[], None],
    ) -> None:
        self._default = settings.configuration
        self._progress = progress
        self._checkpoint = checkpoint
        self._extractors: dict[str, Extractor] = {}
        self._rewriters: dict[str, Rewriter] = {}
        self._detectors: dict[Configuration, Detector] = {}

    def load(self) -> None:
        """Load the default extractor and verifier, and open the index if there is one."""
        detector = self.get(self._default)
        _ = detector.knowledge
        _ = detector.verifier

    def get(self, configuration: Configuration) -> Detector:
        """Return the detector with that configuration."""
        if configuration not in self._detectors:
            if len(self._detectors) >= MAX_DETECTORS:
                del self._detectors[next(iter(self._detectors))]
            self._detectors[configuration] = self._build(configuration)
        return self._detectors[configuration]

    def _build(self, configuration: Configuration) -> Detector:
        detector = Detector(config=configuration, progress=self._progress)
        name = configuration.extractor
        if name not in self._extractors:
            extractor = InterruptibleExtractor(detector.extractor, self._checkpoint)
            self._extractors[name] = extractor
        detector.extractor = self._extractors[name]
        detector.rewriters = self._rewriters
        if (default := self._detectors.get(self._default)) is not None:
            detector.knowledge = default.knowledge  # opened once for all
        return detector


class InterruptibleExtractor:
    """An extractor that can be interrupted or stopped between two passes.

    Args:
        extractor: does the work.
        checkpoint: lets smaller work go first; raises BatchAbandoned once nobody waits.
    """

    def __init__(self, extractor: Extractor, checkpoint: Callable[[], None]) -> None:
        self._extractor = extractor
        self._checkpoint = checkpoint
        self.notes = tuple(getattr(extractor, "notes", ()))

    @property
    def description(self) -> dict[str, object]:
        """The description of the extractor inside."""
        return self._extractor.description

    def draft(self, block: str, limit: int) -> Draft:
        """Extract the claims of a block, unless nobody waits for them."""
        self._checkpoint()
        return self._extractor.draft(block, limit)
