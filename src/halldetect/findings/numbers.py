"""Compare the numbers of claims with those of the source.

A number is known if the source or the question has it, or if it follows from the source by one
step. An unknown number halves the support of a claim, unless the source is prose and the verifier
is sure of the claim. A claim with computed or converted numbers that is not supported is judged
again with the numbers of the source; because verifiers cannot compute, its support then rises a
quarter of the way to 1.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from halldetect.explanation.explain import Findings
from halldetect.facts.derivation import derived
from halldetect.facts.quantities import (
    CURRENCIES,
    Quantity,
    equal,
    occurs,
    read_quantities,
    words_of,
)
from halldetect.findings.wrong_words import lowered
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.structured import read_records
from halldetect.report import ClaimReport, ErrorKind, Status, WrongWords, rounded
from halldetect.scoring import Calibration, score_claim
from halldetect.verification.judging import Judgement
from halldetect.verification.planning import Task

# A claim whose numbers follow must have this support without them.
WITHOUT_NUMBERS = 0.8
# Sentences of the source whose numbers are combined.
_NEAREST = 4
_SHORT = 1500
_EARLIER = 8
# These are seldom facts: "one of the two", "3 reasons".
_TRIVIAL = (1.0, 2.0, 3.0)
_LABEL = re.compile(
    r"(?:steps?|passages?|lines?|sections?|chapters?|pages?|figures?|tables?|versions?|forms?|no\.?"
    r"|documents?|items?|notes?|rule|option|#"
    r"|(?:child|boy|girl|person|adult|somebody|someone|anyone|anybody) of)\s*$",
    re.IGNORECASE,
)
_COUNTED_PARTS = frozenset("step point word item reason".split())
_COUNTABLE = frozenset(("count", "time", "times"))
_DATES = frozenset(("year", "month", "day", "day of year", "clock"))
_VAGUE = {"time": "some time", "length": "some distance", "share": "a part", "count": "some"}


def check_numbers(
    findings: Sequence[Findings],
    answer: Callable[..., list[list[Judgement]]],
    calibration: Calibration,
    progress: Callable[[int, int], None] | None = None,
) -> list[Findings]:
    """Compare the numbers of all claims; the arguments are those of `check_facts`."""
    results = []
    for item in findings:
        source = _Source(item)
        reports = list(item.reports)
        compared = {}
        for at, report in enumerate(reports):
            if report.support is not None:
                compared[at] = _compare(report, source)
                if not (compared[at].unknown or report.failing):
                    source.said += read_quantities(report.text)
        fitted = calibration.for_response(item.length)
        wanted = [
            (at, statement)
            for at, numbers in compared.items()
            if reports[at].status is not Status.SUPPORTED and not numbers.unknown
            for statement in numbers.versions
        ]
        task = Task(tuple(text for _, text in wanted), item.documents, item.names)
        judged = answer([task], progress=progress)[0] if wanted else []
        for (at, statement), found in zip(wanted, judged, strict=True):
            scored = score_claim(item.claims[at], found, fitted)
            support = scored.support or 0.0
            if statement != compared[at].versions[0] and support <= WITHOUT_NUMBERS:
                continue
            raised = rounded(support + (1.0 - support) / 4)
            if raised > max(fitted.unclear_above, reports[at].support or 0.0):
                status = fitted.status(raised, scored.contradiction or 0.0)
                reports[at] = replace(scored, support=raised, status=status)
        for at, numbers in compared.items():
            reports[at] = _concluded(reports[at], numbers, source, fitted)
        answers = [(text, found) for (_, text), found in zip(wanted, judged, strict=True)]
        results.append(item.adding(reports, answers))
    return results


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The numbers of a claim that the source lacks, the steps to others, and other versions."""

    unknown: tuple[Quantity, ...] = ()
    steps: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


