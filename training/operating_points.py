"""Thresholds for a purpose, fitted on labelled scores of several sets."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
# The labels (True if hallucinated) and the scores of one set.
Scored = tuple[NDArray[np.bool_], Floats]
TARGET = 0.8
STEP = 0.001


def _curve(sets: Mapping[str, Scored], thresholds: Floats) -> tuple[Floats, Floats]:
    """Return recall and false alarms at each threshold, as means over the sets."""
    recall, alarms = [], []
    for wrong, scores in sets.values():
        flagged = scores[None, :] >= thresholds[:, None]
        recall.append(flagged[:, wrong].mean(1))
        alarms.append(flagged[:, ~wrong].mean(1))
    return np.mean(recall, 0), np.mean(alarms, 0)


def fit_operating_points(sets: Mapping[str, Scored]) -> dict[str, float]:
    """Return thresholds for a purpose, fitted on labelled scores; every set has the same weight.

    - recall: the highest threshold that finds 80 % of the hallucinated responses.
    - balanced: the threshold with the greatest balanced accuracy.
    - precision: the lowest threshold at which 80 % of the flagged responses are hallucinated, for
      equal numbers of both classes; if there is no such threshold, the nearest to it.
    """
    thresholds = np.round(np.arange(STEP, 1.0, STEP), 6)
    recall, alarms = _curve(sets, thresholds)
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


def at_operating_point(sets: Mapping[str, Scored], threshold: float) -> dict[str, float]:
    """Return the figures of a threshold, as means over the sets."""
    recall, alarms = (float(values[0]) for values in _curve(sets, np.array([threshold])))
    return {
        "threshold": threshold,
        "recall": round(recall, 4),
        "false_alarms": round(alarms, 4),
        "precision_at_equal_shares": round(recall / max(recall + alarms, 1e-9), 4),
        "balanced_accuracy": round((recall + 1 - alarms) / 2, 4),
    }
