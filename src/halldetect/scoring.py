"""Claim scores and response scores from the verifier's answers.

support(c)        greatest P(E) x (1 - w P(C)) over the windows, both of the same window,
                  then calibrated (logit, slope and offset)
contradiction(c)  greatest P(C) of the short windows and of the pages, averaged: a real
                  contradiction also holds in its context
response score    1 - the least support: a response is as good as its worst claim
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from halldetect.errors import ConfigurationError, ModelError
from halldetect.reading.claims import Claim
from halldetect.reading.reader import Reading
from halldetect.report import ClaimReport, Evidence, Probabilities, Status, rounded
from halldetect.verification.asking import Answer
from halldetect.verification.judged import Judged
from halldetect.verification.judging import Judgement
from halldetect.verification.windows import Window

# A passage settles a claim at this probability or above.
SETTLED_FROM = 0.5
# Named thresholds, fitted on development sets and stored with the weights: few missed
# hallucinations, balanced errors, few false alarms.
OPERATING_POINTS = ("recall", "balanced", "precision")
# Returns the probability that settles a claim.
Settling = Callable[[Probabilities], float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The parameters of the score. A verifier may bring its own.

    Attributes:
        contradiction_weight: The weight of a window's P(C) in the reduction of its P(E).
        slope: Platt scaling of the support, in log-odds; 1 changes nothing.
        offset: The offset of that scaling; 0 changes nothing.
        length: Times the natural logarithm of the number of claims in the response, added to the
            offset: the worst of many true claims has less support than a single one.
        supported_above: A claim is supported above this support.
        unclear_above: Otherwise it is unclear above this support; not below the default threshold,
            so that an unclear claim does not flag a response.
        contradicted_above: Otherwise it is contradicted above this contradiction, if that beats
            the support.
        enough: A window that gives at least this support needs no other window.
    """

    contradiction_weight: float = 1.0
    slope: float = 1.0
    offset: float = 0.0
    length: float = 0.0
    supported_above: float = 0.5
    unclear_above: float = 0.5
    contradicted_above: float = 0.5
    enough: float = 0.8

    def __post_init__(self) -> None:
        for name in {item.name for item in fields(self)} - {"slope", "offset"}:
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ModelError(f"calibration: {name} must lie between 0 and 1")
        if not (math.isfinite(self.slope) and self.slope > 0.0 and math.isfinite(self.offset)):
            raise ModelError("calibration: slope must be positive, slope and offset finite")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Calibration:
        """Return the calibration of a description; raise ModelError for a wrong parameter."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ModelError(f"calibration: unknown parameter {', '.join(unknown)}")
        try:
            return cls(**{name: float(value) for name, value in values.items()})
        except (TypeError, ValueError) as error:
            raise ModelError(f"calibration: {error}") from error

    def for_response(self, claims: int) -> Calibration:
        """Return the calibration for a response with this number of claims."""
        if not self.length:
            return self
        return replace(self, offset=self.offset + self.length * math.log(claims), length=0.0)

    def window_support(self, answer: Probabilities) -> float:
        """Return the support of one window for the claim."""
        raw = answer.entailment * (1.0 - self.contradiction_weight * contradiction_of(answer))
        return _platt(min(1.0, max(0.0, raw)), self.slope, self.offset)

    def is_enough(self, answer: Probabilities) -> bool:
        """Return True if one window settles that the claim is supported."""
        return rounded(self.window_support(_rounded(answer))) >= self.enough

    def contradiction(self, answered: Sequence[tuple[Window, Probabilities]]) -> float:
        """Return the contradiction between source and claim."""
        greatest: dict[bool, float] = {}
        for window, answer in answered:
            known = greatest.get(window.page, 0.0)
            greatest[window.page] = max(known, contradiction_of(answer))
        return math.fsum(greatest.values()) / len(greatest)

    def status(self, support: float, contradiction: float) -> Status:
        """Return the state of a claim. Support comes first: the score depends on it alone."""
        if support > self.supported_above:
            return Status.SUPPORTED
        if support > self.unclear_above:
            return Status.UNCLEAR
        if contradiction > self.contradicted_above and contradiction > support:
            return Status.CONTRADICTED
        return Status.UNSUPPORTED


def entailment_of(answer: Probabilities) -> float:
    """Return P(E)."""
    return answer.entailment


def contradiction_of(answer: Probabilities) -> float:
    """Return P(C), 0 for a two-way verifier."""
    return 0.0 if answer.contradiction is None else answer.contradiction


# By the state of a claim; nothing settles other states.
SETTLING: Mapping[Status, Settling] = {
    Status.SUPPORTED: entailment_of,
    Status.CONTRADICTED: contradiction_of,
}


def threshold_value(threshold: float | str, verifier: Mapping[str, Any]) -> float:
    """Return the number of a threshold, which may be an operating point of the verifier.

    Raises ConfigurationError if the description of the verifier has no such operating point.
    """
    if not isinstance(threshold, str):
        return threshold
    point = (verifier.get("operating_points") or {}).get(threshold)
    if not isinstance(point, (int, float)) or not 0.0 <= point <= 1.0:
        raise ConfigurationError(
            f"the verifier {verifier.get('name')} has no operating point {threshold!r}: give the "
            "threshold as a number"
        )
    return float(point)


@dataclass(frozen=True, slots=True)
class Scored:
    """The claims of a response with their support, state and passage.

    `calibration` is the one for a response of this length.
    """

    judged: Judged
    claims: tuple[ClaimReport, ...]
    calibration: Calibration

    @property
    def reading(self) -> Reading:
        """Return what was read."""
        return self.judged.reading

    def statement(self, at: int) -> str:
        """Return a claim in the form that was judged."""
        return self.claims[at].read_as or self.claims[at].text

    def is_supported_by(self, at: int, document: int) -> bool:
        """Return True if a passage that supports a claim is in this document."""
        report = self.claims[at]
        supported = report.status is Status.SUPPORTED
        return supported and any(passage.document == document for passage in report.passages)


def score(judged: Judged, calibration: Calibration) -> Scored:
    """Return the scores of all claims; the better of two answers counts."""
    fitted = calibration.for_response(judged.reading.length)
    pairs = zip(judged.reading.claims, judged.answers, strict=True)
    return Scored(judged, tuple(_best(claim, own, fitted) for claim, own in pairs), fitted)


def _best(claim: Claim, answers: Sequence[Answer], calibration: Calibration) -> ClaimReport:
    best = uncheckable(claim, claim.problem or "")
    for answer in answers:
        report = score_claim(claim, answer.judgement, calibration)
        if best.status is Status.UNCHECKABLE:
            best = report
        elif (report.support or 0.0) > (best.support or 0.0):
            best = replace(report, read_as=answer.statement)
    return best


def score_claim(claim: Claim, judged: Judgement, calibration: Calibration) -> ClaimReport:
    """Return the report of one claim: its scores, its state and its passage."""
    if not judged.windows:
        return uncheckable(claim, judged.reason or "no window of the source was judged")
    # Computed from the rounded probabilities, so that a reader of the report can redo the sums.
    answered = [
        (window, _rounded(answer))
        for window, answer in zip(judged.windows, judged.probabilities, strict=True)
    ]
    support = rounded(max(calibration.window_support(answer) for _, answer in answered))
    contradiction = rounded(calibration.contradiction(answered))
    status = calibration.status(support, contradiction)
    two_way = all(answer.contradiction is None for _, answer in answered)
    return ClaimReport(
        claim.text,
        claim.span,
        claim.span_reason,
        status,
        reason=None,
        support=support,
        contradiction=None if two_way else contradiction,
        proof=choose_passage(judged, status),
    )


def uncheckable(claim: Claim, reason: str) -> ClaimReport:
    """Return the report of a claim that could not be judged."""
    return ClaimReport(
        claim.text, claim.span, claim.span_reason, Status.UNCHECKABLE, reason, support=None
    )


def evidence_of(window: Window, answer: Probabilities) -> Evidence:
    """Return a window as a passage, with its rounded probabilities."""
    others = tuple(Evidence("", document, span) for document, span in window.others)
    return Evidence(
        window.text, window.document, window.span, window.scales, _rounded(answer), others
    )


def response_score(claims: Sequence[ClaimReport]) -> float | None:
    """Return the score of a response over the claims that could be checked; None without any."""
    supports = [claim.support for claim in claims if claim.support is not None]
    return rounded(1.0 - min(supports)) if supports else None


def best_passage(passages: Sequence[Evidence], value: Callable[[Probabilities], float]) -> Evidence:
    """Return the passage with the greatest value; the shortest of equals."""

    def key(item: Evidence) -> tuple[float, int]:
        assert item.probabilities is not None
        return value(item.probabilities), -_length(item)

    return max(passages, key=key)


def choose_passage(
    judged: Judgement, status: Status, settled_from: float = SETTLED_FROM
) -> Evidence:
    """Return the shortest passage that settles the claim, else the closest one.

    A page is too long to point at a place, so it is the last choice for the closest passage.
    """
    passages = list(zip(judged.windows, map(_rounded, judged.probabilities), strict=True))
    settling = SETTLING.get(status)
    if settling is not None:
        found = [evidence_of(*item) for item in passages if settling(item[1]) >= settled_from]
        if found:
            return min(found, key=_length)
    closest = [item for item in passages if not item[0].page] or passages
    return best_passage([evidence_of(*item) for item in closest], settling or entailment_of)


def _length(passage: Evidence) -> int:
    return sum(len(item.span) for item in (passage, *passage.others))


def _rounded(item: Probabilities) -> Probabilities:
    contradiction = None if item.contradiction is None else rounded(item.contradiction)
    return Probabilities(rounded(item.entailment), rounded(item.neutral), contradiction)


def _platt(value: float, slope: float, offset: float) -> float:
    if (slope == 1.0 and offset == 0.0) or value in (0.0, 1.0):
        return value
    log_odds = slope * (math.log(value) - math.log1p(-value)) + offset
    # No power overflows.
    return math.exp(min(log_odds, 0.0)) / (1.0 + math.exp(-abs(log_odds)))