class _Source:
    """The documents and the question of a response, read when a number needs it."""

    def __init__(self, item: Findings) -> None:
        self.item = item
        # The numbers of earlier claims: "so the total is 254 euros".
        self.said: list[Quantity] = []

    @cached_property
    def words(self) -> frozenset[str]:
        """The words and numbers of all texts."""
        texts = [document.text for document in self.item.documents]
        return words_of("\n".join([*texts, self.item.question]))

    @cached_property
    def sentences(self) -> list[tuple[str, frozenset[str], list[Quantity]]]:
        """The sentences that have numbers or lists, with their content words and numbers."""
        return [
            (text, content_keys(text), read_quantities(text))
            for document in self.item.documents
            for span in document.sentences
            if (text := document.readable(span))
        ]

    @cached_property
    def quantities(self) -> list[Quantity]:
        """All quantities of the source."""
        return [quantity for _, _, found in self.sentences for quantity in found]

    @cached_property
    def short(self) -> str:
        """The source if it is short, for lists that run over several sentences."""
        texts = [document.text for document in self.item.documents]
        return texts[0] if len(texts) == 1 and len(texts[0]) <= _SHORT else ""

    @cached_property
    def is_record(self) -> bool:
        """True if every document is a record or table."""
        documents = self.item.documents
        return all(read_records(document.text) is not None for document in documents)

    def nearest(self, claim: str) -> list[tuple[str, list[Quantity]]]:
        """Return the sentences that share most words with a claim, and their numbers."""
        keys = content_keys(claim)
        ranked = sorted(self.sentences, key=lambda entry: -shared_part(keys, entry[1]))
        return [(text, found) for text, _, found in ranked[:_NEAREST]]


def said_quantities(claim: str) -> list[Quantity]:
    """Return the quantities of a claim that can be right or wrong, one for each place."""
    found: dict[int, Quantity] = {}
    for quantity in read_quantities(claim):
        found.setdefault(quantity.start, quantity)
    return [
        quantity
        for quantity in found.values()
        if not (quantity.kind in _COUNTABLE and quantity.value / quantity.factor in _TRIVIAL)
        and not (quantity.kind == "share" and quantity.text.lower() in ("half", "a half"))
        and not (quantity.noun in _COUNTED_PARTS or _LABEL.search(claim[: quantity.start]))
    ]


def _compare(report: ClaimReport, source: _Source) -> _Numbers:
    claim = report.text
    unknown, steps = [], []
    plain = vague = claim
    for said in reversed(said_quantities(claim)):
        written = occurs(said, source.words)
        if written and report.status is Status.SUPPORTED:
            continue
        expression = _expression(said, claim, source)
        if expression is None:
            if not written:
                unknown.append(said)
        elif expression != said.text:
            steps.append(f"{said.shown()} = {' '.join(expression.split())}")
            plain = plain[: said.start] + expression + plain[said.end :]
            if said.kind not in _DATES:
                word = _VAGUE.get(said.kind, "some amount")
                vague = vague[: said.start] + word + vague[said.end :]
    versions = [text for text in dict.fromkeys((plain, vague)) if text != claim]
    return _Numbers(tuple(reversed(unknown)), tuple(reversed(steps)), tuple(versions))


def _expression(said: Quantity, claim: str, source: _Source) -> str | None:
    """Return a quantity in the words of the source: the equal one, or the step that gives it."""
    same = [known for known in source.quantities if equal(said, known)]
    for known in same:
        if known.kind == said.kind or {known.kind, said.kind} <= CURRENCIES:
            return known.text if known.text.lower() != said.text.lower() else said.text
    near = source.nearest(claim)
    others = [
        replace(other, claimed=True)
        for other in read_quantities(claim)
        if other.start != said.start
        and ((other.kind == "count" and other.value in _TRIVIAL) or occurs(other, source.words))
    ]
    # Bare numbers of several sentences are combined only if they count the same thing.
    shared = [
        quantity
        for _, found in near
        for quantity in found
        if quantity.kind != "count"
        or said.kind in ("share", "times")
        or quantity.noun in ("", said.noun)
    ]
    pools = [*(([text], found) for text, found in near), ([source.short], shared)]
    for texts, numbers in [*pools, ([], [*source.said[-_EARLIER:], *near[0][1]])] if near else []:
        step = derived(said, claim, [*others, *numbers], texts)
        if step is not None:
            return step.partition(" = ")[2]
    return said.text if same else None


def _concluded(
    report: ClaimReport, numbers: _Numbers, source: _Source, calibration: Calibration
) -> ClaimReport:
    """Return the report with the steps, or with less support for an unknown number."""
    if not numbers.unknown:
        return replace(report, derived=numbers.steps) if not report.failing else report
    # Dates are often relative in prose: "next Friday".
    wrong = tuple(
        WrongWords(_kind(said), said.text)
        for said in numbers.unknown
        if report.failing or said.kind not in _DATES or source.is_record
    )
    return lowered(report, wrong, source.item.response, calibration, certain=source.is_record)


def _kind(said: Quantity) -> ErrorKind:
    return ErrorKind.DATE if said.kind in _DATES else ErrorKind.NUMBER
