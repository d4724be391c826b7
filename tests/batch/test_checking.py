"""Rows to reports: any blocks, any cache, and a defect on one row."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from halldetect import Report
from halldetect.batch.job import Job, input_parts
from halldetect.batch.local import PartChecker, run_local, run_settings
from halldetect.batch.resume import PartsFolder
from halldetect.errors import CheckError
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


def test_a_worker_with_other_settings_checks_nothing(tmp_path: Path) -> None:
    source = write_jsonl(tmp_path / "in.jsonl", ROWS)
    job = Job(str(source), f"{tmp_path / 'out.jsonl'}/")
    folder, wanted = PartsFolder(job), run_settings(detector())
    with folder.opened(wanted, 4):
        (part,) = input_parts(job, detector().configuration, 4)
        with (
            closing(PartChecker(lambda: detector(threshold=0.25), wanted, job, folder)) as other,
            pytest.raises(CheckError, match="a worker has other models"),
        ):
            other(part)
        assert folder.names() == []
        with closing(PartChecker(detector, wanted, job, folder)) as same:
            assert same(part).counts.rows == len(ROWS)
