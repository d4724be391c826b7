"""Run a method over a dataset; a run can be stopped at any row and continued later."""

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
    header_of,
    open_predictions,
    prediction_of,
    row_digest,
)

# Called with the rows done and the rows to do.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The file of a run, and the numbers of new and of existing rows."""

    path: Path
    new: int
    kept: int


def sample(rows: Sequence[Row], limit: int | None, seed: int) -> list[Row]:
    """Return a random sample, in the order of the dataset; all rows if the limit is None.

    A larger sample with the same seed contains the smaller one, so that a run can be extended.
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
    command: str = "",
    sample: dict[str, int] | None = None,
) -> RunOutcome:
    """Score the rows of a dataset that are missing in a folder of results, and append them.

    Each call of the method gets `batch` rows. Large batches are faster on some machines, but their
    rows share the time equally, and a killed process loses the whole batch. `command` and `sample`
    are for the header; see `predictions.header_of`.
    """
    if batch < 1:
        raise InputError(f"--batch must be at least 1, not {batch}")
    header = header_of(dataset, method.description, command=command, sample=sample)
    with open_predictions(folder, header) as writer:
        todo = missing(rows, writer.done, folder / header.path)
        kept = len(rows) - len(todo)
        meter = Meter()
        for start in range(0, len(todo), batch):
            part = todo[start : start + batch]
            with meter.measure(len(part)):
                found = method.score_many(part)
            for row, scored in zip(part, found, strict=True):
                writer.append(prediction_of(row, scored, meter.last))
            if progress is not None:
                progress(start + len(part), len(todo))
    return RunOutcome(folder / header.path, len(todo), kept)


def missing(rows: Sequence[Row], done: dict[str, str], path: Path) -> list[Row]:
    """Return the rows that are not in `done`, the row digests by id; none of these may differ."""
    todo = []
    for row in rows:
        if row.id not in done:
            todo.append(row)
        elif done[row.id] != row_digest(row):
            raise InputError(
                f"{path} was made with other data: row {row.id} has changed; choose another -o"
            )
    return todo
