"""From the verifier's probabilities to the claims of the report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from halldetect.report import ClaimReport, Evidence, Probabilities, Status, rounded
from halldetect.scoring import (
    Calibration,
    contradiction_of,
    fed,
    fed_claim,
    fed_status,
)
from halldetect.verification.rounds import Judged
from halldetect.windows.scales import Window


@dataclass(frozen=True, slots=True)
class Scores:
    """Both scores of a response; None when no claim could be checked."""

    calibrated: float | None
    fed: float | None


def find(judged: Judged, scoring: str, calibration: Calibration) -> ClaimReport:
    """What the source says of one claim, with the windows that say so."""
    claim = judged.claim
    if not judged.windows:
        return ClaimReport(
            text=claim.text,
            span=claim.span,
            span_reason=claim.span_reason,
            status=Status.UNCHECKABLE,
            reason=judged.reason or "no window of the source was judged",
            score=None,
            fed_score=None,
            entailing=None,
            contradicting=None,
            origin=claim.origin,
        )
    # Scores are computed from the rounded probabilities: a reader of the report can redo them.
    probabilities = [_rounded(item) for item in judged.probabilities]
    evidence = [
        _evidence(window, item) for window, item in zip(judged.windows, probabilities, strict=True)
    ]
    support = rounded(calibration.support(probabilities))
    fed_score = rounded(
        fed_claim(
            [item.entailment for item in probabilities],
            [item.contradiction for item in probabilities],
        )
    )
    contradicting = _best(evidence, contradiction_of)
    scales = [window.scales for window in judged.windows]
    contradiction = rounded(calibration.contradiction(probabilities, scales))
    if scoring == "fed":
        status = fed_status(fed_score, contradiction_of(contradicting.probabilities))
    else:
        status = calibration.status(support, contradiction)
    two_way = all(item.contradiction is None for item in probabilities)
    return ClaimReport(
        text=claim.text,
        span=claim.span,
        span_reason=claim.span_reason,
        status=status,
        reason=None,
        score=support,
        fed_score=fed_score,
        entailing=_best(evidence, lambda item: item.entailment),
        contradicting=None if two_way else contradicting,
        contradiction=None if two_way else contradiction,
        by_scale=_by_scale(evidence, calibration),
        origin=claim.origin,
    )


def window_support(calibration: Calibration, item: Probabilities) -> float:
    """What one window is worth to a claim, in the very numbers of the report."""
    return rounded(calibration.window_support(_rounded(item)))


def total(claims: Sequence[ClaimReport], calibration: Calibration) -> Scores:
    """The scores of the response, over the claims that could be checked."""
    supports = [claim.score for claim in claims if claim.score is not None]
    fed_scores = [claim.fed_score for claim in claims if claim.fed_score is not None]
    if not supports:
        return Scores(None, None)
    return Scores(rounded(calibration.response(supports)), rounded(fed(fed_scores)))


def _by_scale(evidence: Sequence[Evidence], calibration: Calibration) -> tuple[Evidence, ...]:
    """The most supporting window of each scale; one that is best at several appears once."""
    scales = sorted({scale for item in evidence for scale in item.scales})
    best = [
        _best([item for item in evidence if scale in item.scales], calibration.window_support)
        for scale in scales
    ]
    return tuple(dict.fromkeys(best))


def _best(evidence: Sequence[Evidence], value: Callable[[Probabilities], float]) -> Evidence:
    """The evidence of the greatest value; of equals the shortest, which says it most plainly."""
    return max(evidence, key=lambda item: (value(item.probabilities), -len(item.span)))


def _rounded(item: Probabilities) -> Probabilities:
    contradiction = None if item.contradiction is None else rounded(item.contradiction)
    return Probabilities(rounded(item.entailment), rounded(item.neutral), contradiction)


def _evidence(window: Window, probabilities: Probabilities) -> Evidence:
    return Evidence(window.text, window.document, window.span, window.scales, probabilities)
