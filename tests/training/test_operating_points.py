"""Thresholds with a name, fitted on scores whose best cuts are known."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

from halldetect_bench.stats import operating_points as fitting
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


def test_stored_answers_give_points_in_the_configuration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = np.random.default_rng(1)
    entries = [
        {
            "set": name,
            "id": str(at),
            "wrong": at % 2 == 0,
            "group": at,
            "quarters": [],
            "claims": [0],
        }
        for name in operating_points.DEVELOPMENT
        for at in range(20)
    ]
    with lzma.open(tmp_path / "eval_rows.json.xz", "wt") as file:
        json.dump(entries, file)
    logits = random.normal(0, 1, (1, 20, 3))
    logits[0, 1::2, 0] += 2
    np.savez(
        tmp_path / "x_logits.npz",
        logits=logits,
        first=np.arange(20),
        digests=np.array(["d"]),
    )
    config = tmp_path / "config.json"
    config.write_text('{"name": "kept"}')
    out = tmp_path / "out.json"
    command = ["--logits", f"{tmp_path}:x", "--out", str(out), "--config", str(config)]
    monkeypatch.setattr(sys, "argv", ["operating_points", *command])
    operating_points.main()
    written = json.loads(config.read_text())
    assert written["name"] == "kept"
    assert written["operating_points"] == json.loads(out.read_text())["operating_points"]


def test_stored_predictions_give_the_points_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    predictions = operating_points.ROOT / "benchmarks" / "results" / "base"
    out, config = tmp_path / "out.json", tmp_path / "config.json"
    command = ["--predictions", str(predictions), "--out", str(out), "--config", str(config)]
    monkeypatch.setattr(sys, "argv", ["operating_points", *command])
    operating_points.main()
    shipped = json.loads((operating_points.WEIGHTS / "base" / "config.json").read_text("utf-8"))
    assert json.loads(config.read_text())["operating_points"] == shipped["operating_points"]
    stored = json.loads((operating_points.RESULTS / "base.json").read_text("utf-8"))
    assert json.loads(out.read_text()) == stored


def test_the_points_in_the_package_are_in_order() -> None:
    for config in sorted(operating_points.WEIGHTS.glob("*/config.json")):
        points = json.loads(config.read_text(encoding="utf-8")).get("operating_points")
        if points is not None:
            assert 0.0 < points["recall"] <= points["balanced"] <= points["precision"] < 1.0


def test_the_weight_of_contradiction_is_the_one_with_the_least_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from training.large import calibrate

    random = np.random.default_rng(2)
    names = (*operating_points.DEVELOPMENT, *operating_points.SIX)
    entries = [
        {"set": name, "id": str(at), "wrong": at % 2 == 0, "group": at, "claims": [0]}
        for name in names
        for at in range(40)
    ]
    with lzma.open(tmp_path / "eval_rows.json.xz", "wt") as file:
        json.dump(entries, file)
    # What is contradicted with 0.4 is wrong, what is not is right: P(C) should count in full.
    contradicted = np.where(np.arange(40) % 2 == 0, 0.4, 0.01)
    entailed = (1 - contradicted) * random.uniform(0.9, 0.95, 40)
    answers = np.stack([entailed, 1 - contradicted - entailed, contradicted], -1)
    np.savez(
        tmp_path / "x_logits.npz",
        logits=np.log(answers)[None],
        first=np.arange(40),
        digests=np.array(["d"]),
    )
    config = tmp_path / "config.json"
    config.write_text('{"operating_points": {"recall": 0.3}}')
    command = ["calibrate", str(tmp_path), "x", "--config", str(config)]
    monkeypatch.setattr(sys, "argv", command)
    calibrate.main()
    found = json.loads((tmp_path / "calibration.json").read_text())
    assert found["contradiction_weight"] == 1.0
    losses = [entry["development"]["log_loss"] for entry in found["tried"].values()]
    assert losses == sorted(losses, reverse=True)
    assert set(found["by_set"]) == set(names)
    assert json.loads(config.read_text()) == {
        "operating_points": {"recall": 0.3},
        "calibration": {"contradiction_weight": 1.0},
    }
