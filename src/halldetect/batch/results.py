"""Write the result of each row as JSON lines, CSV or Parquet; read and count results.

CSV and Parquet are made from the JSON lines, a few rows at a time. There, fields without a fixed
shape (report, passage, carried columns) are JSON text; in CSV, all fields but texts are.
"""

from __future__ import annotations

import csv
import json
import operator
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from math import sqrt
from pathlib import Path
from typing import Any

from halldetect.batch.formats import BadRecord, RecordFile, open_records
from halldetect.batch.job import Row
from halldetect.errors import InputError
from halldetect.report import Report, Status, Verdict
from halldetect.report.json_form import json_text

# A row that could not be read, or whose check failed.
BAD = "bad"
# Every outcome of a row, in the order used by all charts and tables.
ROW_KINDS = (*(verdict.value for verdict in Verdict), BAD)
# Rows with a part that may assert something and was not judged; their verdict counts as well.
UNCHECKED = "unchecked"
RATE = "rate"
WORSE = "worse"
_Z_95 = 1.959964
_COMPACT = (",", ":")
_COMPARISONS = {">": operator.gt, ">=": operator.ge}
_CONDITION = re.compile(r"\s*(\w+)\s*(?:(>=|>)\s*(\d+(?:\.\d+)?)\s*)?")
# A report, or the reason for its absence.
Outcome = Report | str
# JSON lines per Parquet group, which is in memory as a whole.
_GROUP_BYTES = 16 * 1024 * 1024
# A type of pyarrow, or JSON text, or counts by state.
_COLUMNS = {
    "id": "string",
    "verdict": "string",
    "reason": "string",
    "bad_row": "bool",
    "score": "double",
    "claims": "counts",
    "unchecked": "int64",  # how many parts may assert something
    "input": "string",
    "columns": "json",
    "report": "json",
}


def row_result(row: Row, outcome: Outcome) -> dict[str, Any]:
    """Return the result of a row."""
    report = outcome if isinstance(outcome, Report) else None
    counts = Counter(claim.status for claim in (report.claims if report is not None else ()))
    return {
        "id": row.id,
        "verdict": report.verdict if report is not None else Verdict.UNCHECKABLE,
        "reason": report.reason if report is not None else outcome,
        "bad_row": report is None,
        "score": report.score if report is not None else None,
        "claims": {status.value: counts[status] for status in Status},
        "unchecked": len(report.left_out) if report is not None else 0,
        "input": row.digest(),
        "columns": row.columns,
        "report": report.to_dict() if report is not None else None,
    }


def json_lines(results: Iterable[dict[str, Any]]) -> bytes:
    """Return results as JSON lines."""
    return b"".join(json_text(item, separators=_COMPACT).encode() + b"\n" for item in results)


def write_lines(lines: Iterable[bytes], target: Path, suffix: str) -> None:
    """Write JSON lines of results to disk, in the format of a suffix."""
    try:
        if suffix == ".parquet":
            write_parquet(lines, target)
        elif suffix == ".csv":
            _write_csv(lines, target)
        else:
            with target.open("wb") as file:
                file.writelines(lines)
        with target.open("rb+") as file:
            os.fsync(file.fileno())
    except OSError:
        target.unlink(missing_ok=True)  # it may fill the disk
        raise


