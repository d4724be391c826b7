"""The measurement of marked words, on a fake verifier."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import findings
from halldetect import Detector
from halldetect.inputs import Pair
from halldetect_bench.datasets.labelled_rows import Loaded, Row
from tests.support.fakes import OverlapVerifier

SOURCE = "The old mill by the river closed in May. Nobody spoke of a fire in the town."
RESPONSE = "The old mill by the river closed in May. Purple giants danced."


def rows(name: str, root: Any = None) -> Loaded:
    marked = Row(name, "1", SOURCE, RESPONSE, True, document="a", spans=((41, 62),))
    return Loaded((marked, Row(name, "2", SOURCE, SOURCE, False, document="a")), ())


@pytest.fixture
def options(monkeypatch: pytest.MonkeyPatch) -> argparse.Namespace:
    monkeypatch.setattr(findings, "load_dataset", rows)
    monkeypatch.setattr(findings, "verifier_of", lambda options: OverlapVerifier())
    return argparse.Namespace(
        train=False, data="", rows=None, jobs=1, device="cpu", verifier="base", kept=None,
        faithbench=None,
    )  # fmt: skip


def test_marks_are_compared_by_character(options: argparse.Namespace) -> None:
    figures = findings.words(options)
    assert (figures["responses"], figures["marked"], figures["flagged"]) == (6, 3, 3)
    assert figures["sentences"]["f1"] == 1.0
    assert figures["words"]["precision"] == 1.0
    assert figures["claims"]["by_dataset"].keys() == {"data2txt", "qa", "summary"}


def test_interrupted_words_continue_from_kept_rows(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    options.kept, options.rows = tmp_path / "rows.jsonl", 3
    findings.words(options)
    options.rows = None
    figures = findings.words(options)
    assert len(options.kept.read_text("utf-8").splitlines()) == figures["responses"] == 6
    monkeypatch.setattr(findings, "verifier_of", lambda options: pytest.fail("nothing is left"))
    again = findings.words(options)
    assert again == figures


def test_rows_are_taken_by_source_in_turn() -> None:
    def row(name: str, source: str, at: int) -> Row:
        return Row(name, f"{source}/{at}", SOURCE, RESPONSE, True, document=source)

    loaded = [[row(name, source, at) for at in range(2) for source in "abc"] for name in ("p", "q")]
    some = findings.chosen(loaded, 8)
    assert [item.dataset for item in some] == ["p", "p", "q", "q"] * 2
    assert all(one.document == two.document for one, two in zip(some[::2], some[1::2], strict=True))
    assert some == findings.chosen(loaded, None)[:8]


def test_time_of_findings_is_compared_with_the_rest(
    options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings, "disputed_pairs", lambda: [Pair([SOURCE, SOURCE], RESPONSE)])
    found = findings.time_added(Detector(verifier=OverlapVerifier()), "", 2)
    assert [part["checks"] for part in found.values()] == [2, 24, 1]
    assert all(part["added"] > 0 for part in found.values())


def test_spans_of_faithbench_are_those_called_unwanted(
    options: argparse.Namespace, tmp_path: Path
) -> None:
    labels = ["Unwanted", "Unwanted.Intrinsic"], ["Benign"]
    marked = [{"summary_start": 41, "summary_end": 62, "label": label} for label in labels]
    marked[1]["summary_start"] = 0
    sample = {"sample_id": 3, "source": SOURCE, "summary": RESPONSE, "annotations": marked}
    folder = tmp_path / "data_for_release"
    folder.mkdir()
    (folder / "batch_1.json").write_text(json.dumps({"samples": [sample]}), encoding="utf-8")
    (row,) = findings.faithbench_rows(tmp_path)
    assert (row.id, row.spans, row.hallucinated) == ("batch_1/3", ((41, 62),), True)
    options.faithbench = tmp_path
    assert findings.words(options)["words"]["precision"] == 1.0


def test_f1_by_hand() -> None:
    assert findings.f1([(1, 2, 2), (0, 0, 0)]) == 0.5
    assert findings.f1([(0, 0, 0)]) == 0.0
