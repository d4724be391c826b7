"""The mutation score on the page is that of the stored counts."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.mutation import score
from tests.mutation.__main__ import sample


def test_the_score_counts_mutants_and_reaches_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = [
        ("reading/claims.py", "killed"),
        ("reading/claims.py", "survived"),
        ("reading/claims.py", "not checked"),
        ("verification/windows.py", "timeout"),
        ("scoring.py", "killed"),
        ("pipeline.py", "no tests"),
    ]
    mutants, out, page = tmp_path / "m.jsonl", tmp_path / "m.json", tmp_path / "page.md"
    mutants.write_text(
        "".join(
            json.dumps({"name": "x", "file": f"src/halldetect/{file}", "status": status}) + "\n"
            for file, status in found
        )
    )
    page.write_text("before\n\n| code | mutants | noticed | score |\n|---|\n| old | 1 |\n\nafter\n")
    monkeypatch.setattr(sys, "argv", ["score", str(mutants), str(out), str(page)])
    score.main()
    assert json.loads(out.read_text())["reading/claims.py"] == {"killed": 1, "survived": 1}
    assert page.read_text() == (
        "before\n\n| code | mutants | noticed | score |\n|---|---|---|---|\n"
        "| `reading/` | 2 | 1 | 50.0 % |\n| `verification/` | 1 | 1 | 100.0 % |\n"
        "| `scoring.py` | 1 | 1 | 100.0 % |\n| `pipeline.py` | 1 | 0 | 0.0 % |\n"
        "| all | 5 | 3 | 60.0 % |\n\nafter\n"
    )
    page.write_text("no table here\n")
    with pytest.raises(SystemExit, match="no table of mutants"):
        score.main()


def test_a_sample_is_always_the_same_and_grows() -> None:
    names = [f"halldetect.scoring.x_f__mutmut_{number}" for number in range(500)]
    few, more = sample(names, 40, 1), sample(names, 80, 1)
    assert len(few) == 40
    assert few < more <= set(names)
    assert few == sample(reversed(names), 40, 1) != sample(names, 40, 2)
    assert sample(names, 1000, 1) == set(names)
