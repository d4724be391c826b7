"""Read records from JSON lines, CSV and Parquet, one at a time.

An unreadable record becomes a `BadRecord` in its place. Damage that makes the rest of the file
unreadable raises an InputError.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Any

from halldetect.batch.locations import BUFFER_BYTES, STANDARD_STREAM, open_bytes
from halldetect.errors import InputError, MissingExtra

# A longer row is not held in memory: JSON lines skip it, CSV raises an error.
MAX_ROW_BYTES = 64 * 1024 * 1024
JSONL_SUFFIXES = (".jsonl", ".ndjson")
_PARQUET_BATCH_ROWS = 32
# "surrogateescape" turns bytes that are not UTF-8 into these.
_UNDECODED = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class BadRecord:
    """An unreadable row, and the reason."""

    reason: str


Record = dict[str, Any] | BadRecord


@dataclass(frozen=True, slots=True)
class RecordFile:
    """An open file of records, with its name in messages and the fraction read so far.

    It has `column_names` if the format gives all records the same ones; a `text_only` format has
    neither lists nor nulls.
    """

    name: str
    records: Iterator[Record]
    column_names: tuple[str, ...] = ()
    text_only: bool = False
    fraction_read: Callable[[], float | None] = lambda: None

    def __post_init__(self) -> None:
        if len(set(self.column_names)) < len(self.column_names):
            raise InputError(f"{self.name} has two columns of the same name")


@contextmanager
def open_records(argument: str) -> Iterator[RecordFile]:
    """Open a path, a URL, or `-` for standard input; the ending of a name gives the format."""
    if argument == STANDARD_STREAM:
        if sys.stdin is None:
            raise InputError("standard input is closed")
        name = "standard input"
        yield RecordFile(name, _jsonl(_lines(sys.stdin.buffer, name)))
        return
    name = repr(argument)
    suffixes = [suffix.lower() for suffix in PurePath(argument).suffixes]
    compression = suffixes.pop() if suffixes[-1:] in ([".gz"], [".zst"]) else ""
    kind = suffixes[-1] if suffixes else ""
    if kind + compression != ".parquet" and kind not in (*JSONL_SUFFIXES, ".csv"):
        raise InputError(
            f"cannot tell the format of {name} by its ending: use .jsonl, .csv (also .gz, .zst), "
            ".parquet, or - for JSON lines on standard input"
        )
    with open_bytes(argument) as (raw, size):
        if kind == ".parquet":
            yield _parquet_file(raw, name)
            return
        with _decompressed(raw, compression) as stream:
            lines = _lines(stream, name)
            header, records = _csv(lines, name) if kind == ".csv" else ((), _jsonl(lines))
            fraction = (lambda: raw.tell() / size) if size else (lambda: None)
            yield RecordFile(name, records, header, kind == ".csv", fraction)


def _decompressed(raw: IO[bytes], compression: str) -> IO[bytes]:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if compression == ".zst":
        try:
            from pyarrow import CompressedInputStream
        except ImportError as error:
            raise MissingExtra("reading .zst", "parquet") from error
        return io.BufferedReader(CompressedInputStream(raw, "zstd"), BUFFER_BYTES)
    return raw


def _lines(stream: IO[bytes], name: str) -> Iterator[bytes | None]:
    """Yield each line with its line end; None for a line too long for memory."""
    mark = b"\xef\xbb\xbf"
    try:
        while line := stream.readline(MAX_ROW_BYTES + 1):
            line, mark = line.removeprefix(mark), b""
            is_too_long = len(line) > MAX_ROW_BYTES
            yield None if is_too_long else line
            while is_too_long and line and not line.endswith(b"\n"):
                line = stream.readline(MAX_ROW_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read to its end: {error}") from error


def _jsonl(lines: Iterator[bytes | None]) -> Iterator[Record]:
    """Yield one record per line; skip blank lines."""
    for at, line in enumerate(lines, start=1):
        if line is None:
            yield BadRecord(f"line {at}: longer than {MAX_ROW_BYTES:,} bytes")
        elif line.strip():
            value = _parsed(line)
            yield value if isinstance(value, dict) else BadRecord(f"line {at}: {value}")


def _parsed(line: bytes) -> dict[str, Any] | str:
    """Return the object on a line, or why there is none."""
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        return f"not UTF-8 (byte {error.start})"
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        return "nested too deeply"
    found = type(value).__name__
    return value if isinstance(value, dict) else f"a row must be a JSON object, not {found}"


def _csv(lines: Iterator[bytes | None], name: str) -> tuple[tuple[str, ...], Iterator[Record]]:
    """Return the names of the columns, and the records."""
    csv.field_size_limit(MAX_ROW_BYTES)
    too_long = InputError(
        f"{name} has a row of more than {MAX_ROW_BYTES:,} bytes: JSON lines skip such a row"
    )

    def decoded() -> Iterator[str]:
        for line in lines:
            if line is None:
                raise too_long
            yield line.decode("utf-8", "surrogateescape")

    reader = csv.reader(decoded(), strict=True)
    try:
        header = tuple(next(reader, ()))
    except csv.Error:
        header = ()
    if not header:
        raise InputError(f"{name} does not begin with the names of its columns")

    def records() -> Iterator[Record]:
        values: list[str] | None = []
        while values is not None:
            problem, start = "", reader.line_num + 1
            try:
                values = next(reader, None)
            except csv.Error as error:
                if "field limit" in str(error):  # the rest of the row would be read as rows
                    raise too_long from error
                values, problem = [], f"not CSV: {error}"
            if any(map(_UNDECODED.search, values or ())):
                problem = "not UTF-8"
            elif values and len(values) != len(header):
                problem = f"{len(values)} fields where the header has {len(header)}"
            if problem:
                yield BadRecord(f"line {start}: {problem}")
            elif values:
                yield dict(zip(header, values, strict=True))

    return header, records()


def _parquet_file(raw: IO[bytes], name: str) -> RecordFile:
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import ParquetFile
    except ImportError as error:
        raise MissingExtra("reading Parquet", "parquet") from error
    try:
        file = ParquetFile(raw)
        names, total = tuple(file.schema_arrow.names), file.metadata.num_rows
    except (ArrowException, OSError) as error:
        raise InputError(f"{name} is not a readable Parquet file: {error}") from error
    done = 0

    def records() -> Iterator[Record]:
        nonlocal done
        try:
            for batch in file.iter_batches(batch_size=_PARQUET_BATCH_ROWS):
                for at in range(batch.num_rows):
                    done += 1
                    try:
                        yield batch.slice(at, 1).to_pylist()[0]
                    except (ValueError, OverflowError) as error:  # not UTF-8, or an odd date
                        yield BadRecord(f"row {done}: a value cannot be read: {error}")
        except (ArrowException, OSError) as error:
            raise InputError(f"{name} cannot be read to its end: {error}") from error

    return RecordFile(name, records(), names, False, lambda: done / total if total else None)
