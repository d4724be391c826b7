"""Results as Parquet: made from the finished JSON lines, a group of rows at a time.

What has no fixed shape (the report, the evidence, the carried columns) is JSON text there.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from halldetect.batch.results import Level, dump
from halldetect.errors import MissingExtra
from halldetect.report import Status

# Rows of one group are in memory together; reports differ widely in size.
_GROUP_ROWS = 4096
_GROUP_BYTES = 16 * 1024 * 1024
_SHAPES = {
    Level.RESPONSE: {
        "id": "text",
        "verdict": "text",
        "reason": "text",
        "bad_row": "truth",
        "score": "number",
        "fed_score": "number",
        "claims": "counts",
        "columns": "json",
        "report": "json",
    },
    Level.CLAIM: {
        "id": "text",
        "verdict": "text",
        "bad_row": "truth",
        "claim": "whole",
        "text": "text",
        "span": "span",
        "span_reason": "text",
        "status": "text",
        "reason": "text",
        "score": "number",
        "fed_score": "number",
        "entailing": "json",
        "contradicting": "json",
        "contradiction": "number",
        "by_scale": "json",
        "origin": "text",
        "columns": "json",
    },
}


def require_pyarrow() -> None:
    """Find out before the long work that its result could not be written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtra("writing Parquet", "parquet") from error


def convert(lines: Path, target: Path, level: Level) -> None:
    """The same results as a Parquet file; OSError where it cannot be written."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    types = {
        "text": pa.string(),
        "json": pa.string(),
        "truth": pa.bool_(),
        "number": pa.float64(),
        "whole": pa.int64(),
        "counts": pa.struct([(status.value, pa.int64()) for status in Status]),
        "span": pa.struct([("start", pa.int64()), ("end", pa.int64())]),
    }
    shape = _SHAPES[level]
    schema = pa.schema([(name, types[kind]) for name, kind in shape.items()])
    with ParquetWriter(target, schema, compression="zstd") as writer:
        for group in _groups(lines):
            rows = [{name: _cell(row[name], kind) for name, kind in shape.items()} for row in group]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def _groups(lines: Path) -> Iterator[list[dict[str, Any]]]:
    group: list[dict[str, Any]] = []
    size = 0
    with lines.open("rb") as results:
        for line in results:
            group.append(json.loads(line))
            size += len(line)
            if len(group) >= _GROUP_ROWS or size >= _GROUP_BYTES:
                yield group
                group, size = [], 0
    if group:
        yield group


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "json":
        return dump(value)
    if kind == "text":  # an id may be a number, and hold what UTF-8 cannot
        return str(value).encode("utf-8", "replace").decode()
    return value
