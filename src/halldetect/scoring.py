"""Claim scores and response scores (Phase IV): the paper's FED, and the calibrated score.

Everything here is a pure function of the probabilities the verifier gave one claim against
the windows it met. The calibrated formula lives in `Calibration` and nowhere else.

    support(c)        greatest P(E) x (1 - w P(C)) over the windows, both of the same window,
                      then put on a common scale (logit, slope and offset)
    contradiction(c)  greatest P(C) at each scale, averaged over the scales. A sentence that
                      really says otherwise does so at every scale; a short window that has
                      nothing to do with the claim often gets a high P(C) too, but loses it
                      in its context, so the greatest P(C) of all would mostly be noise
    response score    1 - the least support: a response is as good as its worst claim
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING, Any

from halldetect.errors import ConfigurationError, ModelError
from halldetect.report import ClaimReport, Evidence, Probabilities, Status, rounded
from halldetect.verification.rounds import JudgedClaim
from halldetect.verification.scales import Window
from halldetect.verification.schedule import Rule, StoppingRule, WholeSourceRule

if TYPE_CHECKING:
    from halldetect.protocols import Models

# A passage settles a claim by itself from this probability on.
SETTLED_FROM = 0.5
# The probability that settles a claim.
Settling = Callable[[Probabilities], float]


def fed_claim(entailment: Sequence[float], contradiction: Sequence[float | None]) -> float:
    """The paper's Score(c): best entailment minus best contradiction, chosen independently."""
    known = [value for value in contradiction if value is not None]
    return max(entailment) - max(known, default=0.0)


def fed(scores: Sequence[float]) -> float:
    """The paper's FED: 1 - geometric mean, and 1 as soon as any score is not positive."""
    if not scores:
        raise ValueError("FED of no claims is undefined")
    if any(score <= 0.0 for score in scores):
        return 1.0
    return min(1.0, max(0.0, 1.0 - math.exp(math.fsum(map(math.log, scores)) / len(scores))))


def fed_status(score: float, contradiction: float) -> Status:
    """A claim's state by the paper's score: grounded where support outweighs contradiction.

    score          the paper's Score(c)
    contradiction  the greatest P(C) of any window
    """
    if score > 0.0:
        return Status.SUPPORTED
    return Status.CONTRADICTED if contradiction > 0.5 else Status.UNSUPPORTED


