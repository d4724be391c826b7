"""Your own data: `jsonl:PATH`, one JSON object per line (JSON arrays, CSV and Parquet work too).

Fields: `source` (text, or a list of documents), `response`, `hallucinated` (true/false or 1/0);
optional `id`, `question`, `kind`, `document`, `score` (higher = more faithful, may replace
`hallucinated`) and `sentences` (a list of [text, hallucinated]).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect_bench.datasets.labelled_rows import Loaded, Row, Unusable, collect
from halldetect_bench.datasets.readers import read_table_file

_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}


def load(path: Path) -> Loaded:
    """The rows of the dataset.

    path: the folder of the release, or the file itself.
    """
    if not path.is_file():
        raise InputError(
            f"{path} does not exist: give a JSON-lines file of source, response, hallucinated"
        )
    name = f"jsonl:{path.stem}"

    def rows(position: int, record: dict[str, Any]) -> Iterable[Row]:
        source = record["source"]
        score = record.get("score")
        yield Row(
            dataset=name,
            id=str(record.get("id") or position),
            source=tuple(source) if isinstance(source, list) else source,
            response=record["response"],
            hallucinated=truth(record.get("hallucinated")),
            score=None if score in (None, "") else float(score),
            sentences=tuple(
                (str(text), _wrong(mark)) for text, mark in record.get("sentences") or ()
            ),
            kind=record.get("kind") or None,
            document=str(record.get("document") or ""),
            question=record.get("question") or None,
        )

    return collect(read_table_file(path), rows)


def truth(value: Any) -> bool | None:
    """A label as people write it; None where there is none.

    value: true, false, yes, no, 1 or 0, in any form.
    """
    if value is None or value == "":
        return None
    known = _TRUTH.get(str(value).strip().lower())
    if known is None:
        raise Unusable(f"hallucinated must be true or false, not {value!r}")
    return known


def _wrong(mark: Any) -> bool:
    known = truth(mark)
    if known is None:
        raise Unusable("a sentence without a label")
    return known
