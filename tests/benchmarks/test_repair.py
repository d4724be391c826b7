"""The figures of repairs, on a few rows and a fake verifier."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks import repair as bench
from halldetect_bench.datasets.labelled_rows import Row
from tests.support.fakes import use_overlap_verifier

SOURCE = "Anna Holm designed the bridge. The bridge opened in 1932. It is red."
ROWS = [
    Row("d", "test/1", SOURCE, "The bridge opened in 1932. Zebras sing.", True),
    Row("d", "test/2", SOURCE, "Anna Holm designed the bridge.", False),
]


def test_a_sample_is_half_hallucinated() -> None:
    rows = [Row("d", str(n), "S.", "R.", n % 4 == 0) for n in range(40)]
    found = bench.sample(rows, 10, 0)
    assert [row.hallucinated for row in found] == [True] * 5 + [False] * 5
    assert found[:2] == bench.sample(rows, 4, 0)[:2]


def test_words_are_compared_in_order() -> None:
    assert bench.common_words("a b c d", "a c d b") == 3
    assert bench.share([]) is None


def test_the_command_writes_a_section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)
    monkeypatch.setattr(bench, "load_dataset", lambda *_: SimpleNamespace(rows=ROWS))
    out = tmp_path / "repair.json"
    command = [str(tmp_path), "--judge", "base", "--datasets", "defacto", "--out", str(out)]
    monkeypatch.setattr(sys, "argv", ["repair", *command])
    monkeypatch.setattr(bench, "repairers", lambda *_: {"rules": bench.Repairer(bench.Detector())})
    bench.main()
    rules = json.loads(out.read_text())["verifiers"]["base"]["rules"]["defacto"]
    assert (rules["hallucinated"], rules["faithful"]) == (1, 1)
    assert rules["flagged"] == 1.0
    assert rules["words_left_in_faithful"] == 1.0
    assert rules["judged_by"]["base"]["faithful_after"] == 1.0
