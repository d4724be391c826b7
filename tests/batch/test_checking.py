"""Rows to reports: any blocks, any cache, and a defect on one row."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Report
from halldetect.batch.job import Job
from halldetect.batch.local import run_local
from tests.support.batch_files import (
    GOOD,
    ROWS,
    SOURCE,
    WRONG,
    detector,
    results,
    untimed,
    write_jsonl,
)


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from([GOOD, WRONG, f"{GOOD} {WRONG}", "", "Is it?"]), max_size=12),
    st.integers(1, 5),
)
def test_blocks_and_cache_change_no_byte(
    tmp_path_factory: pytest.TempPathFactory, responses: list[str], size: int
) -> None:
    folder = tmp_path_factory.mktemp("sizes")
    rows = [{"source": SOURCE, "response": text} for text in responses]
    source = str(write_jsonl(folder / "in.jsonl", rows))
    run_local(detector(), Job(source, str(folder / "one.jsonl"), batch_size=100))
    job = Job(source, str(folder / "two.jsonl"), batch_size=size, cache=str(folder / "kept"))
    run_local(detector(), job)
    assert untimed(folder / "one.jsonl") == untimed(folder / "two.jsonl")


def test_defect_on_one_row_spares_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = detector()
    real = made.check_many

    def check_many(pairs: Any) -> list[Report]:
        if any("1850" in pair.response for pair in pairs):
            raise KeyError("colour")
        return real(pairs)

    monkeypatch.setattr(made, "check_many", check_many)
    source = write_jsonl(tmp_path / "in.jsonl", ROWS)
    run_local(made, Job(str(source), str(tmp_path / "out.jsonl")))
    found = results(tmp_path / "out.jsonl")
    assert [row["bad_row"] for row in found] == [False, True, False, False]
    assert found[1]["reason"] == "the check failed: KeyError: 'colour'"
