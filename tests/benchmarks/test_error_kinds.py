"""Kinds of error, measured: what a row should get, and the command."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import error_kinds
from benchmarks.error_kinds import Case
from halldetect.report import ErrorKind

TOWER = "The tower was built in 1875 by Olaf Berg."


@pytest.mark.parametrize(
    ("after", "kind"),
    [
        ("It closed in May 2019.", ErrorKind.DATE),
        ("It cost 40 times more.", ErrorKind.NUMBER),
        ("It was Anna Holm who left.", ErrorKind.NAME),
        ("It left quickly.", None),
    ],
)
def test_an_edit_has_the_kind_of_inserted_words(after: str, kind: ErrorKind | None) -> None:
    assert error_kinds.changed_kind("It closed and was who left of them behind.", after) is kind


def test_precision_and_recall_are_counted_by_kind() -> None:
    date, name = ErrorKind.DATE, ErrorKind.NAME
    cases = [Case("own", "t", "", "", wanted, frozenset({wanted})) for wanted in (date, date, name)]
    found = error_kinds.figures(cases, [date, None, date])
    assert found["precision_by_kind"] == {"date": [1, 2], "name": [0, 0]}
    assert found["recall_by_kind"] == {"date": [1, 2], "name": [0, 1]}
    assert (found["given"], found["precision"], found["recall"]) == (2, 0.5, 0.3333)


def test_the_command_measures_edits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "summedits").mkdir()
    (tmp_path / "bump").mkdir()
    row = {
        "corrected_error_type": "Extrinsic Entity Error",
        "reference_summary": TOWER,
        "edited_summary": TOWER.replace("Olaf Berg", "Hans Moe"),
        "article": TOWER,
    }
    (tmp_path / "bump" / "task1_dataset.json").write_text(json.dumps([row]), "utf-8")
    monkeypatch.setattr(error_kinds, "minimal_pairs", lambda: iter(()))
    out = tmp_path / "out.json"
    error_kinds.main(["--data", str(tmp_path), "--out", str(out)])
    found = json.loads(out.read_text("utf-8"))["rules"]["bump"]["by_rule"]
    assert found["precision_by_kind"] == {"name": [1, 1]}
