"""A check against the same check of another checkout."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from benchmarks.speed_before import ROOT, Checkout, ratio_of_sums


def test_the_ratio_is_that_of_the_sums() -> None:
    before = np.random.default_rng(0).uniform(0.5, 1.5, 50)
    assert ratio_of_sums(np.array([2 * before, before]), 0) == [2.0, 2.0, 2.0]
    ratio, low, high = ratio_of_sums(np.array([before[::-1], before]), 0)
    assert ratio == 1.0
    assert low < 1.0 < high


def test_a_checkout_checks_with_its_own_package() -> None:
    with closing(Checkout(ROOT)) as checkout:
        source = "The bridge opened in 1932."
        assert checkout.check(source, source)[1] == "faithful"
        seconds, verdict, tokens = checkout.check(source, "The bridge opened in 1923.")
    assert verdict == "hallucinated"
    assert seconds > 0
    assert tokens > 0


def test_a_checkout_without_the_package_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "src" / "halldetect").mkdir(parents=True)
    (tmp_path / "src" / "halldetect" / "__init__.py").write_text("raise ImportError", "utf-8")
    with pytest.raises(SystemExit, match="status 1"):
        Checkout(tmp_path)
