"""The rule of `auto`: fitted on stored answers, and the same in the detector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cascade
from halldetect.verification.cascade import UNSURE_FROM, UNSURE_TO, is_unsure
from training.large.data import write
from training.large.measure import save_logits

SETS = ("wice", "bump", "qags-cnndm", "summeval")


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Answers to 400 responses; the second verifier is right where the first is unsure."""
    random = np.random.default_rng(0)
    groups, rows, logits = [], [], {"base": [], "large": []}
    for at in range(400):
        wrong, clear = bool(at // 4 % 2), bool(random.random() < 0.6)
        claims = [f"The mill had {at} floors and {place} doors." for place in range(1 + at % 3)]
        groups.append({"premise": f"Source {at}.", "claims": claims, "source": "x"})
        rows.append(
            {"set": SETS[at % 4], "wrong": wrong, "group": at, "document": str(at),
             "claims": [[place, None] for place in range(len(claims))]}
        )  # fmt: skip
        for name, values in logits.items():
            for place in range(len(claims)):
                is_wrong = wrong and place == 0
                size = 4.0 if clear or name == "large" else random.uniform(-1.5, 1.0)
                values.append([0.0, size, 0.0] if is_wrong else [size, 0.0, 0.0])
    write(tmp_path / "eval_rows.jsonl.xz", rows)
    write(tmp_path / "eval_groups.jsonl.xz", groups)
    first = np.cumsum([0, *(len(group["claims"]) for group in groups)])
    weights = tmp_path / "weights"
    weights.write_bytes(b"1")
    for name, values in logits.items():
        save_logits(tmp_path, name, np.array(values), first, weights)
    return tmp_path


def run(work: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    out = work / "cascade.json"
    monkeypatch.setattr("sys.argv", ["cascade", str(work), "--share", "0.5", "--out", str(out)])
    cascade.main()
    return json.loads(out.read_text())


def test_fitted_rule_gets_most_of_the_gain(
    work: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run(work, monkeypatch)
    measured = found["rules"]["fitted, 0.5"]
    assert set(measured["development"]) == {"mean", "wice", "bump"}
    assert set(measured["test"]) == {"mean", "qags-cnndm", "summeval"}
    mean = measured["test"]["mean"]
    assert 0.3 < mean["asked"] < 0.5
    assert mean["balanced, first"] < mean["balanced, second"] == 1.0
    assert mean["balanced, part of the gain"] > 0.9
    few = found["rules"]["fitted, 0.1"]["test"]["mean"]
    assert few["balanced, part of the gain"] < mean["balanced, part of the gain"]
    printed = capsys.readouterr().out
    low, high = cascade.bounds(found["weights"], found["cuts"]["0.5"])
    assert f"UNSURE_FROM, UNSURE_TO = {low}, {high}" in printed
    assert 0.0 < low < 0.5 < high < 1.0


def test_the_detector_has_the_same_rule(work: Path) -> None:
    sets, _ = cascade.stored(work, "base", "large")
    decisions = [
        (is_unsure([0.99, round(1 - float(first), 6)]), bool(score >= cascade.ASKS_FROM))
        for item in sets.values()
        for first, score in zip(
            item.first, cascade.asking_scores(item, cascade.WEIGHTS), strict=True
        )
    ]
    assert {ours for ours, _ in decisions} == {True, False}
    assert all(ours is theirs for ours, theirs in decisions)
    assert cascade.bounds(cascade.WEIGHTS, cascade.ASKS_FROM) == (UNSURE_FROM, UNSURE_TO)


def test_answers_to_other_rows_are_refused(work: Path) -> None:
    with np.load(work / "large_logits.npz") as found:
        arrays = dict(found)
    arrays["logits"][:1] = np.nan
    np.savez_compressed(work / "large_logits.npz", **arrays)
    with pytest.raises(SystemExit, match="not judged the same rows"):
        cascade.stored(work, "base", "large")
