"""Metrics of binary detection; the hallucinated class is the positive one.

A higher score means more hallucinated. A metric that does not exist on the data (AUROC with one
class only, precision with nothing flagged) is None. scipy is imported when it is needed. The
tables of `bench report` come from `resampling`, which computes many samples at once.
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
