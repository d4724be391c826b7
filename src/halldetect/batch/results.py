"""The result of each row: JSON lines, the same as CSV or Parquet, and reading them back.

CSV and Parquet are made from the finished JSON lines, a few rows at a time. What has no fixed
shape (the report, the evidence, the carried columns) is JSON text there; in CSV, all that is
not a text.
"""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

from halldetect.batch.rows import Row
from halldetect.errors import MissingExtra
from halldetect.report import Report, Status, Verdict

# The rows of one Parquet group are in memory together; reports differ widely in size.
_GROUP_ROWS = 4096
_GROUP_BYTES = 16 * 1024 * 1024
_READ_ROWS = 32
# The longest field of a CSV file of results, which may hold a whole report.
_MAX_CSV_FIELD = 2**31 - 1


class Level(StrEnum):
    """What one result stands for."""

    RESPONSE = "response"
    CLAIM = "claim"


_COLUMNS = {
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
        "support": "number",
        "fed_score": "number",
        "entailing": "json",
        "contradicting": "json",
        "contradiction": "number",
        "by_scale": "json",
        "origin": "text",
        "read_as": "text",
        "parts": "json",
        "proof": "json",
        "error": "json",
        "citations": "json",
        "columns": "json",
    },
}


def result_lines(row: Row, report: Report | None, problem: str | None, level: Level) -> bytes:
    """The JSON lines of one row.

    Args:
        row: the row.
        report: its report, None for a bad row.
        problem: why there is no report.
        level: one line per response or one per claim.
    """
    results = (
        _claim_results(row, report, problem)
        if level is Level.CLAIM
        else [_response_result(row, report, problem)]
    )
    return b"".join(to_json(result).encode() + b"\n" for result in results)


def to_json(value: Any) -> str:
    """Compact JSON that can always be written as UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate in an id or a carried column
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def _response_result(row: Row, report: Report | None, problem: str | None) -> dict[str, Any]:
    counts = Counter(claim.status for claim in report.claims) if report else Counter[Status]()
    return {
        "id": row.id,
        "verdict": report.verdict if report else Verdict.UNCHECKABLE,
        "reason": report.reason if report else problem,
        "bad_row": report is None,
        "score": report.score if report else None,
        "fed_score": report.fed_score if report else None,
        "claims": {status.value: counts[status] for status in Status},
        "columns": row.columns,
        "report": report.to_dict() if report else None,
    }


def _claim_results(
    row: Row, report: Report | None, problem: str | None
) -> Iterator[dict[str, Any]]:
    """One result per claim; a row without claims still has one, so that none is lost."""
    claims = report.to_dict()["claims"] if report else []
    no_claim: dict[str, Any] = {
        "text": None,
        "span": None,
        "span_reason": None,
        "status": Status.UNCHECKABLE,
        "reason": report.reason if report else problem,
        "support": None,
        "fed_score": None,
        "entailing": None,
        "contradicting": None,
        "contradiction": None,
        "by_scale": [],
        "origin": None,
        "read_as": None,
        "parts": [],
        "proof": None,
        "error": None,
        "citations": [],
    }
    for number, claim in enumerate(claims or [no_claim], start=1):
        yield {
            "id": row.id,
            "verdict": report.verdict if report else Verdict.UNCHECKABLE,
            "bad_row": report is None,
            "claim": number if claims else None,
            **claim,
            "columns": row.columns,
        }


def require_pyarrow() -> None:
    """Raise MissingExtra before the long work, rather than when its results are written."""
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError as error:
        raise MissingExtra("writing Parquet", "parquet") from error


def write_parquet(lines: Path, target: Path, level: Level) -> None:
    """Write the results of a file of JSON lines as Parquet.

    Args:
        lines: the finished JSON lines.
        target: the Parquet file to write; OSError if that fails.
        level: what one line stands for.
    """
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
    columns = _COLUMNS[level]
    schema = pa.schema([(name, types[kind]) for name, kind in columns.items()])
    with ParquetWriter(target, schema, compression="zstd") as writer:
        for group in _groups(lines):
            rows = [
                {name: _cell(row[name], kind) for name, kind in columns.items()} for row in group
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))


def write_csv(lines: Path, target: Path, level: Level) -> None:
    """Write the results of a file of JSON lines as CSV, with the names of the columns first.

    Args:
        lines: the finished JSON lines.
        target: the CSV file to write; OSError if that fails.
        level: what one line stands for.
    """
    columns = _COLUMNS[level]
    with lines.open("rb") as results, target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        for line in results:
            row = json.loads(line)
            writer.writerow(
                _cell(row[name], "text" if kind == "text" else "json")
                for name, kind in columns.items()
            )


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
        return to_json(value)
    if kind == "text":  # an id may be a number, and hold what UTF-8 cannot
        return str(value).encode("utf-8", "replace").decode()
    return value


def read_results(target: Path) -> Iterator[dict[str, Any]]:
    """The results of a finished run, one per response.

    Args:
        target: a file of results, or a folder of parts.
    """
    if target.is_dir():
        for part in sorted(target.glob("part-*")):
            yield from read_results(part)
    elif target.suffix.lower() == ".parquet":
        yield from _read_parquet(target)
    elif target.suffix.lower() == ".csv":
        yield from _read_csv(target)
    else:
        with target.open("rb") as lines:
            for line in lines:
                yield json.loads(line)


def _read_parquet(target: Path) -> Iterator[dict[str, Any]]:
    from pyarrow.parquet import ParquetFile

    with ParquetFile(target) as file:
        for batch in file.iter_batches(batch_size=_READ_ROWS):
            for row in batch.to_pylist():
                unpacked = {
                    name: row[name] if row[name] is None else json.loads(row[name])
                    for name in ("columns", "report")
                }
                yield {**row, **unpacked}


def _read_csv(target: Path) -> Iterator[dict[str, Any]]:
    csv.field_size_limit(_MAX_CSV_FIELD)
    with target.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            yield {
                name: _csv_value(row[name], kind) for name, kind in _COLUMNS[Level.RESPONSE].items()
            }


def _csv_value(text: str, kind: str) -> Any:
    if not text:
        return None
    return text if kind == "text" else json.loads(text)
