"""Load the models of a detector as one value."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

from halldetect.config import Configuration
from halldetect.errors import CheckError, ModelError
from halldetect.knowledge.passages import Knowledge
from halldetect.machine import download
from halldetect.machine.devices import on_gpu, torch_device
from halldetect.protocols import Extractor, Progress, Rule, Verifier, with_defaults
from halldetect.report import Report
from halldetect.scoring import Calibration, threshold_value
from halldetect.verification.cut import SUFFIX, read_cut
from halldetect.verification.presets import CASCADE, DEFAULT, LARGE

Notice = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Models:
    """The loaded models of a detector and the numbers that come with them.

    `second` judges the responses that the verifier is unsure of, in a cascade. `locator` finds the
    passages for a verifier that reads whole sources. `notes` are for every report,
    `rules` the caller's own for wrong words. `extractor` is that of the paper's method.
    """

    verifier: Verifier
    calibration: Calibration
    threshold: float
    second: Models | None = None
    locator: Verifier | None = None
    knowledge: Knowledge | None = None
    notes: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()
    extractor: Extractor | None = None

    @property
    def languages(self) -> tuple[str, ...] | None:
        """Return the languages that the verifier, or the second one, reads; None for any."""
        both = [models.verifier for models in (self, self.second) if models is not None]
        named: list[Any] = [verifier.description.get("languages") for verifier in both]
        return None if None in named else tuple(dict.fromkeys(one for of in named for one in of))

    def judging(self, languages: Set[str]) -> Models:
        """Return the models, or the second ones if the first verifier lacks a language."""
        known = self.verifier.description.get("languages")
        if self.second is None or known is None or languages <= set(known):
            return self
        return self.second

    def that_judged(self, report: Report) -> Models:
        """Return the models whose verifier a report names: these, or the second ones."""
        name = report.provenance.verifier.get("name")
        second = self.second
        return second if second and second.verifier.description.get("name") == name else self

    def description(self) -> dict[str, Any]:
        """Return everything of the models that reports depend on."""
        second = None if self.second is None else self.second.verifier
        parts = {"second": second, "knowledge": self.knowledge, "extractor": self.extractor}
        return {
            "verifier": self.verifier.description,
            "calibration": asdict(self.calibration),
            **{name: part.description for name, part in parts.items() if part is not None},
        }


@dataclass(frozen=True, slots=True)
class Loader:
    """Loads models as a configuration says; an object that is given replaces its name."""

    configuration: Configuration
    verifier: str | Verifier | None
    knowledge: Knowledge | None
    calibration: Calibration | None
    notice: Notice
    progress: Progress | None
    rules: tuple[Rule, ...] = ()

    def load(self, extractor: Extractor | None = None) -> Models:
        """Load the verifiers and open the index; the paper's method uses a single verifier."""
        config = self.configuration
        if self.knowledge is None and config.knowledge is not None and not config.paper:
            from halldetect.knowledge.builder import open_index

            return replace(self, knowledge=open_index(config.knowledge)).load()
        with ThreadPoolExecutor(1) as pool:
            both = self.verifier in (LARGE, CASCADE) and not config.paper
            if both and config.device in ("auto", "cpu") and torch_device(config.device) == "cpu":
                pool.submit(self._named, DEFAULT)  # an error is raised again where it is used
            verifier, notes, large = self._load_verifier()
            second = None if large is None else self._models(large)
            return replace(self._models(verifier, notes), second=second, extractor=extractor)

    def _models(self, verifier: Verifier, notes: tuple[str, ...] = ()) -> Models:
        """Return a verifier with the numbers that come with it."""
        stated = verifier.description
        threshold, note = read_threshold(self.configuration.threshold, stated)
        return Models(
            verifier,
            self.calibration or Calibration.from_mapping(stated.get("calibration") or {}),
            threshold,
            locator=self._locator(verifier),
            knowledge=None if self.configuration.paper else self.knowledge,
            notes=(*notes, *note),
            rules=self.rules,
        )

    def _locator(self, verifier: Verifier) -> Verifier | None:
        """Return the verifier that finds passages: on a GPU, the judge is the faster one."""
        if self.configuration.paper or not verifier.reads_whole_sources:
            return None
        return verifier if on_gpu(verifier.description) else self._named(DEFAULT)

    def _load_verifier(self) -> tuple[Verifier, tuple[str, ...], Verifier | None]:
        """Return the verifier, a note if it is the fallback, and the second one of a cascade."""
        given = self.verifier
        if not (given is None or isinstance(given, str)):
            return with_defaults(given), (), None
        try:
            if given == CASCADE and not self.configuration.paper:
                second = self._named(LARGE)
                return self._named(DEFAULT), (), second
            return self._named(given), (), None
        except CheckError as error:
            fallback = self.configuration.fallback
            if fallback is None:
                raise
            note = f"{fallback} judged instead of {self.configuration.verifier}: {error}"
            self.notice(note)
            return self._named(fallback), (note,), None

    def announced(self, phase: str) -> download.Progress:
        """Return the progress of a phase that loads a model."""
        advance = None if self.progress is None else partial(self.progress, phase)
        return download.announced(self.notice, advance)

    def _named(self, name: str | None) -> Verifier:
        from halldetect.models.verifiers import load_verifier

        config, progress = self.configuration, self.announced("convert")
        return load_verifier(name, threads=config.threads, device=config.device, progress=progress)


def read_threshold(
    threshold: float | str, verifier: Mapping[str, Any]
) -> tuple[float, tuple[str, ...]]:
    """Return the number of a threshold, and for a file of `calibrate` the note for reports.

    Raises ConfigurationError if the verifier of this description has no such threshold.
    """
    if isinstance(threshold, str) and threshold.endswith(SUFFIX):
        cut = read_cut(threshold, verifier)
        return cut.threshold, (cut.note,)
    return threshold_value(threshold, verifier), ()


def require_same_model(role: str, recorded: dict[str, Any], loaded: dict[str, Any]) -> None:
    """Raise ModelError if a digest of a loaded model is not the recorded one."""
    for key, value in recorded.items():
        if "digest" in key and loaded.get(key) != value:
            raise ModelError(
                f"the report was made with another {role}: its {key} was {value}, "
                f"here it is {loaded.get(key)}"
            )
