"""Thresholds for a purpose, fitted on labelled scores.

- recall: the highest threshold that finds 80 % of the hallucinated responses.
- balanced: the threshold with the greatest balanced accuracy.
- precision: the lowest threshold at which 80 % of the flagged responses are hallucinated, for equal
  numbers of both classes; if there is no such threshold, the nearest to it.

Every set has the same weight, whatever its size and its share of hallucinations.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

TARGET = 0.8
STEP = 0.001
Floats = NDArray[np.float64]
# The labels (True if hallucinated) and the scores of one set.
Scores = tuple[NDArray[np.bool_], Floats]


def curve(sets: Mapping[str, Scores], thresholds: Floats) -> tuple[Floats, Floats]:
    """Return recall and false alarms at each threshold, as means over the sets.

    Args:
        sets: per set, labels and scores.
        thresholds: the thresholds to try.
    """
    recall, alarms = [], []
    for wrong, scores in sets.values():
        flagged = scores[None, :] >= thresholds[:, None]
        recall.append(flagged[:, wrong].mean(1))
        alarms.append(flagged[:, ~wrong].mean(1))
    return np.mean(recall, 0), np.mean(alarms, 0)


def fit(sets: Mapping[str, Scores]) -> dict[str, float]:
    """Return the three points.

    Args:
        sets: per set, labels and scores; each has responses of both labels.
    """
    thresholds = np.round(np.arange(STEP, 1.0, STEP), 6)
    recall, alarms = curve(sets, thresholds)
    flagged = recall + alarms
    precision = np.divide(recall, flagged, out=np.zeros_like(recall), where=flagged > 0)
    # The middle of equal ones, so that a point is not at the edge of a plateau.
    best = np.flatnonzero(recall - alarms >= (recall - alarms).max() - 1e-9)
    enough = np.flatnonzero(recall >= TARGET)
    precise = np.flatnonzero(precision >= min(TARGET, precision.max()))
    points = {
        "recall": thresholds[enough[-1]] if len(enough) else thresholds[0],
        "balanced": thresholds[best[len(best) // 2]],
        "precision": thresholds[precise[0]],
    }
    # If the balanced point already finds 80 %, a lower threshold has no use.
    points["recall"] = min(points["recall"], points["balanced"])
    points["precision"] = max(points["precision"], points["balanced"])
    return {name: float(value) for name, value in points.items()}


def measured(sets: Mapping[str, Scores], threshold: float) -> dict[str, float]:
    """Return the figures of a threshold, as means over the sets.

    Args:
        sets: per set, labels and scores.
        threshold: scores at or above it are flagged.
    """
    recall, alarms = (float(values[0]) for values in curve(sets, np.array([threshold])))
    return {
        "threshold": threshold,
        "recall": round(recall, 4),
        "false_alarms": round(alarms, 4),
        "precision_at_equal_shares": round(recall / max(recall + alarms, 1e-9), 4),
        "balanced_accuracy": round((recall + 1 - alarms) / 2, 4),
    }
