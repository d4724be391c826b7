"""Rules for windows on a small recording whose outcomes can be worked out by hand."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import method_gate
from benchmarks.recorded_answers import STATES, Recorded, Rule, parse_rule
from halldetect.scoring import Calibration

SENTENCE, THREE, PAGE = 1 << 16, 1 << 17, 1
# Of each window: its set, tokens, overlap, P(E) and P(C); the second sentence shares more words
# than the first, but is much longer.
WINDOWS = (
    (SENTENCE, 5, 0.5, 0.9, 0.0),
    (SENTENCE, 90, 0.6, 0.2, 0.4),
    (THREE, 95, 0.6, 0.3, 0.6),
    (PAGE, 200, 0.6, 0.6, 0.2),
    (PAGE, 195, 0.1, 0.95, 0.0),
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A recording of six rows with a claim of five tokens each; every other row is wrong."""
    rows = 6
    names = ["wice", "qags-cnndm", "suite:checks"]
    meta = {"datasets": names, "rows": [[str(at), STATES[at % 2]] for at in range(rows)]}
    sets, tokens, overlap, p_e, p_c = np.array(WINDOWS).T
    # The claims of wrong rows are supported nowhere.
    shares = np.where(np.arange(rows) % 2, 0.05, 1.0)
    files = {
        "rows": {
            "meta": np.frombuffer(json.dumps(meta).encode(), np.uint8),
            "dataset": np.arange(rows) // 2,
            "label": np.arange(rows) % 2,
            "document": np.arange(rows),
            "claims": np.full(rows, 2),
            "windows": np.full(rows, len(WINDOWS)),
            "claim_tokens": np.tile([5, 7], rows),
            "claim_pairs": np.tile([len(WINDOWS), 0], rows),
        },
        "windows": {
            "tokens": np.tile(tokens, rows).astype(np.uint16),
            "sets": np.tile(sets, rows).astype(np.uint32),
        },
        "pairs": {"window": np.tile(np.arange(len(WINDOWS)), rows)},
        "overlap": {"overlap": np.round(np.tile(overlap, rows) * 65_535).astype(np.uint16)},
        "p_e": {"p_e": np.outer(shares, p_e).ravel()},
        "p_c": {"p_c": np.tile(p_c, rows)},
    }
    for name, arrays in files.items():
        np.savez(tmp_path / f"{name}.npz", **arrays)
    return tmp_path


@pytest.mark.parametrize(
    ("rule", "support", "contradiction", "tokens"),
    [
        ("1, 1, 0.8, 0", 0.9, 0.0, 10),
        ("1, 1, 0.95, 0", 0.9, (0.0 + 0.2) / 2, 10 + 205),
        ("1, 2, 0.95, 0", 0.95, (0.0 + 0.2) / 2, 10 + 205 + 200),
        ("1 3, 1, 0.95, 0", 0.9, (0.6 + 0.2) / 2, 10 + 100 + 205),
        ("1 1, 1, 0.95, 0", 0.9, (0.4 + 0.2) / 2, 10 + 95 + 205),
        ("3, 1, 0.95, 0", 0.6 * 0.9, (0.6 + 0.2) / 2, 100 + 205),
    ],
)
def test_outcomes_by_hand(
    folder: Path, rule: str, support: float, contradiction: float, tokens: int
) -> None:
    found = Recorded(folder, weight=0.5).judge(parse_rule(rule))
    assert found.support[0] == pytest.approx(support)
    assert found.contradiction[0] == pytest.approx(contradiction)
    assert found.tokens.tolist()[::2] == [tokens] * 3


def test_the_offset_moves_the_support_in_log_odds(folder: Path) -> None:
    found = Recorded(folder, weight=0.0).judge(Rule((1,), 1, 0.8, 0.2))
    assert found.support[0] == pytest.approx(1 / (1 + np.exp(-0.2) / 9))
    assert found.states(Calibration()).tolist() == [0, 1] * 3


def test_the_command_reports_changes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    today = np.array([[0.9] * 6, [0.0] * 6, [1000.0] * 6])  # every row looks faithful
    np.savez(folder / "reference.npz", today=today)
    out = folder / "out.json"
    command = [str(folder), str(folder / "reference.npz"), "--out", str(out)]
    method_gate.main([*command, "--rule", "1 3, 1, 0.95, 0"])
    written = json.loads(out.read_text(encoding="utf-8"))
    assert len(written["first"]) == 1
    tables = written["rules"]["1 3, 1, 0.95, 0.0"]
    assert {group: list(found) for group, found in tables.items()} == {
        "development": ["wice", "mean"],
        "others": ["qags-cnndm", "mean"],
        "suites": ["suite:checks", "mean"],
        "headline": ["wice", "qags-cnndm", "mean"],
    }
    wice = tables["development"]["wice"]
    assert (wice["AUROC"]["value"], wice["AUROC"]["change"]) == (1.0, 0.5)
    assert (wice["tokens"], wice["tokens_today"], wice["states_changed"]) == (315.0, 1000.0, 0.5)
    suite = tables["suites"]["suite:checks"]
    assert (suite["right_state"], suite["right_state_today"]) == (1.0, 0.5)
    assert "reference; development; " in capsys.readouterr().out
