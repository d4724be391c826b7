"""The measurement of marked words, on a fake verifier."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

from benchmarks import findings
from halldetect_bench.datasets.labelled_rows import Loaded, Row
from tests.support.fakes import OverlapVerifier

SOURCE = "The old mill by the river closed in May. Nobody spoke of a fire in the town."
RESPONSE = "The old mill by the river closed in May. Purple giants danced."


def rows(name: str, root: Any = None) -> Loaded:
    marked = Row(name, "1", SOURCE, RESPONSE, True, document="a", spans=((41, 62),))
    return Loaded((marked, Row(name, "2", SOURCE, SOURCE, False, document="a")), ())


def test_marks_are_compared_by_character(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(findings, "load_dataset", rows)
    monkeypatch.setattr(findings, "verifier_of", lambda options: OverlapVerifier())
    options = argparse.Namespace(
        train=False, data="", rows=None, jobs=1, device="cpu", verifier="base"
    )
    figures = findings.words(options)
    assert (figures["responses"], figures["marked"], figures["flagged"]) == (6, 3, 3)
    assert figures["sentences"]["f1"] == 1.0
    assert figures["words"]["precision"] == 1.0
    assert figures["claims"]["by_dataset"].keys() == {"data2txt", "qa", "summary"}


def test_f1_by_hand() -> None:
    assert findings.f1([(1, 2, 2), (0, 0, 0)]) == 0.5
    assert findings.f1([(0, 0, 0)]) == 0.0
