"""Figures and calibration from answers whose best cut is known."""

from __future__ import annotations

import json
import lzma
import sys
from pathlib import Path

import numpy as np
import pytest

from training.large import measure


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Rows of several sets; a claim with P(E) under 0.6 is wrong: the model is too sure."""
    rng = np.random.default_rng(1)
    rows, logits = [], []
    groups = []
    for name in (*measure.SIX[:1], *measure.SHORT_DEV, *measure.LONG_DEV, "cases", "test-qa"):
        for at in range(40):
            wrong = at % 2 == 0
            entailed = rng.uniform(0.05, 0.62) if wrong else rng.uniform(0.58, 0.95)
            shares = np.array([[entailed, 0.7 - 0.7 * entailed, 0.3 - 0.3 * entailed],
                               [0.97, 0.02, 0.01], [0.1, 0.8, 0.1]])  # fmt: skip
            logits.append(np.log(shares))
            # The second claim fails as it stands and passes in its other reading.
            rows.append({"set": name, "wrong": wrong, "claims": [[0, None], [2, 1]],
                         "labels": ["N" if wrong else "E", "E"], "group": len(groups),
                         "document": str(at)})  # fmt: skip
            groups.append({"premise": f"{name} {at}", "claims": ["a", "b", "c"]})
    for file, lines in (("eval_rows.jsonl.xz", rows), ("eval_groups.jsonl.xz", groups)):
        with lzma.open(tmp_path / file, "wt") as out:
            out.writelines(json.dumps(line) + "\n" for line in lines)
    weights = tmp_path / "weights" / "adapter"
    weights.parent.mkdir()
    weights.write_text("w")
    first = measure.groups_first(tmp_path)
    assert first.tolist() == list(range(0, 3 * len(groups) + 1, 3))
    measure.save_logits(tmp_path, "new", np.concatenate(logits), first, weights)
    measure.save_logits(tmp_path, "old", np.concatenate(logits)[:, ::-1], first, weights)
    return tmp_path


def test_the_fit_moves_the_cut_to_the_best_place(work: Path) -> None:
    answers = measure.Answers(work, "new")
    before = answers.scores({"contradiction_weight": 0.0})["dev-qa"]
    found = measure.fit(answers)
    after = answers.scores(found)["dev-qa"]
    assert measure.balanced(*after) > measure.balanced(*before) - 1e-9
    assert measure.balanced(*after) >= 0.9
    assert "length" not in found
    assert measure.fit(answers, 0.5)["length"] == 0.5, "another length is no better"


def test_a_rescued_reading_counts_and_windows_take_the_best(work: Path) -> None:
    answers = measure.Answers(work, "new")
    supports = answers.supports({"contradiction_weight": 0.0})
    assert len(supports) == 2 * len(answers.rows)
    assert np.allclose(supports[1::2], 0.97, atol=0.01)
    logits = np.log(np.array([[0.2, 0.7, 0.1], [0.9, 0.05, 0.05]] * 3 * len(answers.rows)))
    windows = np.arange(0, 2 * 3 * len(answers.rows) + 1, 2)
    file = work / "weights" / "adapter"
    measure.save_logits(work, "base", logits, measure.groups_first(work), file, windows)
    two = measure.Answers(work, "base").supports({"contradiction_weight": 0.0})
    assert np.allclose(two, 0.9, atol=0.01)


def test_the_report_writes_calibration_and_thresholds(
    work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = work / "weights" / "config.json"
    config.write_text('{"name": "kept"}')
    words = ["report", str(work), "--name", "new", "--against", "old", "--config", str(config),
             "--fit", "--out", str(work / "out.json")]  # fmt: skip
    monkeypatch.setattr(sys, "argv", ["measure", *words])
    measure.main()
    written, result = json.loads(config.read_text()), json.loads((work / "out.json").read_text())
    assert written["name"] == "kept"
    assert written["calibration"] == result["calibration"]
    assert written["operating_points"] == result["operating_points"]
    assert result["responses"]["test-qa"]["auroc"] > 0.97
    assert result["sentences"]["test-qa"]["rows"] == 80
    assert result["gain"]["test-qa"]["auroc"] > 0.1
    assert set(result["weights"]) == {"adapter", "config.json"}


def test_made_up_answers_have_one_wrong_sentence_or_none() -> None:
    claims = [{"text": f"Fact {n}.", "label": "E" if n < 9 else "C"} for n in range(12)]
    group = {"premise": "p", "source": "records", "claims": claims}
    rows = list(measure.made_up(iter([group, {**group, "source": "other"}])))
    assert [row["wrong"] for row in rows] == [False, True, False, True]
    assert all(row["labels"].count("C") == row["wrong"] for row in rows)
