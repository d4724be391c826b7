"""Write the result of each row as JSON lines, CSV or Parquet, and read results back.

CSV and Parquet are made from the JSON lines, a few rows at a time. There, fields without a fixed
shape (report, passage, carried columns) are JSON text; in CSV, all fields but texts are.
"""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from halldetect.batch.formats import BadRecord, RecordFile, open_records
from halldetect.batch.job import Level, Row
from halldetect.errors import InputError, MissingExtra
from halldetect.report import Report, Status, Verdict

# A report, or the reason for its absence.
Outcome = Report | str
# Rows per Parquet group, which are in memory together; report sizes vary widely.
_GROUP_ROWS = 4096
_GROUP_BYTES = 16 * 1024 * 1024
_FIRST = {"id": "text", "verdict": "text", "reason": "text", "bad_row": "truth"}
_UNCHECKED = {"unchecked": "whole"}  # how many parts may assert something
_LAST = {"input": "text", "columns": "json"}
_OF_CLAIM = {
    "text": "text",
    "span": "span",
    "status": "text",
    "support": "number",
    "contradiction": "number",
    "read_as": "text",
    "proof": "json",
    "error": "json",
    "citations": "json",
}
_OF_RESPONSE = {"score": "number", "claims": "counts"}
_COLUMNS = {
    Level.RESPONSE: {**_FIRST, **_OF_RESPONSE, **_UNCHECKED, **_LAST, "report": "json"},
    Level.CLAIM: {**_FIRST, "claim": "whole", **_OF_CLAIM, **_UNCHECKED, **_LAST},
}


def row_results(row: Row, outcome: Outcome, level: Level) -> list[dict[str, Any]]:
    """Return the results of a row: one, or one per claim."""
    report = outcome if isinstance(outcome, Report) else None
    shared = {
        "id": row.id,
        "verdict": report.verdict if report else Verdict.UNCHECKABLE,
        "reason": report.reason if report else outcome,
        "bad_row": report is None,
        "unchecked": len(report.left_out) if report else 0,
        "input": row.digest(),
        "columns": row.columns,
    }
    claims = report.claims if report else ()
    results: list[dict[str, Any]] = [{}]
    if level is Level.RESPONSE:
        counts = Counter(claim.status for claim in claims)
        results[0]["claims"] = {status.value: counts[status] for status in Status}
        if report is not None:
            results[0] |= {"score": report.score, "report": report.to_dict()}
    elif report is None or not claims:  # keep a result, so that no row is lost
        results[0]["status"] = Status.UNCHECKABLE
    else:
        results = [
            {"claim": number, **{name: claim.get(name) for name in ("reason", *_OF_CLAIM)}}
            for number, claim in enumerate(report.to_dict()["claims"], start=1)
        ]
    return [{**dict.fromkeys(_COLUMNS[level]), **shared, **item} for item in results]


def json_lines(results: Iterable[dict[str, Any]]) -> bytes:
    """Return results as JSON lines."""
    return b"".join(to_json(item).encode() + b"\n" for item in results)


def to_json(value: Any) -> str:
    """Return compact JSON that can always be written as UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # a lone surrogate in an id or a carried column
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


def require_writable(suffix: str) -> None:
    """Raise MissingExtra before the long work, not when its results are written."""
    if suffix == ".parquet":
        try:
            import pyarrow.parquet  # noqa: F401
        except ImportError as error:
            raise MissingExtra("writing Parquet", "parquet") from error


def write_lines(lines: Iterable[bytes], target: Path, suffix: str, level: Level) -> None:
    """Write JSON lines of results to disk, in the format of a suffix."""
    try:
        if suffix == ".parquet":
            write_parquet(lines, target, level)
        elif suffix == ".csv":
            _write_csv(lines, target, level)
        else:
            with target.open("wb") as file:
                file.writelines(lines)
        with target.open("rb+") as file:
            os.fsync(file.fileno())
    except OSError:
        target.unlink(missing_ok=True)  # it may fill the disk
        raise


def write_parquet(lines: Iterable[bytes], target: Any, level: Level) -> None:
    """Write JSON lines of results as Parquet to a path or a stream."""
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
        group, size = [], 0
        for line in lines:
            row = json.loads(line)
            group.append({name: _cell(row[name], kind) for name, kind in columns.items()})
            size += len(line)
            if len(group) >= _GROUP_ROWS or size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
                group, size = [], 0
        writer.write_table(pa.Table.from_pylist(group, schema=schema))


def _write_csv(lines: Iterable[bytes], target: Path, level: Level) -> None:
    kinds = {name: kind if kind == "text" else "json" for name, kind in _COLUMNS[level].items()}
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(kinds)
        for row in map(json.loads, lines):
            writer.writerow(_cell(row[name], kind) for name, kind in kinds.items())


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "json":
        return to_json(value)
    return plain_text(value) if kind == "text" else value


def plain_text(value: object) -> str:
    """Return an id, which may be a number or contain lone surrogates, as UTF-8 text."""
    return str(value).encode("utf-8", "replace").decode()


def read_results(target: Path | str) -> Iterator[dict[str, Any]]:
    """Yield the results of a finished run: a file, as a path or URL, or a folder of parts."""
    if isinstance(target, Path) and target.is_dir():
        for part in sorted(target.glob("part-*")):
            yield from read_results(part)
        return
    with open_records(str(target)) as file:
        for row in file.records:
            if isinstance(row, BadRecord) or not {*_FIRST, *_LAST} <= row.keys():
                why = row.reason if isinstance(row, BadRecord) else "they are not of batch"
                raise InputError(f"cannot read results from {str(target)!r}: {why}")
            kinds = _COLUMNS[Level.CLAIM if "claim" in row else Level.RESPONSE]
            yield {name: _value(row.get(name), kind, file) for name, kind in kinds.items()}


def _value(cell: Any, kind: str, file: RecordFile) -> Any:
    """Return the value of a cell: CSV holds only texts, Parquet holds lists and objects as text."""
    if cell is None or (file.text_only and not cell):
        return None
    is_packed = kind != "text" if file.text_only else kind == "json" and file.column_names
    return json.loads(cell) if is_packed else cell
