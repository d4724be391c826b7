"""Thresholds with a name, fitted on scores whose best cuts are known."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from halldetect.errors import InputError
from halldetect_bench.predictions import open_predictions
from halldetect_bench.stats import operating_points as fitting
from tests.support.bench_fakes import make_results
from training import operating_points


def test_the_points_lie_where_the_sets_say() -> None:
    random = np.random.default_rng(0)
    sets = {}
    for name, size in (("small", 500), ("large", 5000)):
        wrong = np.arange(size) % 2 == 0
        sets[name] = (wrong, np.where(wrong, random.beta(3, 2, size), random.beta(2, 3, size)))
    points = fitting.fit(sets)
    assert points["recall"] < points["balanced"] < points["precision"]
    assert points["balanced"] == pytest.approx(0.5, abs=0.05)
    found = {name: fitting.measured(sets, value) for name, value in points.items()}
    assert found["recall"]["recall"] == pytest.approx(fitting.TARGET, abs=0.01)
    precision = found["precision"]["precision_at_equal_shares"]
    assert precision == pytest.approx(fitting.TARGET, abs=0.01)
    assert found["balanced"]["balanced_accuracy"] == max(
        values["balanced_accuracy"] for values in found.values()
    )


def test_results_give_points_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gold: list[bool | None] = [at % 2 == 0 for at in range(20)]
    scores: list[float | None] = [0.4 + at / 50 if at % 2 == 0 else at / 40 for at in range(20)]
    for name in operating_points.DEVELOPMENT:
        made = make_results(name, "halldetect", scores, gold, verifier={"name": "base"})
        with open_predictions(tmp_path / "in", made.header) as book:
            for item in made.predictions:
                book.append(item)
    config, out = tmp_path / "config.json", tmp_path / "out.json"
    config.write_text('{"name": "kept"}')
    command = [str(tmp_path / "in"), "--out", str(out), "--config", str(config)]
    monkeypatch.setattr(sys, "argv", ["operating_points", *command])
    operating_points.main()
    written = json.loads(config.read_text())
    assert written["name"] == "kept"
    assert written["operating_points"] == json.loads(out.read_text())["operating_points"]
    monkeypatch.setattr(sys, "argv", ["operating_points", *command, "--verifier", "large"])
    with pytest.raises(InputError, match="no results of halldetect with large on storysumm"):
        operating_points.main()


@pytest.mark.parametrize("name", ["base", "large"])
def test_stored_points_are_those_of_the_package(name: str) -> None:
    stored = json.loads((operating_points.RESULTS / f"{name}.json").read_text("utf-8"))
    shipped = json.loads((operating_points.WEIGHTS / name / "config.json").read_text("utf-8"))
    assert stored["operating_points"] == shipped["operating_points"]
    if "rows" in stored:  # scores are stored with five digits
        points = fitting.fit(operating_points.labelled_scores(stored["rows"]))
        assert points == pytest.approx(shipped["operating_points"], abs=0.002)


def test_the_points_in_the_package_are_in_order() -> None:
    for config in sorted(operating_points.WEIGHTS.glob("*/config.json")):
        points = json.loads(config.read_text(encoding="utf-8")).get("operating_points")
        if points is not None:
            assert 0.0 < points["recall"] <= points["balanced"] <= points["precision"] < 1.0
