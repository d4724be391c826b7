"""The layer of SummaC-Conv, fitted on a few histograms."""

from __future__ import annotations

import numpy as np
import pytest

from halldetect_bench.methods.pairwise import histogram

pytest.importorskip("scipy", reason="training needs scipy")


def test_empty_bins_weigh_as_the_bin_below() -> None:
    from training.summac_conv import monotone_fit

    # Faithful responses have one sentence at P(E) 0.7, wrong ones at 0.1; none is above 0.8.
    faithful = np.arange(40) % 2 == 0
    values = np.where(faithful, 0.7, 0.1)
    weights, offset = monotone_fit(np.array([histogram([value]) for value in values]), faithful)
    assert (np.diff(weights) >= 0).all()
    assert weights[-1] == pytest.approx(weights[35])
    scores = [histogram([value]) @ weights + offset for value in (0.1, 0.7, 0.99)]
    assert scores[0] < 0 < scores[1] <= scores[2]