@dataclass(frozen=True, slots=True)
class Calibration:
    """The parameters of the calibrated score. A verifier may bring its own.

    contradiction_weight  how much a window's own P(C) takes away from its P(E)
    slope, offset         Platt scaling of the support, in log-odds (1 and 0 change nothing)
    supported_above       a claim is supported above this support
    contradicted_above    else contradicted above this contradiction, if it beats the support
    """

    contradiction_weight: float = 1.0
    slope: float = 1.0
    offset: float = 0.0
    supported_above: float = 0.5
    contradicted_above: float = 0.5

    def __post_init__(self) -> None:
        for name in ("contradiction_weight", "supported_above", "contradicted_above"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise ModelError(f"calibration: {name} must lie between 0 and 1")
        if not (math.isfinite(self.slope) and self.slope > 0.0 and math.isfinite(self.offset)):
            raise ModelError("calibration: slope must be positive, slope and offset finite")

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Calibration:
        """From a verifier's description or a report; an unknown parameter is an error."""
        unknown = sorted(set(values) - {field.name for field in fields(cls)})
        if unknown:
            raise ModelError(f"calibration: unknown parameter {', '.join(unknown)}")
        try:
            return cls(**{name: float(value) for name, value in values.items()})
        except (TypeError, ValueError) as error:
            raise ModelError(f"calibration: {error}") from error

    def window_support(self, judged: Probabilities) -> float:
        """How far one window supports the claim."""
        raw = judged.entailment * (1.0 - self.contradiction_weight * contradiction_of(judged))
        return _platt(min(1.0, max(0.0, raw)), self.slope, self.offset)

    def support(self, judged: Sequence[Probabilities]) -> float:
        """How far the source supports the claim: as far as its best window does."""
        return max(map(self.window_support, judged))

    def contradiction(
        self, judged: Sequence[Probabilities], scales: Sequence[Sequence[int]]
    ) -> float:
        """How far the source says otherwise; `scales` are those of each judged window."""
        greatest: dict[int, float] = {}
        for item, of_window in zip(judged, scales, strict=True):
            for scale in of_window:
                greatest[scale] = max(greatest.get(scale, 0.0), contradiction_of(item))
        return math.fsum(greatest.values()) / len(greatest)

    def status(self, support: float, contradiction: float) -> Status:
        """Support decides first, so that a response is flagged exactly when a claim is."""
        if support > self.supported_above:
            return Status.SUPPORTED
        if contradiction > self.contradicted_above and contradiction > support:
            return Status.CONTRADICTED
        return Status.UNSUPPORTED

    def response(self, supports: Sequence[float]) -> float:
        """The hallucination score of a response from the supports of its claims."""
        if not supports:
            raise ValueError("the score of no claims is undefined")
        return 1.0 - min(supports)


def contradiction_of(judged: Probabilities) -> float:
    """P(C), taken as 0 where a two-way verifier knows none."""
    return 0.0 if judged.contradiction is None else judged.contradiction


@dataclass(frozen=True, slots=True)
class ClaimScores:
    """What the windows of one claim come to.

    support         by the calibration
    contradiction   by the calibration
    fed             the paper's Score(c)
    greatest_p_c    the greatest P(C) of any window
    """

    support: float
    contradiction: float
    fed: float
    greatest_p_c: float


@dataclass(frozen=True, slots=True)
class ResponseScores:
    """Both scores of a response; None when no claim could be checked."""

    calibrated: float | None
    fed: float | None


@dataclass(frozen=True, slots=True)
class Scoring:
    """Which score decides. A new one is a line of `SCORINGS`.

    status        the state of a claim
    response      the score of the response that the threshold is compared with
    every_window  whether every claim must be judged against every window
    """

    status: Callable[[ClaimScores, Calibration], Status]
    response: Callable[[ResponseScores], float | None]
    every_window: bool = False


SCORINGS = {
    "calibrated": Scoring(
        lambda claim, calibration: calibration.status(claim.support, claim.contradiction),
        lambda response: response.calibrated,
    ),
    # The greatest P(C) may be that of any window, so none can be left out.
    "fed": Scoring(
        lambda claim, _: fed_status(claim.fed, claim.greatest_p_c),
        lambda response: response.fed,
        every_window=True,
    ),
}


# Thresholds with a name, fitted on development sets (`training/operating_points.py`) and kept with
# the weights: few hallucinations missed, both kinds of error alike, few false alarms.
OPERATING_POINTS = ("recall", "balanced", "precision")


def threshold_value(threshold: float | str, verifier: Mapping[str, Any]) -> float:
    """The number that a threshold stands for.

    threshold  a number, or a name of `OPERATING_POINTS`
    verifier   the description of the verifier, whose `operating_points` give names their numbers
    Raises ConfigurationError if the verifier has no such point.
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


def score_claim(judged: JudgedClaim, scoring: str, calibration: Calibration) -> ClaimReport:
    """The report of one claim: its scores, its state, and the windows that show it.

    judged       the claim and the verifier's answers for the windows it was compared with
    scoring      a name of `SCORINGS`: which score decides the state
    calibration  the parameters of the calibrated score
    """
    claim = judged.claim
    if not judged.windows:
        return ClaimReport(
            text=claim.text,
            span=claim.span,
            span_reason=claim.span_reason,
            status=Status.UNCHECKABLE,
            reason=judged.reason or "no window of the source was judged",
            support=None,
            fed_score=None,
            entailing=None,
            contradicting=None,
            origin=claim.origin,
            read_as=claim.read_as,
        )
    # Scores are computed from the rounded probabilities: a reader of the report can redo them.
    probabilities = [_rounded(item) for item in judged.probabilities]
    evidence = [
        _evidence(window, item) for window, item in zip(judged.windows, probabilities, strict=True)
    ]
    deciding = [
        (item, window.scales)
        for item, window in zip(probabilities, judged.windows, strict=True)
        if judged.deciding_scale is None or judged.deciding_scale in window.scales
    ]
    answers = [item for item, _ in deciding]
    support = rounded(calibration.support(answers))
    fed_score = rounded(
        fed_claim(
            [item.entailment for item in probabilities],
            [item.contradiction for item in probabilities],
        )
    )
    contradicting = _best(evidence, contradiction_of)
    contradiction = rounded(calibration.contradiction(answers, [scales for _, scales in deciding]))
    greatest_p_c = contradiction_of(contradicting.probabilities)
    scores = ClaimScores(support, contradiction, fed_score, greatest_p_c)
    status = SCORINGS[scoring].status(scores, calibration)
    two_way = all(item.contradiction is None for item in probabilities)
    return ClaimReport(
        text=claim.text,
        span=claim.span,
        span_reason=claim.span_reason,
        status=status,
        reason=None,
        support=support,
        fed_score=fed_score,
        entailing=_best(evidence, lambda item: item.entailment),
        contradicting=None if two_way else contradicting,
        contradiction=None if two_way else contradiction,
        by_scale=_by_scale(evidence, calibration),
        proof=_shortest_proof(evidence, settling_probability(status)),
        origin=claim.origin,
        read_as=claim.read_as,
    )


def settling_probability(status: Status) -> Settling | None:
    """The probability that settles a claim of that state; None where nothing has settled it."""
    if status is Status.SUPPORTED:
        return lambda item: item.entailment
    return contradiction_of if status is Status.CONTRADICTED else None


def shown_evidence(window: Window, probabilities: Probabilities) -> Evidence:
    """A passage with its probabilities as a report has them."""
    return _evidence(window, _rounded(probabilities))


def window_support(calibration: Calibration, item: Probabilities) -> float:
    """What one window is worth to a claim, in the very numbers of the report."""
    return rounded(calibration.window_support(_rounded(item)))


def score_response(claims: Sequence[ClaimReport], calibration: Calibration) -> ResponseScores:
    """The scores of the response, over the claims that could be checked."""
    supports = [claim.support for claim in claims if claim.support is not None]
    fed_scores = [claim.fed_score for claim in claims if claim.fed_score is not None]
    if not supports:
        return ResponseScores(None, None)
    return ResponseScores(rounded(calibration.response(supports)), rounded(fed(fed_scores)))


def window_rule(models: Models) -> Rule | None:
    """Which windows a claim is judged against; None where it is judged against all.

    models  of the check: their options, calibration and threshold decide
    """
    config, calibration, verifier = models.configuration, models.calibration, models.verifier
    if config.exact or SCORINGS[config.scoring].every_window:
        return None
    if getattr(verifier, "reads_whole_sources", False):
        return WholeSourceRule()
    supported_above = max(calibration.supported_above, 1.0 - models.threshold)
    return StoppingRule(partial(window_support, calibration), supported_above)


def _shortest_proof(evidence: Sequence[Evidence], settling: Settling | None) -> Evidence | None:
    """The shortest window that settles the claim by itself, if any does."""
    if settling is None:
        return None
    found = [item for item in evidence if settling(item.probabilities) >= SETTLED_FROM]
    return min(found, key=lambda item: len(item.span), default=None)


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


def _platt(value: float, slope: float, offset: float) -> float:
    if slope == 1.0 and offset == 0.0:
        return value
    if value in (0.0, 1.0):
        return value
    log_odds = slope * (math.log(value) - math.log1p(-value)) + offset
    if log_odds >= 0.0:
        return 1.0 / (1.0 + math.exp(-log_odds))
    return math.exp(log_odds) / (1.0 + math.exp(log_odds))
