"""The path of a check, the one file that knows the order of the rooms.

    Pair        as a caller passes it
     | inputs                   clean the texts
    CleanPair
     | reading, knowledge       refuse it or read it; search for evidence
    Reading     documents and claims
     | verification             ask the verifier about every claim
    Judged      answers by claim
     | scoring                  support and state of each claim
    Scored
     | faults                   why is it wrong: rules, passages, citations, disputes
    Explained
     | conclusion               score, verdict, cost
    Report

Every arrow takes a frozen value and returns the next one, for all pairs of a block together. A
problem makes the value `Refused`, and only its report is left to write. What the steps cost is kept
beside the path, in a `Ledger` for each pair. `python -m halldetect.pipeline` prints the built-in
example after each arrow.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from enum import StrEnum
from functools import partial
from time import perf_counter
from typing import Any, TypeVar

from halldetect.conclusion import conclude, quoting
from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.faults.citations import explain
from halldetect.faults.disputes import find_disputes, find_missing
from halldetect.faults.fault import Explained
from halldetect.faults.proofs import find_proofs, locate
from halldetect.faults.registry import check_facts
from halldetect.faults.wrong_words import find_words, mark_wrong_words
from halldetect.inputs import NOT_SEARCHED, VERIFIER_FAILED, AnyPair, CleanPair, Pair
from halldetect.knowledge.retrieval import mark_not_found, search
from halldetect.models.loading import Loader, Models
from halldetect.protocols import ClaimSettled, ClaimsExtracted, Observe, Progress
from halldetect.reading.claims import Claim
from halldetect.reading.reader import (
    Reading,
    Refused,
    clean,
    find_languages,
    keep_claims_from,
    read,
    refuse,
)
from halldetect.report import ClaimReport, Report
from halldetect.scoring import Scored, score, score_claim
from halldetect.verification.asking import Asking, Ledger
from halldetect.verification.cascade import is_unsure
from halldetect.verification.judged import Judged, judge
from halldetect.verification.judging import Advance, Judgement

NOT_EXAMINED = "wrong words and missing statements are looked for in English texts only"
Value = TypeVar("Value")
Result = TypeVar("Result")
# Values by the place of their pair in the call.
Places = Mapping[int, Value]
# Takes the values of some pairs and returns the next ones.
Step = Callable[[Sequence[Value], Asking], Sequence[Result]]
# The end of a path and the models that judged the pair.
End = tuple[Explained | Refused, Models | None]
# Characters of a text that `describe` returns.
_WIDTH = 60
# Changes what was read, by the place of the pair.
Amend = Callable[[int, Reading | Refused], Reading | Refused]


def check(
    items: Sequence[AnyPair | Refused],
    config: Configuration,
    load: Callable[[], Models],
    *,
    statements: Sequence[tuple[Claim, ...]] = (),
    amend: Amend | None = None,
    progress: Progress | None = None,
    observe: Observe | None = None,
    trace: Callable[[object], None] | None = None,
) -> list[Report]:
    """Return the report of each pair; all are judged together.

    Args:
        items: The pairs.
        config: The options.
        load: Returns the models; called if a pair needs them.
        statements: For each pair, claims to judge instead of those of its response.
        amend: Changes what was read of a pair before it is judged.
        progress: Receives phase, amount done and total.
        observe: Receives the events of claims; a pair is named by its place.
        trace: Receives the value of each pair after each arrow.
    """
    pairs = [begin(item, config) for item in items]
    named = isinstance(config.threshold, str)  # the verifier defines the number
    needed = named or any(isinstance(value, CleanPair) for value in pairs)
    models = load() if needed else None
    walk = Walk(models, [Ledger() for _ in items], progress, observe, trace)
    values: list[Reading | Refused] = []
    for at, (item, pair) in enumerate(zip(items, pairs, strict=True)):
        walk.trace(pair)
        value = pair if isinstance(pair, Refused) else walk.read(at, pair, *statements[at : at + 1])
        value = keep_claims_from(value, item.judge_from if isinstance(item, Pair) else 0)
        values.append(value if amend is None else amend(at, value))
        walk.trace(values[-1])
    readings = {at: value for at, value in enumerate(values) if isinstance(value, Reading)}
    refused = {at: (value, None) for at, value in enumerate(values) if isinstance(value, Refused)}
    ends: Places[End] = {**refused, **walk.follow(readings)}
    threshold = config.threshold if models is None else models.threshold
    assert isinstance(threshold, float)  # without models it cannot be an operating point
    reports = []
    for at, ledger in enumerate(walk.ledgers):
        end, used = ends[at]
        least = threshold if used is None else used.threshold
        reports.append(conclude(end, ledger, config, least, used))
        walk.trace(reports[-1])
        if observe is not None and at in readings:
            for number, claim in enumerate(reports[-1].claims):
                observe(ClaimSettled(at, number, claim))
    return reports


def extend(
    items: Sequence[AnyPair],
    reports: list[Report],
    config: Configuration,
    load: Callable[[], Models],
    advance: Advance | None = None,
) -> list[Report]:
    """Return reports with the wrong words and missing statements that their pairs ask for.

    The verifier that judged a response is asked, about all its responses at once.
    """
    wanted: dict[int, tuple[Pair, Models]] = {}
    for at, item in enumerate(items):
        if isinstance(item, Pair) and (item.words or item.missing):
            if reports[at].languages:
                reports[at] = reports[at].noting(NOT_EXAMINED)
            else:
                wanted[at] = item, load().that_judged(reports[at])
    for judging in {id(models): models for _, models in wanted.values()}.values():
        pairs = {at: pair for at, (pair, models) in wanted.items() if models is judging}
        words = [at in pairs and pairs[at].words for at in range(len(items))]
        missing = [at in pairs and pairs[at].missing for at in range(len(items))]
        if any(words) and not config.paper:
            calibration = judging.calibration
            reports = find_words(reports, judging.verifier, calibration, advance, words)
        if any(missing):
            reports = find_missing(reports, judging.verifier, advance, missing)
    return reports


def begin(item: AnyPair | Refused, config: Configuration) -> CleanPair | Refused:
    """Return a pair with clean texts, unless it is empty, too long or no pair."""
    pair = item if isinstance(item, Refused) else clean(item)
    if isinstance(pair, Refused):
        return pair
    return refuse(
        pair,
        max_source=config.max_source,
        max_response=config.max_response,
        searched=config.knowledge is not None,
    )


class Walk:
    """The way of some pairs from their clean texts to what the report is made of."""

    def __init__(
        self,
        models: Models | None,
        ledgers: Sequence[Ledger],
        progress: Progress | None = None,
        observe: Observe | None = None,
        trace: Callable[[object], None] | None = None,
    ) -> None:
        self._models, self.ledgers = models, ledgers
        self._progress, self._observe = progress, observe
        self.trace = trace or (lambda value: None)

    def read(
        self, at: int, pair: CleanPair, statements: tuple[Claim, ...] = ()
    ) -> Reading | Refused:
        """Read the texts of a pair, and search for evidence if there is an index."""
        assert self._models is not None  # a clean pair has made `check` load them
        readable, knowledge = self._models.languages, self._models.knowledge
        texts = find_languages(pair, readable)
        if isinstance(texts, Refused):
            return texts
        started = perf_counter()
        reading = read(*texts, readable, statements)
        self.ledgers[at].spend("read", perf_counter() - started)
        if isinstance(reading, Refused) or knowledge is None:
            return reading
        started = perf_counter()
        try:
            reading = search(reading, knowledge)
        except Exception as error:
            return reading.refuse(f"{NOT_SEARCHED}: {described(error)}")
        self.ledgers[at].spend("retrieve", perf_counter() - started)
        return reading

    def follow(self, readings: Places[Reading]) -> dict[int, End]:
        """Judge, score and explain what was read."""
        models = self._models
        if self._observe is not None:
            for at, reading in readings.items():
                self._observe(ClaimsExtracted(at, reading.claims))
        if models is None:
            return {}
        used = {at: models.judging(reading.spoken) for at, reading in readings.items()}
        values = self._judged(readings, used)
        if models.second is not None:
            name = models.verifier.description.get("name")
            note = f"{name} was unsure of a claim: the second verifier judged again"
            unsure = {
                at: replace(value.reading, pair=value.reading.pair.noting(note))
                for at, value in values.items()
                if isinstance(value, Scored)
                and used[at] is models
                and is_unsure([claim.support for claim in value.claims])
            }
            used.update(dict.fromkeys(unsure, models.second))
            values.update(self._judged(unsure, used))
        scored = {at: value for at, value in values.items() if isinstance(value, Scored)}
        ends: dict[int, Any] = {**values, **self._explained(scored, used)}
        return {at: (ends[at], used[at]) for at in readings}

    def _judged(
        self, readings: Places[Reading], used: Places[Models]
    ) -> dict[int, Scored | Refused]:
        """Return the scores of each pair; a failure of the verifier refuses it."""
        values: dict[int, Scored | Refused] = {}
        for models, group in _by_models(readings, used):
            placed = {at: (at, reading) for at, reading in group.items()}
            step = partial(self._judge, models=models)
            for at, scored in self._together("verify", step, placed).items():
                if isinstance(scored, Scored):
                    values[at] = scored
                else:
                    why = f"{VERIFIER_FAILED}: {described(scored)}"
                    values[at] = readings[at].refuse(why)
        return values

    def _judge(
        self, readings: Sequence[tuple[int, Reading]], asking: Asking, models: Models
    ) -> list[Scored]:
        """Take the two arrows from `Reading` to `Scored`."""
        calibration = models.calibration

        def claim_report(number: int, at: int, judgement: Judgement) -> ClaimReport:
            reading = readings[number][1]
            fitted = calibration.for_response(reading.length)
            return score_claim(reading.claims[at], judgement, fitted)

        def fails(number: int, at: int, judgement: Judgement) -> bool:
            return claim_report(number, at, judgement).failing

        def settled(number: int, at: int, judgement: Judgement) -> None:
            if self._observe is not None:
                place, reading = readings[number]
                report = quoting(claim_report(number, at, judgement), reading.pair.documents)
                self._observe(ClaimSettled(place, at, report))

        given = [reading for _, reading in readings]
        judged = judge(given, models.verifier, asking, calibration.is_enough, fails, settled)
        values = [score(one, calibration) for one in judged]
        for value in (*judged, *values):
            self.trace(value)
        return values

    def _explained(self, scored: Places[Scored], used: Places[Models]) -> dict[int, Explained]:
        """Find faults, short passages, citations and disputes; a failure of a step is a note."""
        explained = {}
        for models, group in _by_models(scored, used):
            items = {
                at: replace(item, claims=mark_not_found(item.claims, item.reading.claims))
                for at, item in group.items()
            }
            notes: dict[int, list[str]] = {at: [] for at in items}
            for phase, failure, find in (
                ("facts", "facts could not be compared", check_facts),
                (
                    "proof",
                    "no short passage could be looked for",
                    find_proofs if models.locator is None else locate,
                ),
                ("explain", "failing claims could not be explained", explain),
                ("facts", "wrong words could not be marked", mark_wrong_words),
                ("facts", "disputes could not be looked for", find_disputes),
            ):
                step = partial(find, models=models)
                for at, claims in self._together(phase, step, items).items():
                    if isinstance(claims, Exception):
                        notes[at].append(f"{failure}: {described(claims)}")
                    else:
                        items[at] = replace(items[at], claims=claims)
            for at, item in items.items():
                explained[at] = Explained(scored[at], item.claims, tuple(notes[at]))
                self.trace(explained[at])
        return explained

    def _together(
        self, phase: str, step: Step[Value, Result], values: Places[Value]
    ) -> dict[int, Result | Exception]:
        """Apply a step to all pairs together; after a failure, to each pair alone.

        The time is split by the tokens of the new answers.
        """
        advance = None if self._progress is None else partial(self._progress, phase)
        asking = Asking(len(values), advance)
        started = perf_counter()
        try:
            results = dict(zip(values, step([*values.values()], asking), strict=True))
        except Exception as error:
            if len(values) > 1:
                alone = [self._together(phase, step, {at: one}) for at, one in values.items()]
                return {at: result for one in alone for at, result in one.items()}
            return dict.fromkeys(values, error)
        tokens = [sum(one.judgement.tokens for one in own) for own in asking.answers]
        each = (perf_counter() - started) / (sum(tokens) or 1)
        for at, own, count in zip(values, asking.answers, tokens, strict=True):
            self.ledgers[at].spend(phase, each * count)
            self.ledgers[at].answers += own
        return {**results}


def _by_models(
    values: Places[Value], used: Places[Models]
) -> Iterator[tuple[Models, dict[int, Value]]]:
    """Yield the pairs that the same models judge, together."""
    for models in {id(used[at]): used[at] for at in values}.values():
        yield models, {at: value for at, value in values.items() if used[at] is models}


def describe(value: Any) -> str:
    """Return a value of the path, a line for each part; values before it only by their names."""
    lines = [type(value).__name__]
    for item in fields(value):
        parts = getattr(value, item.name)
        for part in parts if isinstance(parts, tuple) and parts else (parts,):
            before = isinstance(part, (CleanPair, Reading, Judged, Scored))
            lines.append(f"  {item.name:14} {_brief(part, 0 if before else 3)}")
    return "\n".join(lines)


def _brief(part: Any, levels: int) -> str:
    """Return a value in few words: the fields that say something, to some levels."""
    if isinstance(part, tuple):
        few = len(part) <= 2 or not is_dataclass(part[0])
        shown = [_brief(one, levels) for one in part] if few else [f"{len(part)} of them"]
        return f"[{', '.join(shown)}]"
    if not is_dataclass(part):
        text = str(part) if isinstance(part, (StrEnum, float)) else repr(part)
        return text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
    name = type(part).__name__
    if not levels:
        return name
    named = ((item, getattr(part, item.name)) for item in fields(part))
    said = [
        f"{item.name}={_brief(found, levels - 1)}"
        for item, found in named
        if found not in (None, (), item.default)
    ]
    return f"{name}({', '.join(said)})"


def main() -> None:
    """Print the built-in example after each arrow."""
    from halldetect.report.demo import QUESTION, RESPONSE, SOURCE

    config = Configuration()
    loader = Loader(config, config.verifier, None, None, print, None)
    pair = Pair(SOURCE, RESPONSE, QUESTION)
    shown: list[str] = []
    check([pair], config, loader.load, trace=lambda value: shown.append(describe(value)))
    with suppress(BrokenPipeError):  # a reader of the first lines only
        os.write(sys.stdout.fileno(), "".join(f"{text}\n\n" for text in shown).encode())


if __name__ == "__main__":
    main()
