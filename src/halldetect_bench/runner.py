"""Running methods over datasets, in a way that can be stopped and taken up again at any row."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.meter import Meter
from halldetect_bench.methods.method import Method
from halldetect_bench.predictions import (
    Header,
    header_of,
    open_predictions,
    prediction_of,
    row_digest,
)

# Rows done and rows to do, of this run.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Ran:
    """What one run did: where its results are, and how many rows were new or already there."""

    header: Header
    path: Path
    new: int
    kept: int


def sample(rows: Sequence[Row], limit: int | None, seed: int) -> list[Row]:
    """`limit` rows drawn at random, in the order of the dataset; all of them without a limit.

    A larger limit with the same seed holds the rows of a smaller one, so that a run can be
    made longer without repeating anything.
    """
    if limit is None or limit >= len(rows):
        return list(rows)
    if limit < 1:
        raise InputError(f"--limit must be at least 1, not {limit}")
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    return [rows[place] for place in sorted(order[:limit])]


def run(
    dataset: str,
    rows: Sequence[Row],
    method: Method,
    folder: Path,
    *,
    batch: int = 1,
    progress: Progress | None = None,
) -> Ran:
    """Score the rows that are not in the results yet, and add them one by one.

    `batch` rows go to the method together. More is faster on some machines, but rows of a
    batch share their time equally, and all of a batch is lost when the process is killed.
    """
    if batch < 1:
        raise InputError(f"--batch must be at least 1, not {batch}")
    header = header_of(dataset, method.description)
    with open_predictions(folder, header) as book:
        todo = missing(rows, book.done, folder / header.path)
        kept = len(rows) - len(todo)
        meter = Meter()
        for start in range(0, len(todo), batch):
            part = todo[start : start + batch]
            with meter.measure(len(part)):
                found = method.score_many(part)
            for row, scored in zip(part, found, strict=True):
                book.append(prediction_of(row, scored, meter.last))
            if progress is not None:
                progress(start + len(part), len(todo))
    return Ran(header, folder / header.path, len(todo), kept)


def missing(rows: Sequence[Row], done: dict[str, str], path: Path) -> list[Row]:
    todo = []
    for row in rows:
        if row.id not in done:
            todo.append(row)
        elif done[row.id] != row_digest(row):
            raise InputError(
                f"{path} was made with other data: row {row.id} has changed; choose another -o"
            )
    return todo
