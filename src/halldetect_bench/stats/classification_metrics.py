"""Metrics of binary detection; the hallucinated class is the positive one.

A higher score means more hallucinated. An undefined metric (AUROC with a single class, precision
with nothing flagged) gives None. `bench report` uses `resampling`, which computes many samples
at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halldetect.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = Sequence[bool] | NDArray[np.bool_]
    Scores = Sequence[float] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AtThreshold:
    """The result of flagging every score at or above a threshold."""

    threshold: float
    precision: float | None
    recall: float | None
    f1: float | None
    balanced_accuracy: float | None


def at_threshold(gold: Labels, scores: Scores, threshold: float = 0.5) -> AtThreshold:
    """Return precision, recall, F1 and balanced accuracy at a threshold.

    Args:
        gold: True for each hallucinated row.
        scores: the rows' scores.
        threshold: scores at or above it are flagged.
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
    )


def auroc(gold: Labels, scores: Scores) -> float | None:
    """Return the share of pairs whose hallucinated response scores higher; ties count half.

    Args:
        gold: True for each hallucinated row.
        scores: the rows' scores.
    """
    truth, values = _arrays(gold, scores)
    if truth.all() or not truth.any():
        return None
    right = np.sort(values[~truth])
    below, not_above = (np.searchsorted(right, values[truth], side) for side in ("left", "right"))
    return float((below + not_above).mean() / 2 / len(right))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _arrays(gold: Labels, scores: Scores) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    truth, values = np.asarray(gold, dtype=bool), np.asarray(scores, dtype=float)
    if truth.shape != values.shape or truth.ndim != 1:
        raise InputError(f"{len(truth)} labels do not match {len(values)} scores")
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number; leave out what could not be scored")
    return truth, values
