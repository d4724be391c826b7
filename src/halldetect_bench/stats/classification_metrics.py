"""Metrics of binary detection; the hallucinated class is the positive one.

A higher score means more hallucinated; scores are in [0, 1] where a threshold or calibration is
used. A metric that does not exist on the data (AUROC with one class only, precision with nothing
flagged) is None. scipy is imported when it is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from halldetect.errors import InputError, MissingExtra

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = Sequence[bool] | NDArray[np.bool_]
    Scores = Sequence[float] | NDArray[np.float64]
    Metric = Callable[[Labels, Scores], float | None]

CALIBRATION_BINS = 10


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """The result of flagging every score at or above a threshold."""

    threshold: float
    precision: float | None
    recall: float | None
    f1: float | None
    balanced_accuracy: float | None
    true_positives: int
    false_positives: int
    true_negatives: int
    false_negatives: int


@dataclass(frozen=True, slots=True)
class BestF1:
    """The highest F1 over all thresholds, with the highest threshold that gives it.

    It is chosen on the data it is reported on, so it is an upper bound, not an estimate.
    """

    f1: float
    threshold: float


def at_threshold(gold: Labels, scores: Scores, threshold: float = 0.5) -> AtThreshold:
    """Precision, recall, F1 and balanced accuracy at a threshold.

    gold: True for each hallucinated row. scores: the rows' scores. threshold: scores at or above
    it are flagged.
    """
    truth, values = _arrays(gold, scores)
    flagged = values >= threshold
    tp, fp = int((flagged & truth).sum()), int((flagged & ~truth).sum())
    fn, tn = int((~flagged & truth).sum()), int((~flagged & ~truth).sum())
    recall, specificity = _share(tp, tp + fn), _share(tn, tn + fp)
    return AtThreshold(
        threshold=threshold,
        precision=_share(tp, tp + fp),
        recall=recall,
        f1=_share(2 * tp, 2 * tp + fp + fn),
        balanced_accuracy=None
        if recall is None or specificity is None
        else (recall + specificity) / 2,
        true_positives=tp,
        false_positives=fp,
        true_negatives=tn,
        false_negatives=fn,
    )


def auroc(gold: Labels, scores: Scores) -> float | None:
    """The probability that a hallucinated response scores above a faithful one; ties count half.

    gold: True for each hallucinated row. scores: the rows' scores.
    """
    truth, values = _arrays(gold, scores)
    if truth.all() or not truth.any():
        return None
    ranks = _scipy().rankdata(values)
    positives, negatives = int(truth.sum()), int((~truth).sum())
    above = float(ranks[truth].sum()) - positives * (positives + 1) / 2
    return above / (positives * negatives)


def average_precision(gold: Labels, scores: Scores) -> float | None:
    """The precision at each recall step, weighted by the step, without interpolation.

    gold: True for each hallucinated row. scores: the rows' scores.
    """
    truth, values = _arrays(gold, scores)
    if not truth.any():
        return None
    _, hits, flagged = _cuts(truth, values)
    return float(np.sum(np.diff(hits, prepend=0) * hits / flagged) / hits[-1])


def best_f1(gold: Labels, scores: Scores) -> BestF1 | None:
    """The highest F1 over all thresholds.

    gold: True for each hallucinated row. scores: the rows' scores.
    """
    truth, values = _arrays(gold, scores)
    if not truth.any():
        return None
    thresholds, hits, flagged = _cuts(truth, values)
    f1 = 2 * hits / (flagged + hits[-1])
    best = int(np.argmax(f1))
    return BestF1(float(f1[best]), float(thresholds[best]))


def _cuts(
    truth: NDArray[np.bool_], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.int_], NDArray[np.int_]]:
    """Every threshold from the highest down, with the hits and all rows at or above it.

    scikit-learn's curves are the same (a test compares them), but validate their input at every
    call, and a bootstrap makes thousands of calls.
    """
    order = np.argsort(-values, kind="stable")
    ordered = values[order]
    last = np.append(np.flatnonzero(np.diff(ordered)), len(ordered) - 1)
    return ordered[last], np.cumsum(truth[order])[last], last + 1


def calibration_error(gold: Labels, scores: Scores, bins: int = CALIBRATION_BINS) -> float | None:
    """Expected calibration error, with the score as the probability of a hallucination.

    gold: True for each hallucinated row. scores: the rows' scores. bins: their number.
    [0, 1] is cut into `bins` of equal width, each closed on the left, the last on both sides.
    In each bin the mean score is compared with the share of hallucinated responses; the
    differences are averaged with the bins' sizes as weights.
    """
    return (
        sum(size * abs(score - share) for score, share, size in reliability(gold, scores, bins))
        / len(gold)
        if len(gold)
        else None
    )


def reliability(
    gold: Labels, scores: Scores, bins: int = CALIBRATION_BINS
) -> list[tuple[float, float, int]]:
    """(mean score, share hallucinated, rows) of every bin that is not empty.

    gold: True for each hallucinated row. scores: the rows' scores. bins: their number.
    """
    truth, values = _arrays(gold, scores)
    if len(values) and (values.min() < 0 or values.max() > 1):
        raise InputError("calibration needs scores between 0 and 1")
    place = np.minimum((values * bins).astype(int), bins - 1)
    return [
        (float(values[inside].mean()), float(truth[inside].mean()), int(inside.sum()))
        for inside in (place == number for number in range(bins))
        if inside.any()
    ]


def spearman(one: Scores, other: Scores) -> float | None:
    """Spearman's rank correlation.

    one, other: the values to correlate.
    """
    return _correlation("spearmanr", one, other)


def pearson(one: Scores, other: Scores) -> float | None:
    """Pearson's correlation.

    one, other: the values to correlate.
    """
    return _correlation("pearsonr", one, other)


def recall_by_kind(
    kinds: Sequence[str | None],
    gold: Labels,
    scores: Scores,
    threshold: float = 0.5,
) -> dict[str, tuple[float, int]]:
    """Recall and number of rows for each kind of hallucination.

    kinds: the kind of each row, if it has one. gold: True for each hallucinated row.
    scores: the rows' scores. threshold: scores at or above it are flagged.
    """
    found: dict[str, list[bool]] = {}
    for kind, wrong, score in zip(kinds, gold, scores, strict=True):
        if wrong and kind is not None:
            found.setdefault(kind, []).append(score >= threshold)
    return {kind: (sum(hits) / len(hits), len(hits)) for kind, hits in sorted(found.items())}


def _correlation(name: str, one: Scores, other: Scores) -> float | None:
    here, there = np.asarray(one, dtype=float), np.asarray(other, dtype=float)
    if here.shape != there.shape:
        raise InputError(f"{len(here)} values cannot be correlated with {len(there)}")
    if len(here) < 2 or np.ptp(here) == 0 or np.ptp(there) == 0:
        return None
    return float(getattr(_scipy(), name)(here, there).statistic)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _arrays(gold: Labels, scores: Scores) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    truth, values = np.asarray(gold, dtype=bool), np.asarray(scores, dtype=float)
    if truth.shape != values.shape or truth.ndim != 1:
        raise InputError(f"{len(truth)} labels do not match {len(values)} scores")
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number; leave out what could not be scored")
    return truth, values


def _scipy() -> Any:
    try:
        from scipy import stats
    except ImportError as error:
        raise MissingExtra("the evaluation", "bench") from error
    return stats
