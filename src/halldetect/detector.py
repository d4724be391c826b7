"""The detector: its options, its models, and the way in."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import cache, cached_property, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from halldetect import pipeline
from halldetect.config import Configuration, Settings
from halldetect.errors import CheckError, ConfigurationError, InputError, ModelError
from halldetect.inputs import Pair, Source, clean_pair
from halldetect.knowledge.passages import Knowledge
from halldetect.pair_state import AnyPair, Observe, PairState, Progress
from halldetect.protocols import Extractor, Verifier
from halldetect.report import ClaimReport, Report
from halldetect.scoring import Calibration, threshold_value
from halldetect.verification.presets import CASCADE, LARGE

if TYPE_CHECKING:
    from halldetect.repair.outcome import Repair
    from halldetect.repair.rewriters import Rewriter
    from halldetect.stream.guard import StreamGuard

Notice = Callable[[str], None]

# So many pairs are worked on together: enough to fill batches, few enough to hold in memory.
BLOCK = 64
# After so many rounds of a repair, what the source does not support is removed.
MAX_ROUNDS = 3
_OBJECT = "object:"


def print_notice(line: str) -> None:
    """Print a notice on standard error; the default for `notice`."""
    print(f"halldetect: {line}", file=sys.stderr, flush=True)


class Detector:
    """Checks responses against their sources; models are loaded once, when first needed.

    Args:
        extractor: a name (see `claims.extractors`) or an object; default: what `config` says.
        verifier: a name (see `verification.verifiers`) or an object; default: what `config` says.
        knowledge: what evidence for each claim is retrieved from, besides the source given: the
            path or URL of an index (see `knowledge.builder`) or an object; default: what `config`
            says.
        config: the options, as in `Configuration`; default: `Configuration()`.
        calibration: replaces the one that the verifier brings.
        notice: gets one-line messages for a person; default: standard error.
        progress: gets the phase, how much of it is done, and of how much.
        options: fields of `Configuration` that override those of `config`.
    """

    def __init__(
        self,
        extractor: str | Extractor | None = None,
        verifier: str | Verifier | None = None,
        *,
        knowledge: str | Path | Knowledge | None = None,
        config: Configuration | None = None,
        calibration: Calibration | None = None,
        notice: Notice = print_notice,
        progress: Progress | None = None,
        **options: Unpack[Settings],
    ) -> None:
        given = (config or Configuration()).replaced(**options)
        self._extractor = given.extractor if extractor is None else extractor
        self._verifier = given.verifier if verifier is None else verifier
        self.configuration = given.replaced(
            extractor=_name(self._extractor),
            verifier=None if self._verifier is None else _name(self._verifier),
            knowledge=given.knowledge if knowledge is None else _name(knowledge),
        )
        self._knowledge = None if isinstance(knowledge, (str, Path)) else knowledge
        self._calibration = calibration
        self._notice = notice
        self._progress = progress
        self.rewriters: dict[str, Rewriter] = {}
        self.notes: tuple[str, ...] = ()

    @classmethod
    def paper(
        cls,
        extractor: str | Extractor | None = None,
        verifier: str | Verifier | None = None,
        *,
        notice: Notice = print_notice,
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
        knowledge: Knowledge | None = None,
        notice: Notice = print_notice,
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
            ("knowledge", config.knowledge, knowledge),
        ):
            if given is None and name is not None and name.startswith(_OBJECT):
                kind = name.removeprefix(_OBJECT)
                raise ConfigurationError(f"the report was made with a {kind}: pass it as {role}")
        used: str | Extractor | None = extractor
        if used is None and config.extractor == "auto" and recorded.extractor:
            used = recorded.extractor["name"]
        cascade = config.verifier == CASCADE
        calibration = None if cascade else recorded.verifier.get("calibration")
        detector = cls(
            used,
            verifier,
            knowledge=knowledge,
            config=config,
            calibration=None if calibration is None else Calibration.from_mapping(calibration),
            notice=notice,
            progress=progress,
        )
        detector.configuration = config
        if recorded.extractor:
            _same_model("extractor", recorded.extractor, detector.extractor.description)
        if recorded.verifier:
            used_verifier = detector.verifier
            if detector.second is not None and recorded.verifier.get("name") == LARGE:
                used_verifier = detector.second.verifier
            _same_model("verifier", recorded.verifier, used_verifier.description)
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

        options = self.configuration
        load = partial(
            load_verifier,
            threads=options.threads,
            device=options.device,
            notice=self._notice,
            progress=None if self._progress is None else partial(self._progress, "convert"),
        )
        try:
            if self.second is not None:
                _ = self.second.verifier  # so that it is missed now, not after some checks
                given = None
            return load(given)
        except CheckError as error:
            if options.fallback is None:
                raise
            self.second = None
            self.notes = (f"{options.fallback} judged instead of {given}: {error}",)
            self._notice(self.notes[0])
        return load(options.fallback)

    @cached_property
    def second(self) -> Detector | None:
        """Judges what the first verifier of the cascade is unsure of; None without a cascade."""
        if self._verifier != CASCADE:
            return None
        config = self.configuration.replaced(fallback=None)
        second = Detector(
            self._extractor, LARGE, config=config, notice=self._notice, progress=self._progress
        )
        second.configuration = self.configuration
        return second

    @cached_property
    def knowledge(self) -> Knowledge | None:
        """What evidence is retrieved from, opened on first use; None where nothing is."""
        if self._knowledge is not None or self.configuration.knowledge is None:
            return self._knowledge
        from halldetect.knowledge.builder import open_knowledge

        return open_knowledge(self.configuration.knowledge)

    @cached_property
    def calibration(self) -> Calibration:
        """The calibration given, else the one that the verifier brings."""
        if self._calibration is not None:
            return self._calibration
        return Calibration.from_mapping(self.verifier.description.get("calibration") or {})

    @cached_property
    def threshold(self) -> float:
        """The threshold as a number; that of an operating point is the verifier's."""
        given = self.configuration.threshold
        return (
            given if isinstance(given, float) else threshold_value(given, self.verifier.description)
        )

    def check(self, source: Source, response: str, *, question: str | None = None) -> Report:
        """Check one response.

        Args:
            source: the text, or several documents, that the response should be faithful to.
            response: the text to check.
            question: what the response answers; an answer that leans on it is judged with it.

        Raises:
            InputError: for what is not text, ModelError where a model cannot be loaded.
        """
        state = PairState(clean_pair(Pair(source, response, question)))
        pipeline.begin([state], self, self._progress)
        return pipeline.finish([state], self, self._progress)[0]

    def check_part(
        self, source: Source, response: str, start: int, *, question: str | None = None
    ) -> Report:
        """Check what a response says from a character on; what is before it is only read.

        Args:
            source: the text, or several documents, that the response should be faithful to.
            response: the text; its beginning tells what a pronoun in the part means.
            start: where the part to check begins.
            question: what the response answers; recorded in the report, not judged.
        """
        (state,) = self.begin([Pair(source, response, question)])
        if state.problem is None:
            state.keep_claims_from(start)
        return self.finish([state])[0]

    def check_many(
        self, pairs: Iterable[AnyPair], *, observe: Observe | None = None
    ) -> list[Report]:
        """Check many responses, batching across them; each report is what `check` would give.

        Args:
            pairs: `Pair`s, or tuples of source, response and perhaps question. One that does not
                consist of texts gets an uncheckable report instead of an InputError.
            observe: is called with the claims of each pair when they are extracted and with each
                claim when it is settled, while the check goes on; it changes no report.
        """
        if isinstance(pairs, (str, bytes)) or not isinstance(pairs, Iterable):
            kind = type(pairs).__name__
            raise InputError(f"check_many takes pairs of source and response, not {kind}")
        reports: list[Report] = []
        remaining = iter(pairs)
        while block := list(islice(remaining, BLOCK)):
            states = [PairState.of(item, index) for index, item in enumerate(block, len(reports))]
            pipeline.begin(states, self, self._progress, observe)
            reports.extend(pipeline.finish(states, self, self._progress, observe))
        return reports

    def judge(
        self,
        items: Sequence[tuple[Source, Sequence[str]]],
        *,
        granularities: Sequence[int] | None = None,
    ) -> list[list[ClaimReport]]:
        """Judge statements against sources as they are, without a response around them.

        Args:
            items: a source and the statements about it, each of which is one claim.
            granularities: into how many groups a source is cut; default: those of the
                configuration.
        """
        cleaned = []
        for source, claims in items:
            texts = [clean_pair(Pair("", claim)).response for claim in claims]
            cleaned.append((clean_pair(Pair(source, "\n".join(texts))), texts))
        scales = self.configuration.granularities if granularities is None else granularities
        return pipeline.judge_statements(cleaned, scales, self)

    def repair(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        rewriter: str | Rewriter | None = None,
        max_rounds: int = MAX_ROUNDS,
    ) -> Repair:
        """Replace, rewrite or remove what the source does not support, and check the result.

        Args:
            source: the text, or several documents, that the response should be faithful to.
            response: the text to repair.
            question: what the response answers; recorded in the reports, not judged.
            rewriter: a language model that may write sentences again: a name (see
                `repair.rewriters.load_rewriter`) or an object; None: no model is asked.
            max_rounds: after so many rounds of changes, what still fails is removed.

        Raises:
            InputError: for what is not text, ModelError where a model cannot be loaded.
        """
        from halldetect.repair.repairer import Repairer
        from halldetect.verification.remembering import RememberingVerifier

        if not self.configuration.guard:
            raise ConfigurationError(
                "a repair needs the guard: without it, claims of the response may go unchecked"
            )
        loaded = self._load_rewriter(rewriter) if isinstance(rewriter, str) else rewriter
        # The rounds of a repair ask about many pairs again.
        detector = copy(self)
        detector.verifier = RememberingVerifier(self.verifier)
        repairer = Repairer(detector, loaded, max_rounds=max_rounds, notice=self._notice)
        return repairer.repair(Pair(source, response, question))

    def stream(
        self,
        source: Source,
        *,
        on_failure: str = "hold",
        question: str | None = None,
        rewriter: str | Rewriter | None = None,
    ) -> StreamGuard:
        """Guard a response while it is written: each sentence is judged when it is complete.

        Args:
            source: the text, or several documents, that the response should be faithful to.
            on_failure: what to do with a sentence that is not supported: "pass", "hold" (leave it
                out), "repair" or "stop"; see `stream.guard.OnFailure`.
            question: what the response answers.
            rewriter: as for `repair`.
        """
        from halldetect.stream.guard import StreamGuard

        return StreamGuard(
            self, source, on_failure=on_failure, question=question, rewriter=rewriter
        )

    def _load_rewriter(self, name: str) -> Rewriter:
        """The rewriter of a name, loaded once."""
        if name not in self.rewriters:
            from halldetect.repair.rewriters import load_rewriter

            options = self.configuration
            self.rewriters[name] = load_rewriter(
                name, threads=options.threads, seed=options.seed, notice=self._notice
            )
        return self.rewriters[name]

    def begin(self, pairs: Iterable[AnyPair]) -> list[PairState]:
        """The first half of `check_many`: the claims of each pair. `finish` does the rest.

        One thread may begin some pairs while another finishes others.
        """
        states = [PairState.of(item, index) for index, item in enumerate(pairs)]
        pipeline.begin(states, self, self._progress)
        return states

    def finish(self, states: list[PairState]) -> list[Report]:
        """The reports of pairs that `begin` has returned."""
        return pipeline.finish(states, self, self._progress)


@cache
def default_detector() -> Detector:
    """The detector of `halldetect.check`: all defaults, made once."""
    return Detector()


def check(source: Source, response: str, *, question: str | None = None) -> Report:
    """Check one response against its source with the default detector."""
    return default_detector().check(source, response, question=question)


def _name(given: object) -> str:
    return str(given) if isinstance(given, (str, Path)) else f"{_OBJECT}{type(given).__name__}"


def _same_model(role: str, recorded: dict[str, Any], loaded: dict[str, Any]) -> None:
    for key, value in recorded.items():
        if "digest" in key and loaded.get(key) != value:
            raise ModelError(
                f"the report was made with another {role}: its {key} was {value}, "
                f"here it is {loaded.get(key)}"
            )
