"""What is wrong with a claim, and the one place where that lowers its support."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

from halldetect.reading.document import Span, place_of
from halldetect.reading.reader import Reading
from halldetect.report import ClaimReport, WrongWords, rounded
from halldetect.scoring import Calibration, Scored

# A claim with more support than this keeps it, unless a fault is certain.
_SURE = 0.975


@dataclass(frozen=True, slots=True)
class Fault:
    """Words of a claim that the source does not bear out.

    Attributes:
        kind: Mostly a value of `ErrorKind`.
        words: As in the claim. Without words there is only a doubt: the claim is at most unclear.
        span: Their place in the response, if the rule knows it.
        instead: What the source has in their place.
        certain: True if the verifier cannot outvote it.
        label: A name of the caller for the kind.
    """

    kind: str
    words: str
    span: Span | None = None
    instead: str = ""
    certain: bool = False
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Explained:
    """The claims of a response with faults, passages, errors, citations and disputes.

    `scored` has their support before the faults. `notes` has the steps that failed.
    """

    scored: Scored
    claims: tuple[ClaimReport, ...]
    notes: tuple[str, ...]


class FaultRule(Protocol):
    """Reads the texts of a response once, and then tells what is wrong with each claim."""

    def __init__(self, reading: Reading) -> None: ...

    def faults(self, claim: ClaimReport, at: int) -> Iterable[Fault]:
        """Return the faults of a judged claim; `at` is its place among the claims."""
        ...


def lower_support(
    claim: ClaimReport, faults: Iterable[Fault], response: str, calibration: Calibration
) -> ClaimReport:
    """Return a claim with the faults that a rule finds: its support is halved.

    If the verifier is sure, a fault counts only if it is certain or the claim fails anyway. A
    doubt without words leaves a claim unclear, if the calibration has such a state.
    """
    faults, support = list(faults), claim.support
    if not faults or support is None:
        return claim
    if not any(fault.words for fault in faults):
        most = calibration.supported_above
        if claim.failing or not calibration.unclear_above < most < support:
            return claim
        return replace(claim, support=most, status=calibration.status(most, 0.0))
    if support > _SURE and not (claim.failing or any(fault.certain for fault in faults)):
        return claim
    words = (
        WrongWords(fault.kind, fault.words, fault.instead, fault.span, fault.label)
        for fault in faults
    )
    placed = (with_place(word, claim, response) for word in words)
    marked = replace(claim, wrong=(*claim.wrong, *placed))
    if claim.failing:
        return marked
    halved = rounded(support / 2)
    status = calibration.status(halved, claim.contradiction or 0.0)
    return replace(marked, support=halved, status=status)


def with_place(wrong: WrongWords, claim: ClaimReport, response: str) -> WrongWords:
    """Return wrong words of a claim with their place in the response."""
    place = claim.span and place_of(wrong.words, claim.span.cut(response))
    if not claim.span or not place:
        return wrong
    start = claim.span.start
    return replace(wrong, span=Span(start + place.start, start + place.end))
