"""The rule of `auto`, fitted on stored predictions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks import cascade
from halldetect.verification.cascade import UNSURE_FROM, UNSURE_TO

SETS = ("wice", "bump", "qags-cnndm", "summeval")


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Predictions for 400 responses; the second verifier is right where the first is unsure."""
    random = np.random.default_rng(0)
    lines: dict[tuple[str, str], list[Any]] = {}
    for at in range(400):
        dataset, wrong = SETS[at % 4], bool(at // 4 % 2)
        unsure = random.random() < 0.4
        first = random.uniform(0.3, 0.7) if unsure else 0.98 if wrong else 0.02
        scores = {"base": float(first), "large": 0.98 if wrong else 0.02}
        for name, score in scores.items():
            row: dict[str, Any] = dict.fromkeys(("kind", "gold_score", "reason"))
            row |= {"id": str(at), "row": "0", "document": str(at), "gold": wrong, "score": score}
            row |= {"claims": [], "cost": {}}
            lines.setdefault((dataset, name), []).append(row)
    for (dataset, name), rows in lines.items():
        folder = tmp_path / dataset
        folder.mkdir(exist_ok=True)
        method = {"name": "halldetect", "verifier": {"name": name, "digest": name * 8}}
        header = {"dataset": dataset, "method": method, "version": "0", "format": 1}
        text = "".join(json.dumps(line) + "\n" for line in (header, *rows))
        (folder / f"halldetect-{name}.jsonl").write_text(text)
    (tmp_path / "settings.toml").write_text('development = ["wice", "bump"]\n')
    return tmp_path


def run(results: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    out = results / "cascade.json"
    monkeypatch.setattr("sys.argv", ["cascade", str(results), "--share", "0.5", "--out", str(out)])
    cascade.main()
    return json.loads(out.read_text())


def test_fitted_rule_gets_most_of_the_gain(
    results: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = run(results, monkeypatch)
    measured = found["rules"]["fitted, 0.5"]
    assert set(measured["development"]) == {"mean", "wice", "bump"}
    assert set(measured["other"]) == {"mean", "qags-cnndm", "summeval"}
    mean = measured["other"]["mean"]
    assert 0.3 < mean["asked"] < 0.6
    assert mean["balanced, first"] < mean["balanced, second"] == 1.0
    assert mean["balanced, part of the gain"] > 0.9
    few = found["rules"]["fitted, 0.1"]["other"]["mean"]
    assert few["balanced, part of the gain"] < mean["balanced, part of the gain"]
    low, high = cascade.bounds(found["weights"], found["cuts"]["0.5"])
    assert f"UNSURE_FROM, UNSURE_TO = {low}, {high}" in capsys.readouterr().out
    assert 0.0 < low < 0.5 < high < 1.0


def test_stored_rule_is_that_of_the_detector() -> None:
    stored = json.loads((cascade.RESULTS / "cascade.json").read_text())
    assert stored["rules"]["shipped"]["supports"] == [UNSURE_FROM, UNSURE_TO]


def test_two_sets_of_weights_are_refused(results: Path) -> None:
    file = results / "wice" / "halldetect-large.jsonl"
    file.write_text(file.read_text().replace("large" * 8, "other" * 8))
    with pytest.raises(SystemExit, match="other weights of large"):
        cascade.stored([results])
