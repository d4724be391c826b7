"""HaluEval: right and hallucinated answers, replies and summaries (10,000 pairs per task).

`halueval-qa`, `halueval-dialogue` and `halueval-summarization` are the tasks, `halueval` all
three. Each record gives a faithful and a hallucinated row. In dialogues the source is the
knowledge and the history, two documents. The hallucinated texts were written by a model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect, join
from halldetect_bench.datasets.readers import folder, locate, read_table_file

HINT = "the HaluEval release, github.com/RUCAIBox/HaluEval, data/"


@dataclass(frozen=True, slots=True)
class Task:
    """The published field names of one task."""

    sources: tuple[str, ...]
    response: str
    question: str | None = None


TASKS = {
    "qa": Task(("knowledge",), "answer", "question"),
    "dialogue": Task(("knowledge", "dialogue_history"), "response"),
    "summarization": Task(("document",), "summary"),
}


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return join(_load(path, name) for name in TASKS)


def loader(name: str) -> Callable[[Path], Loaded]:
    """A loader of one task only.

    task: one of TASKS.
    """
    return lambda path: _load(path, name)


def _load(path: Path, name: str) -> Loaded:
    task = TASKS[name]

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        parts = tuple(str(record[field]) for field in task.sources)
        for field, hallucinated in (("right", False), ("hallucinated", True)):
            yield Row(
                dataset=f"halueval-{name}",
                id=f"{name}/{position}/{field}",
                source=parts[0] if len(parts) == 1 else parts,
                response=record[f"{field}_{task.response}"],
                hallucinated=hallucinated,
                document=f"{name}/{position}",
                question=record[task.question] if task.question else None,
            )

    return collect(read_table_file(locate(folder(path), f"{name}_data.json", hint=HINT)), rows)
