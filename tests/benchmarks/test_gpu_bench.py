"""Rows for the evaluation on a machine without the datasets."""

from __future__ import annotations

import gzip
from pathlib import Path

from benchmarks.gpu_bench import read_rows, write_rows
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.predictions import row_digest


def test_rows_taken_to_another_machine_are_the_same_rows(tmp_path: Path) -> None:
    rows = [
        Row("d", "1", ("One.", "Two."), "One.", False, 4.5, (("One.", False),), None, "x", "Why?"),
        Row("d", "2", "Ünïcode \u2028 text.", "Yes.", True, kind="number", document="y"),
    ]
    path = tmp_path / "rows.jsonl.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        write_rows(file, "d", rows)
    assert read_rows(path, None) == {"d": rows}
    assert [row_digest(row) for row in read_rows(path, 1)["d"]] == [row_digest(rows[0])]
