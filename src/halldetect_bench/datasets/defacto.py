"""DeFacto: model summaries of XSum articles with human error labels and corrections.

`defacto` is the test split, the one to report; `defacto-train` and `defacto-val` may be trained
on. `corrections` gives the human-corrected summaries of the erroneous ones, as faithful rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect
from halldetect_bench.datasets.readers import folder, locate, read_jsonl

HINT = "the DeFacto release, github.com/microsoft/DeFacto, data/"
SPLITS = ("train", "val", "test")


def loader(split: str) -> Callable[[Path], Loaded]:
    """A loader of one split only.

    split: one of SPLITS.
    """
    return lambda path: load_split(path, split)


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    return load_split(path, "test")


def load_split(path: Path, split: str) -> Loaded:
    """The rows of one split.

    path: the folder of the release. split: one of SPLITS.
    """

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        yield Row(
            dataset=f"defacto-{split}",
            id=f"{split}/{record['doc_id']}",
            source=record["article"],
            response=record["candidate"],
            hallucinated=bool(record["has_error"]),
            kind=_kind(record),
            document=f"{split}/{record['doc_id']}",
        )

    return collect(read_jsonl(locate(folder(path), f"{split}.jsonl", hint=HINT)), rows)


def corrections(path: Path, split: str) -> Loaded:
    """The corrected summary of every erroneous one that has a correction.

    path: the folder of the release. split: one of SPLITS.
    """

    def rows(_: int, record: dict[str, Any]) -> Iterable[Row]:
        corrected = record["feedback"]["summary"]
        if record["has_error"] and corrected.strip():
            yield Row(
                dataset=f"defacto-{split}-corrected",
                id=f"{split}/{record['doc_id']}/corrected",
                source=record["article"],
                response=corrected,
                hallucinated=False,
                document=f"{split}/{record['doc_id']}",
            )

    return collect(read_jsonl(locate(folder(path), f"{split}.jsonl", hint=HINT)), rows)


def _kind(record: dict[str, Any]) -> str | None:
    if not record["has_error"]:
        return None
    if record["intrinsic_error"] and record["extrinsic_error"]:
        return "both"
    return "intrinsic" if record["intrinsic_error"] else "extrinsic"
