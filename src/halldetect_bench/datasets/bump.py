"""BUMP: reference summaries and minimally edited, unfaithful versions of them (889 pairs).

The edited summary is hallucinated, `kind` its error type; the reference is faithful. Task 1
edits each reference about seven times and shares references with task 2, so a reference is a
row once: the balance of the rows is therefore not that of the pairs. Of task 1 only the articles
are read that task 2 has too: the four others were trained on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect, join
from halldetect_bench.datasets.readers import folder, locate, read_table_file

HINT = "the BUMP release, github.com/dataminr-ai/BUMP"
TASKS = (1, 2)


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    references: set[tuple[str, str]] = set()
    both = [_load(path, task, references) for task in TASKS]
    held_out = {row.document for row in both[-1].rows}
    kept = tuple(row for row in both[0].rows if row.document in held_out)
    return join([replace(both[0], rows=kept), both[-1]])


def loader(task: int) -> Callable[[Path], Loaded]:
    """A loader of one task only.

    task: one of TASKS.
    """
    return lambda path: _load(path, task, set())


def _load(path: Path, task: int, references: set[tuple[str, str]]) -> Loaded:

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        article = str(record["article_id"])
        name = f"bump-task{task}"
        kind = record.get("corrected_error_type") or record["error_type"]
        yield Row(
            dataset=name,
            id=f"task{task}/{record['id']}/edited",
            source=record["article"],
            response=record["edited_summary"],
            hallucinated=True,
            kind=kind.lower().removesuffix(" error"),
            document=article,
        )
        reference = (article, record["reference_summary"])
        if reference not in references:
            references.add(reference)
            yield Row(
                dataset=name,
                id=f"task{task}/{record['id']}/reference",
                source=record["article"],
                response=record["reference_summary"],
                hallucinated=False,
                document=article,
            )

    return collect(
        read_table_file(locate(folder(path), f"task{task}_dataset.json", hint=HINT)), rows
    )
