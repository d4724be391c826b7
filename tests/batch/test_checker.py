"""Rows to reports: claims ahead of verdicts, and one row that fails."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Detector, Pair, Report
from halldetect.batch.cache import ReportCache
from halldetect.batch.job import Job
from halldetect.batch.local import run_local, run_settings
from halldetect.claims.extraction import Draft
from halldetect.report import Probabilities
from tests.support.batch_files import (
    GOOD,
    ROWS,
    SOURCE,
    WRONG,
    detector,
    results,
    rows,
    untimed,
    write_jsonl,
)
from tests.support.fakes import OverlapVerifier, SentenceExtractor


class Meeting(SentenceExtractor):
    """Waits until the verifier is at work on other rows."""

    def __init__(self) -> None:
        super().__init__()
        self.judging = threading.Event()
        self.extracting = threading.Event()

    def draft(self, block: str, limit: int) -> Draft:
        if len(self.blocks) == 4:
            assert self.judging.wait(30)
            self.extracting.set()
        return super().draft(block, limit)


def test_extractor_and_verifier_work_at_the_same_time(tmp_path: Path) -> None:
    extractor = Meeting()
    together: list[bool] = []

    class Judge(OverlapVerifier):
        def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
            extractor.judging.set()
            together.append(extractor.extracting.wait(30))
            return super().judge(pairs)

    source = write_jsonl(tmp_path / "in.jsonl", rows(12, [f"{GOOD} {n}" for n in range(12)]))
    job = Job(str(source), str(tmp_path / "out.jsonl"), batch_size=4)
    run_local(Detector(extractor, Judge()), job)
    assert together
    assert all(together)
    expected = detector().check_many(
        [
            Pair(row["source"], row["response"])
            for row in rows(12, [f"{GOOD} {n}" for n in range(12)])
        ]
    )
    assert [row["score"] for row in results(tmp_path / "out.jsonl")] == [
        report.score for report in expected
    ]


@settings(max_examples=15)
@given(
    st.lists(st.sampled_from([GOOD, WRONG, f"{GOOD} {WRONG}", "", "Is it?"]), max_size=12),
    st.integers(1, 5),
)
def test_no_division_of_the_rows_changes_a_byte(
    tmp_path_factory: pytest.TempPathFactory, responses: list[str], size: int
) -> None:
    folder = tmp_path_factory.mktemp("sizes")
    source = write_jsonl(
        folder / "in.jsonl", [{"source": SOURCE, "response": text} for text in responses]
    )
    run_local(detector(), Job(str(source), str(folder / "one.jsonl"), batch_size=100))
    with_cache = ReportCache(folder / "kept", run_settings(detector()))
    run_local(
        detector(), Job(str(source), str(folder / "two.jsonl"), batch_size=size), cache=with_cache
    )
    with_cache.close()
    assert untimed(folder / "one.jsonl") == untimed(folder / "two.jsonl")


def test_a_defect_on_one_row_leaves_the_others_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from halldetect import pipeline

    real = pipeline.conclude

    def conclude(case: Any, *rest: Any) -> Report:
        if "1850" in case.pair.response:
            raise KeyError("colour")
        return real(case, *rest)

    monkeypatch.setattr(pipeline, "conclude", conclude)
    source = write_jsonl(tmp_path / "in.jsonl", ROWS)
    run_local(detector(), Job(str(source), str(tmp_path / "out.jsonl")))
    found = results(tmp_path / "out.jsonl")
    assert [row["bad_row"] for row in found] == [False, True, False, False]
    assert found[1]["reason"] == "the check failed: KeyError: 'colour'"
