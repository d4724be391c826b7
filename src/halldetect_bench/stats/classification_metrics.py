"""AUROC of binary detection; the hallucinated class is the positive one.

A higher score means more hallucinated. `bench report` uses `resampling`, which computes many
samples at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from halldetect.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Labels = Sequence[bool] | NDArray[np.bool_]
    Scores = Sequence[float] | NDArray[np.float64]


def auroc(gold: Labels, scores: Scores) -> float | None:
    """Return the share of pairs whose hallucinated response scores higher; ties count half.

    Without both classes in `gold` it is undefined, and the result None.
    """
    truth, values = _arrays(gold, scores)
    if truth.all() or not truth.any():
        return None
    right = np.sort(values[~truth])
    below, not_above = (np.searchsorted(right, values[truth], side) for side in ("left", "right"))
    return float((below + not_above).mean() / 2 / len(right))


def _arrays(gold: Labels, scores: Scores) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    truth, values = np.asarray(gold, dtype=bool), np.asarray(scores, dtype=float)
    if truth.shape != values.shape or truth.ndim != 1:
        raise InputError(f"{len(truth)} labels do not match {len(values)} scores")
    if not np.isfinite(values).all():
        raise InputError("a score is not a finite number; leave out what could not be scored")
    return truth, values
