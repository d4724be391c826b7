"""Thresholds with a name, fitted on scores whose best cuts are known."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

from tests.support.paths import ROOT
from training import operating_points as metrics

RESULTS = ROOT / "benchmarks" / "results"
WEIGHTS = ROOT / "src" / "halldetect" / "weights"


def test_the_points_lie_where_the_sets_say() -> None:
    random = np.random.default_rng(0)
    sets = {}
    for name, size in (("small", 500), ("large", 5000)):
        wrong = np.arange(size) % 2 == 0
        sets[name] = (wrong, np.where(wrong, random.beta(3, 2, size), random.beta(2, 3, size)))
    points = metrics.fit_operating_points(sets)
    assert points["recall"] < points["balanced"] < points["precision"]
    assert points["balanced"] == pytest.approx(0.5, abs=0.05)
    found = {name: metrics.at_operating_point(sets, value) for name, value in points.items()}
    assert found["recall"]["recall"] == pytest.approx(metrics.TARGET, abs=0.01)
    precision = found["precision"]["precision_at_equal_shares"]
    assert precision == pytest.approx(metrics.TARGET, abs=0.01)
    assert found["balanced"]["balanced_accuracy"] == max(
        values["balanced_accuracy"] for values in found.values()
    )


@pytest.mark.parametrize("name", ["base", "large"])
def test_stored_points_are_those_of_the_package(name: str) -> None:
    stored = json.loads((RESULTS / name / "report.json").read_text("utf-8"))
    shipped = json.loads((WEIGHTS / name / "config.json").read_text("utf-8"))
    assert stored["operating_points"] == shipped["operating_points"]
    assert stored["calibration"] == shipped["calibration"]
    for file in (WEIGHTS / name).iterdir():
        assert stored["weights"][file.name] == hashlib.sha256(file.read_bytes()).hexdigest()


def test_the_points_in_the_package_are_in_order() -> None:
    for config in sorted(WEIGHTS.glob("*/config.json")):
        points = json.loads(config.read_text(encoding="utf-8")).get("operating_points")
        if points is not None:
            assert 0.0 < points["recall"] <= points["balanced"] <= points["precision"] < 1.0
