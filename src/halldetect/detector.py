"""The detector: options, loaded models, and the methods to check texts."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Unpack

from halldetect import pipeline
from halldetect.agents import conversation
from halldetect.agents.conversation import ConversationReport
from halldetect.calls import BLOCK, Calls
from halldetect.config import Configuration, Settings
from halldetect.errors import ConfigurationError, InputError
from halldetect.inputs import (
    AnyPair,
    Conversation,
    LastTurn,
    Pair,
    Source,
    clean_pair,
    read_arguments,
    read_pairs,
)
from halldetect.knowledge.passages import Knowledge
from halldetect.models.loading import Loader, Models, Notice, read_threshold, require_same_model
from halldetect.protocols import Event, Extractor, Observe, Progress, Rule, Verifier
from halldetect.reading.claims import Claim
from halldetect.reading.reader import Refused, clean
from halldetect.report import ClaimReport, Report
from halldetect.scoring import Calibration, uncheckable
from halldetect.verification.presets import CASCADE, LARGE, check_verifier_name

if TYPE_CHECKING:
    from halldetect.repair.outcome import Repair
    from halldetect.stream import StreamGuard

# Rounds of a repair; then every failing claim is removed.
MAX_ROUNDS = 3
_OBJECT = "object:"


def print_notice(line: str) -> None:
    """Print a notice on standard error; the default for `notice`."""
    print(f"halldetect: {line}", file=sys.stderr, flush=True)


class Detector(Calls):
    """Checks responses against their sources. Models are loaded once, on first use.

    Args:
        verifier: A name (see `verification.presets`) or an object; default: as `config` says.
        knowledge: An index (path, URL or object) that further evidence is retrieved from.
        config: The options; default: `Configuration()`.
        calibration: Replaces the calibration of the verifier.
        extractor: For the paper's method: a name (see `paper.extractors`) or an object.
        rules: Own rules for wrong words (docs/extending.md).
        notice: Receives one-line messages for the user; default: standard error.
        progress: Receives the phase, the amount done and the total.
        options: Fields of `Configuration` that override those of `config`.
    """

    def __init__(
        self,
        verifier: str | Verifier | None = None,
        *,
        knowledge: str | Path | Knowledge | None = None,
        config: Configuration | None = None,
        calibration: Calibration | None = None,
        extractor: str | Extractor | None = None,
        rules: Sequence[Rule] = (),
        notice: Notice = print_notice,
        progress: Progress | None = None,
        **options: Unpack[Settings],
    ) -> None:
        given = (config or Configuration()).replaced(**options)
        used = given.verifier if verifier is None else verifier
        if isinstance(used, str):
            check_verifier_name(used)
        self._extractor = given.extractor if extractor is None else extractor
        self.configuration = given.replaced(
            verifier=None if used is None else _name(used),
            knowledge=given.knowledge if knowledge is None else _name(knowledge),
            extractor=None if self._extractor is None else _name(self._extractor),
        )
        index = None if isinstance(knowledge, (str, Path)) else knowledge
        self._loader = Loader(
            self.configuration, used, index, calibration, notice, progress, tuple(rules)
        )
        self._models: Models | None = None
        self._lock = RLock()
        super().__init__()

    @classmethod
    def paper(
        cls,
        extractor: str | Extractor | None = None,
        verifier: str | Verifier | None = None,
        *,
        notice: Notice = print_notice,
        **options: Unpack[Settings],
    ) -> Detector:
        """Return a detector with the method and models of the paper; arguments as in `Detector`."""
        named = None if verifier is None else _name(verifier)
        config = Configuration.for_paper(verifier=named, **options)
        return cls(verifier, extractor=extractor, config=config, notice=notice)

    @classmethod
    def from_provenance(
        cls,
        report: Report,
        *,
        verifier: Verifier | None = None,
        knowledge: Knowledge | None = None,
        extractor: Extractor | None = None,
    ) -> Detector:
        """Return the detector that made a report.

        Pass the same objects again; everything else is rebuilt. Raises ModelError if a model is no
        longer available or has changed.
        """
        recorded = report.provenance
        config = Configuration.from_dict(recorded.configuration)
        objects: dict[str, Any] = {
            "verifier": verifier, "knowledge": knowledge, "extractor": extractor
        }  # fmt: skip
        for role, given in objects.items():
            name = getattr(config, role) or ""
            if given is None and name.startswith(_OBJECT):
                kind = name.removeprefix(_OBJECT)
                raise ConfigurationError(f"the report was made with a {kind}: pass it as {role}")
        known = None if config.verifier == CASCADE else recorded.verifier.get("calibration")
        calibration = None if known is None else Calibration.from_mapping(known)
        detector = cls(config=config, calibration=calibration, **objects)
        detector.configuration = config
        if recorded.extractor and (writer := detector.models.extractor):
            require_same_model("extractor", recorded.extractor, writer.description)
        if recorded.verifier:
            is_large = recorded.verifier.get("name") == LARGE
            used = (is_large and detector.models.second) or detector.models
            require_same_model("verifier", recorded.verifier, used.verifier.description)
        return detector

    @property
    def models(self) -> Models:
        """Return the models, loaded on first use."""
        with self._lock:
            if self._models is None:
                paper = self.configuration.paper
                self._models = self._loader.load(self._load_extractor() if paper else None)
            return self._models

    def _load_extractor(self) -> Extractor:
        from halldetect.paper.extractors import load_extractor

        if self._extractor is None:
            raise ConfigurationError("the paper's method needs an extractor")
        if not isinstance(self._extractor, str):
            return self._extractor
        config, progress = self.configuration, self._loader.announced("fetch")
        return load_extractor(
            self._extractor, threads=config.threads, seed=config.seed, progress=progress
        )

    @property
    def verifier(self) -> Verifier:
        """Return the verifier, loaded on first use."""
        return self.models.verifier

    def sharing(self, configuration: Configuration) -> Detector:
        """Return a detector with other options that shares index and extractor."""
        models, made = self.models, self._loader
        other = Detector(
            knowledge=models.knowledge, config=configuration, calibration=made.calibration,
            extractor=models.extractor, rules=made.rules, notice=made.notice,
            progress=made.progress,
        )  # fmt: skip
        other.configuration = configuration  # with the names of index and extractor
        return other

    def description(self) -> dict[str, Any]:
        """Return everything besides the texts that reports depend on; loads the models."""
        return {"configuration": self.configuration.to_dict(), **self.models.description()}

    def check(
        self,
        source: Source,
        response: str | None = None,
        *,
        question: str | None = None,
        threshold: float | str | None = None,
        missing: bool = False,
        words: bool = False,
    ) -> Report:
        """Check one response.

        Args:
            source: The text, or several documents, that the response should be faithful to; or,
                alone, a record with `source`, `response` and perhaps `question`.
            response: The text to check.
            question: The question that the response answers; a short answer is judged with it.
            threshold: Replaces the threshold of the configuration for this response.
            missing: Fill `report.missing` with what the response leaves unanswered.
            words: Ask the verifier for the wrong words of failing claims where no rule finds them.

        Raises InputError for anything that is not text, ModelError if a model cannot be loaded.
        """
        pair = read_arguments(source, response, question)
        pair = replace(pair, missing=missing, words=words)
        clean_pair(pair)  # raises the error
        (report,) = self.check_many([pair])
        if threshold is None:
            return report
        judge = self.models.that_judged(report).verifier
        value, notes = read_threshold(threshold, judge.description)
        return report.rethreshold(value).noting(*notes)

    def _blocks(
        self, pairs: Iterable[AnyPair], observe: Observe | None, size: int
    ) -> Iterator[list[Report]]:
        """Yield the reports of one block after another, as many as `size`, then twice as many."""
        remaining, count = read_pairs(pairs), 0
        while block := list(islice(remaining, size)):
            indexed = enumerate(block, count)
            rest = {at: item for at, item in indexed if not isinstance(item, Conversation)}
            tell = None if observe is None else partial(_renumbered, observe, [*rest])
            made = iter(self._reports([*rest.values()], observe=tell))
            checked = [
                self._merged(item) if isinstance(item, Conversation) else next(made)
                for item in block
            ]
            progress = self._loader.progress
            advance = None if progress is None else partial(progress, "facts")
            yield pipeline.extend(block, checked, self.configuration, lambda: self.models, advance)
            count, size = count + len(block), min(2 * size, BLOCK)

    def check_conversation(
        self, messages: object, *, documents: Source | None = None, start: int = 0
    ) -> ConversationReport:
        """Check the assistant's turns of a conversation, each against all that came before.

        Args:
            messages: Messages of OpenAI or Anthropic, or with role and content.
            documents: Retrieved documents, a source of every turn.
            start: The index of the first message to check.

        Raises InputError for a malformed message.
        """
        return self._check_turns(conversation.read_turns(messages, documents, start))

    def _check_turns(self, turns: Sequence[conversation.Turn]) -> ConversationReport:
        self._refuse_paper("a conversation")
        pairs = [turn.pair for turn in turns]
        reports = self._reports(pairs, amend=lambda at, read: conversation.amend(turns[at], read))
        unread = turns[-1].before.unread if turns else ()
        return ConversationReport(tuple(map(conversation.settle, turns, reports)), tuple(unread))

    def _merged(self, item: Conversation) -> Report:
        """Return one report of all turns; an error becomes the reason of an uncheckable one."""
        try:
            messages, last = json.loads(item.response), isinstance(item, LastTurn)
            place = len(messages) - 1 if last else 0, item.judge_from
            found = self._check_turns(conversation.read_turns(messages, item.source, *place))
            return found.turns[0].report if last else found.merged()
        except (ValueError, RecursionError, InputError) as error:
            pair = clean(item)
            pair = pair.pair if isinstance(pair, Refused) else pair
            return self._reports([Refused(pair, f"not a conversation: {error}")])[0]

    def judge(self, items: Sequence[tuple[Source, Sequence[str]]]) -> list[list[ClaimReport]]:
        """Judge the statements about each source, without a response; each is one claim."""
        pairs, statements = [], []
        for source, texts in items:
            said = [clean_pair(Pair("", text)).response for text in texts]
            pairs.append(Pair(source, "\n".join(said)))
            clean_pair(pairs[-1])  # raises the error
            claims = (Claim(text, None, "judged without a response") for text in said)
            statements.append(tuple(claims))
        reports = pipeline.check(
            pairs, self.configuration, lambda: self.models, statements=statements
        )
        return [
            list(report.claims) or [uncheckable(claim, report.reason or "") for claim in claims]
            for claims, report in zip(statements, reports, strict=True)
        ]

    def repair(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        max_rounds: int = MAX_ROUNDS,
    ) -> Repair:
        """Replace, shorten or remove unsupported claims, and check the result.

        Source, response, question and errors are those of `check`.

        Args:
            max_rounds: Rounds of changes; then every failing claim is removed.
        """
        from halldetect.repair.repairer import RememberingVerifier, Repairer

        self._refuse_paper("a repair")
        # The rounds of a repair repeat many pairs.
        detector = copy(self)
        models, second = self.models, self.models.second
        if second is not None:
            second = replace(second, verifier=RememberingVerifier(second.verifier))
        remembering = RememberingVerifier(models.verifier)
        detector._models = replace(models, verifier=remembering, second=second)
        repairer = Repairer(detector, max_rounds=max_rounds)
        return repairer.repair(Pair(source, response, question))

    def stream(
        self, source: Source, *, on_failure: str = "hold", question: str | None = None
    ) -> StreamGuard:
        """Guard a response while it is written; judge each sentence once it is complete.

        Source and question are those of `check`.

        Args:
            on_failure: The action for a sentence that is not supported: "pass", "hold" (leave it
                out), "repair" or "stop"; see `stream.guard.ON_FAILURE`.
        """
        from halldetect.stream import StreamGuard

        self._refuse_paper("a stream")
        return StreamGuard(self.check_many, self.repair, source, on_failure, question)

    def _refuse_paper(self, what: str) -> None:
        if self.configuration.paper:
            raise ConfigurationError(
                f"{what} needs every sentence judged, which the paper's method does not do"
            )

    def _reports(
        self,
        items: Sequence[AnyPair | Refused],
        *,
        amend: pipeline.Amend | None = None,
        observe: Observe | None = None,
    ) -> list[Report]:
        """Return the reports of pairs; load the models if any pair needs them."""
        if any(isinstance(item, Pair) and item.judge_from for item in items):
            self._refuse_paper("a part of a response")
        config, progress = self.configuration, self._loader.progress
        if not config.paper:
            return pipeline.check(
                items, config, lambda: self.models, amend=amend, progress=progress, observe=observe
            )
        from halldetect.paper.method import check

        pairs = [pipeline.begin(item, config) for item in items]
        refused = all(isinstance(pair, Refused) for pair in pairs)
        models = None if refused else self.models
        return [check(pair, config, models, progress, observe, at) for at, pair in enumerate(pairs)]


def _renumbered(observe: Observe, numbers: Sequence[int], event: Event) -> None:
    """Pass on an event with the number of its pair in the call."""
    observe(replace(event, pair=numbers[event.pair]))


@cache
def default_detector() -> Detector:
    """Return the detector of `halldetect.check`: all defaults, created once."""
    return Detector()


def check(source: Source, response: str | None = None, *, question: str | None = None) -> Report:
    """Check one response against its source with the default detector."""
    return default_detector().check(source, response, question=question)


async def acheck(
    source: Source, response: str | None = None, *, question: str | None = None
) -> Report:
    """Check one response with the default detector, without blocking the event loop."""
    return await default_detector().acheck(source, response, question=question)


def check_conversation(messages: object, *, documents: Source | None = None) -> ConversationReport:
    """Check the assistant's turns of a conversation with the default detector."""
    return default_detector().check_conversation(messages, documents=documents)


def _name(given: object) -> str:
    return str(given) if isinstance(given, (str, Path)) else f"{_OBJECT}{type(given).__name__}"