def write_parquet(lines: Iterable[bytes], target: Any) -> None:
    """Write JSON lines of results as Parquet to a path or a stream."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    counts = pa.struct([(status.value, pa.int64()) for status in Status])
    types = {"json": pa.string(), "counts": counts}
    columns = _COLUMNS.items()
    schema = pa.schema([(name, types.get(kind) or kind) for name, kind in columns])
    with ParquetWriter(target, schema, compression="zstd") as writer:
        group, size = [], 0
        for line in lines:
            row = json.loads(line)
            group.append({name: _cell(row[name], kind) for name, kind in columns})
            size += len(line)
            if size >= _GROUP_BYTES:
                writer.write_table(pa.Table.from_pylist(group, schema=schema))
                group, size = [], 0
        writer.write_table(pa.Table.from_pylist(group, schema=schema))


def _write_csv(lines: Iterable[bytes], target: Path) -> None:
    kinds = {name: kind if kind == "string" else "json" for name, kind in _COLUMNS.items()}
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(kinds)
        for row in map(json.loads, lines):
            writer.writerow(_cell(row[name], kind) for name, kind in kinds.items())


def _cell(value: Any, kind: str) -> Any:
    if value is None:
        return None
    if kind == "json":
        return json_text(value, separators=_COMPACT)
    return plain_text(value) if kind == "string" else value


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
            if isinstance(row, BadRecord) or not _COLUMNS.keys() <= row.keys():
                why = row.reason if isinstance(row, BadRecord) else "they are not of batch"
                raise InputError(f"cannot read results from {str(target)!r}: {why}")
            yield {name: _value(row[name], kind, file) for name, kind in _COLUMNS.items()}


def _value(cell: Any, kind: str, file: RecordFile) -> Any:
    """Return the value of a cell: CSV holds only texts, Parquet holds lists and objects as text."""
    if cell is None or (file.text_only and not cell):
        return None
    is_packed = kind != "string" if file.text_only else kind == "json" and file.column_names
    return json.loads(cell) if is_packed else cell


@dataclass(slots=True)
class RowCounts:
    """Rows by each of `ROW_KINDS`, and the first row that could not be read, with the reason."""

    by_kind: Counter[str] = field(default_factory=Counter)
    unchecked: int = 0
    first_bad: str | None = None

    def add(self, result: Mapping[str, Any]) -> None:
        """Count the row of a result."""
        self.unchecked += bool(result["unchecked"])
        self.by_kind[BAD if result["bad_row"] else str(result["verdict"])] += 1
        if result["bad_row"]:
            self.first_bad = self.first_bad or f"row {result['id']}: {result['reason']}"

    def update(self, other: RowCounts) -> None:
        """Add the counts of other rows."""
        self.by_kind.update(other.by_kind)
        self.unchecked += other.unchecked
        self.first_bad = self.first_bad or other.first_bad

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return self.by_kind.total()

    @property
    def checked(self) -> int:
        """The number of rows with the verdict faithful or hallucinated."""
        return self.by_kind[Verdict.FAITHFUL] + self.by_kind[Verdict.HALLUCINATED]

    @property
    def rate(self) -> float | None:
        """The share of hallucinated responses among the checked rows."""
        return self.by_kind[Verdict.HALLUCINATED] / self.checked if self.checked else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the rate."""
        return wilson_interval(self.by_kind[Verdict.HALLUCINATED], self.checked)


def wilson_interval(hits: int, total: int) -> tuple[float, float] | None:
    """Return Wilson's 95 % interval of the share `hits / total`; None if `total` is 0."""
    if not total:
        return None
    share, z = hits / total, _Z_95
    scale = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    reach = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    return max(0.0, middle - reach), min(1.0, middle + reach)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition under which a run fails, such as "rate>0.05", or "bad" for "bad>0".

    `name` is `rate`, a kind of row, `unchecked`, the rows with an unchecked part, or `worse`, the
    rows that got worse since an earlier run.
    """

    name: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition; the ValueError for any other text shows the accepted form."""
        match = _CONDITION.fullmatch(text)
        names = (RATE, WORSE, UNCHECKED, *ROW_KINDS)
        if match is None or match[1] not in names:
            raise ValueError(
                f"{text!r} is not a condition: use a name ({', '.join(names)}), or with > or >= "
                'and a number, as in "rate>0.05"'
            )
        condition = cls(match[1], match[2] or ">", float(match[3] or 0))
        if condition.name == RATE and not _COMPARISONS[condition.comparison](1, condition.limit):
            raise ValueError(f'{text!r} is never met: the rate is a share, as in "rate>0.05"')
        return condition

    def failure(self, counts: RowCounts, worse: int | None) -> str | None:
        """Return a line with the value if the condition is met; without a value it is not."""
        values = {RATE: counts.rate, WORSE: worse, UNCHECKED: counts.unchecked}
        value = values.get(self.name, counts.by_kind[self.name])
        if value is None or not _COMPARISONS[self.comparison](value, self.limit):
            return None
        condition = f"{self.name}{self.comparison}{self.limit:g}"
        return f"failed by {condition}: {self.name} is {round(value, 4):,}"
