"""The detector: its options, its models, and the way in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from itertools import islice
from typing import Any, Unpack

from halldetect import steps
from halldetect.case import AnyPair, Case
from halldetect.config import Configuration, Settings
from halldetect.errors import ConfigurationError, InputError, ModelError
from halldetect.events import Observe
from halldetect.inputs import Pair, Source, take_in
from halldetect.protocols import Extractor, Verifier
from halldetect.report import Report
from halldetect.scoring import Calibration
from halldetect.steps import Progress

Notice = Callable[[str], None]

# So many pairs are worked on together: enough to fill batches, few enough to hold in memory.
BLOCK = 64
_OBJECT = "object:"


def say(line: str) -> None:
    """The default for notices: a line on standard error."""
    print(f"halldetect: {line}", file=sys.stderr, flush=True)


class Detector:
    """Checks responses against their sources; models are loaded once, when first needed.

    extractor    a name (see `claims.extractors`) or an object; default: what `config` says
    verifier     a name (see `verification.verifiers`) or an object; default: what `config` says
    config       the options, as in `Configuration`; default: `Configuration()`
    calibration  replaces the one that the verifier brings
    notice       gets one-line messages for a person; default: standard error
    progress     gets the phase, how much of it is done, and of how much
    options      fields of `Configuration` that override those of `config`
    """

    def __init__(
        self,
        extractor: str | Extractor | None = None,
        verifier: str | Verifier | None = None,
        *,
        config: Configuration | None = None,
        calibration: Calibration | None = None,
        notice: Notice = say,
        progress: Progress | None = None,
        **options: Unpack[Settings],
    ) -> None:
        given = (config or Configuration()).replaced(**options)
        self._extractor = given.extractor if extractor is None else extractor
        self._verifier = given.verifier if verifier is None else verifier
        self.configuration = given.replaced(
            extractor=_name(self._extractor),
            verifier=None if self._verifier is None else _name(self._verifier),
        )
        self._calibration = calibration
        self._notice = notice
        self._progress = progress

    @classmethod
    def paper(
        cls,
        extractor: str | Extractor | None = None,
        verifier: str | Verifier | None = None,
        *,
        notice: Notice = say,
        progress: Progress | None = None,
        **options: Unpack[Settings],
    ) -> Detector:
        """A detector with the paper's settings (`Configuration.paper`).

        The arguments are those of `Detector`. An option that the paper fixes is refused.
        """
        config = Configuration.paper(**options)
        return cls(extractor, verifier, config=config, notice=notice, progress=progress)

    @classmethod
    def from_provenance(
        cls,
        report: Report,
        *,
        extractor: Extractor | None = None,
        verifier: Verifier | None = None,
        notice: Notice = say,
        progress: Progress | None = None,
    ) -> Detector:
        """The detector that made a report; an error if its models cannot be had any more.

        Objects that the caller had passed in are needed again, everything else is rebuilt.
        """
        recorded = report.provenance
        config = Configuration.from_dict(recorded.configuration)
        for role, name, given in (
            ("extractor", config.extractor, extractor),
            ("verifier", config.verifier, verifier),
        ):
            if given is None and name is not None and name.startswith(_OBJECT):
                kind = name.removeprefix(_OBJECT)
                raise ConfigurationError(f"the report was made with a {kind}: pass it as {role}")
        used: str | Extractor | None = extractor
        if used is None and config.extractor == "auto" and recorded.extractor:
            used = recorded.extractor["name"]
        calibration = recorded.verifier.get("calibration")
        detector = cls(
            used,
            verifier,
            config=config,
            calibration=None if calibration is None else Calibration.from_mapping(calibration),
            notice=notice,
            progress=progress,
        )
        detector.configuration = config
        if recorded.extractor:
            _same_model("extractor", recorded.extractor, detector.extractor.description)
        if recorded.verifier:
            _same_model("verifier", recorded.verifier, detector.verifier.description)
        return detector

    @cached_property
    def extractor(self) -> Extractor:
        """The extractor, loaded on first use."""
        given = self._extractor
        if not isinstance(given, str):
            return given
        from halldetect.claims.extractors import load_extractor

        options, progress = self.configuration, self._progress

        def advance(done: int, of: int | None, what: str) -> None:
            if progress is not None and of:
                progress("fetch", done, of)

        return load_extractor(
            given,
            threads=options.threads,
            seed=options.seed,
            notice=self._notice,
            progress=None if progress is None else advance,
        )

    @cached_property
    def verifier(self) -> Verifier:
        """The verifier, loaded on first use."""
        given = self._verifier
        if not (given is None or isinstance(given, str)):
            return given
        from halldetect.verification.verifiers import load_verifier

        return load_verifier(given, threads=self.configuration.threads)

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration given, else the one that the verifier brings."""
        if self._calibration is not None:
            return self._calibration
        return Calibration.from_mapping(self.verifier.description.get("calibration") or {})

    def check(self, source: Source, response: str, *, question: str | None = None) -> Report:
        """Check one response. Raises InputError for what is not text, ModelError without models."""
        return self._run([Case(take_in(Pair(source, response, question)))])[0]

    def check_many(
        self, pairs: Iterable[AnyPair], *, observe: Observe | None = None
    ) -> list[Report]:
        """Check many responses, batching across them; each report is what `check` would give.

        A pair that is not made of texts gets an uncheckable report instead of an InputError.
        `observe` is told of claims extracted and claims settled while the check goes on.
        """
        if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
            kind = type(pairs).__name__
            raise InputError(f"check_many takes pairs of source and response, not {kind}")
        reports: list[Report] = []
        remaining = iter(pairs)
        while block := list(islice(remaining, BLOCK)):
            cases = [Case.of(item, place) for place, item in enumerate(block, len(reports))]
            reports.extend(self._run(cases, observe))
        return reports

    def begin(self, pairs: Iterable[AnyPair]) -> list[Case]:
        """The first half of `check_many`: the claims of each pair. `finish` does the rest.

        One thread may begin some pairs while another finishes others.
        """
        cases = [Case.of(item, place) for place, item in enumerate(pairs)]
        self._begin(cases)
        return cases

    def _run(self, cases: list[Case], observe: Observe | None = None) -> list[Report]:
        self._begin(cases, observe)
        return self.finish(cases, observe)

    def _begin(self, cases: list[Case], observe: Observe | None = None) -> None:
        options = self.configuration
        steps.refuse_sizes(cases, options.max_source, options.max_response)
        if todo := steps.unfinished(cases):
            steps.refuse_languages(todo, self.verifier)
        if todo := steps.unfinished(cases):
            steps.extract(todo, self.extractor, options.guard, self._progress, observe)

    def finish(self, cases: list[Case], observe: Observe | None = None) -> list[Report]:
        """The reports of cases that were begun."""
        options = self.configuration
        if todo := steps.unfinished(cases):
            steps.chunk(todo, options.granularities)
            rule = steps.planning(options, self.calibration)
            settled = steps.settling(observe, options, self.calibration)
            steps.judge(todo, self.verifier, options.truncate, rule, self._progress, settled)
        return [steps.conclude(case, options, lambda: self.calibration) for case in cases]


@cache
def _default() -> Detector:
    return Detector()


def check(source: Source, response: str, *, question: str | None = None) -> Report:
    """Check one response against its source with the default detector."""
    return _default().check(source, response, question=question)


def _name(given: object) -> str:
    return given if isinstance(given, str) else f"{_OBJECT}{type(given).__name__}"


def _same_model(role: str, recorded: dict[str, Any], found: dict[str, Any]) -> None:
    for key, value in recorded.items():
        if "digest" in key and found.get(key) != value:
            raise ModelError(
                f"the report was made with another {role}: its {key} was {value}, "
                f"here it is {found.get(key)}"
            )
