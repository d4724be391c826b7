"""Read records from JSON lines, JSON arrays, CSV and Parquet, one at a time.

A record that cannot be read is a `BadRecord` in its place; what makes the rest of the file
unreadable is an InputError.
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
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import IO, Any, NoReturn, Protocol

from halldetect.batch.locations import BUFFER_BYTES, STANDARD_STREAM, open_bytes
from halldetect.errors import InputError, MissingExtra

# A longer row is skipped without being held in memory. A JSON array is held as a whole, so a
# longer one is refused.
MAX_ROW_BYTES = 64 * 1024 * 1024
JSONL_SUFFIXES = (".jsonl", ".ndjson")
_PARQUET_BATCH_ROWS = 32
_BOM = b"\xef\xbb\xbf"
# What "surrogateescape" makes of bytes that are not UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class BadRecord:
    """A row that cannot be read, and why."""

    reason: str


Record = dict[str, Any] | BadRecord


@dataclass(frozen=True, slots=True)
class OverlongLine:
    """A line too long to hold in memory, and how many quotation marks it had."""

    quotes: int


# A line with its end, as read.
Line = bytes | OverlongLine


class LineReader(Protocol):
    """A binary file to read lines from, decompressed if need be."""

    def readline(self, size: int, /) -> bytes:
        """A line with its end, or the first `size` bytes of it; nothing at the end of the file."""
        ...


@dataclass(frozen=True, slots=True)
class RecordFile:
    """An open file of records.

    Attributes:
        name: how messages name the file.
        records: the records, in the order of the file.
        column_names: the columns, where the format gives all records the same.
        text_only: whether the format has neither lists nor nulls.
        fraction_read: how much of the file has been read, None where that is unknown.
    """

    name: str
    records: Iterator[Record]
    column_names: tuple[str, ...] | None = None
    text_only: bool = False
    fraction_read: Callable[[], float | None] = lambda: None


@contextmanager
def open_records(argument: str) -> Iterator[RecordFile]:
    """Open a file of records; its name says the format.

    Args:
        argument: a path, a URL, or `-` for JSON lines on standard input.
    """
    if argument == STANDARD_STREAM:
        if sys.stdin is None:
            raise InputError("standard input is closed")
        lines = _lines(sys.stdin.buffer)
        yield RecordFile("standard input", _read_to_end(_jsonl(lines), "standard input"))
        return
    name = repr(argument)
    kind, compression = _format(argument)
    with ExitStack() as opened:
        raw, size = opened.enter_context(open_bytes(argument))
        if kind == ".parquet":
            yield _parquet_file(raw, name)
            return

        def fraction() -> float | None:
            return raw.tell() / size if size else None

        stream = opened.enter_context(_decompressed(raw, compression))
        if kind == ".json":
            yield _json_array_file(stream, name)
            return
        lines = _lines(stream)
        if kind == ".csv":
            yield _csv_file(lines, name, fraction)
        else:
            yield RecordFile(name, _read_to_end(_jsonl(lines), name), fraction_read=fraction)


def _format(argument: str) -> tuple[str, str | None]:
    """The format and the compression that the ending of a name stands for."""
    suffixes = [suffix.lower() for suffix in PurePath(argument).suffixes]
    compression = suffixes.pop() if suffixes[-1:] in ([".gz"], [".zst"]) else None
    kind = suffixes[-1] if suffixes else ""
    known = (*JSONL_SUFFIXES, ".json", ".csv", ".parquet")
    if kind not in known or (compression and kind == ".parquet"):
        raise InputError(
            f"cannot tell the format of {argument!r} by its ending: use .jsonl, .json, .csv (also "
            ".gz, .zst), .parquet, or - for JSON lines on standard input"
        )
    return kind, compression


def _decompressed(raw: IO[bytes], compression: str | None) -> IO[bytes]:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if compression == ".zst":
        try:
            from pyarrow import CompressedInputStream
        except ImportError as error:
            raise MissingExtra("reading .zst", "parquet") from error
        return io.BufferedReader(CompressedInputStream(raw, "zstd"), BUFFER_BYTES)
    return raw


def _read_to_end(records: Iterator[Record], name: str) -> Iterator[Record]:
    try:
        yield from records
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read to its end: {error}") from error


def _lines(stream: LineReader) -> Iterator[Line]:
    first = True
    while line := stream.readline(MAX_ROW_BYTES + 1):
        if first:
            line, first = line.removeprefix(_BOM), False
        if len(line) <= MAX_ROW_BYTES:
            yield line
            continue
        quotes = line.count(b'"')
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_ROW_BYTES)
            quotes += line.count(b'"')
        yield OverlongLine(quotes)


def _jsonl(lines: Iterator[Line]) -> Iterator[Record]:
    """Blank lines are skipped; every other line is exactly one record."""
    for at, line in enumerate(lines, start=1):
        if isinstance(line, OverlongLine):
            yield BadRecord(f"line {at}: longer than {MAX_ROW_BYTES:,} bytes")
        elif line.strip():
            yield _object(line, at)


def _object(line: bytes, at: int) -> Record:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return BadRecord(f"line {at}: not UTF-8 (byte {error.start})")
    except json.JSONDecodeError as error:
        return BadRecord(f"line {at}: not JSON: {error.msg} (column {error.colno})")
    except ValueError as error:
        return BadRecord(f"line {at}: not JSON: {error}")
    except RecursionError:
        return BadRecord(f"line {at}: nested too deeply")
    if not isinstance(value, dict):
        return BadRecord(f"line {at}: a row must be a JSON object, not {type(value).__name__}")
    return value


def _json_array_file(stream: IO[bytes], name: str) -> RecordFile:
    try:
        data = stream.read(MAX_ROW_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read to its end: {error}") from error
    if len(data) > MAX_ROW_BYTES:
        raise InputError(
            f"{name} is longer than {MAX_ROW_BYTES:,} bytes, the limit of a JSON array: write one "
            "object per line into a .jsonl file, which has no limit"
        )
    try:
        values = json.loads(data.removeprefix(_BOM).decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is not UTF-8 (byte {error.start})") from error
    except json.JSONDecodeError as error:
        raise InputError(
            f"{name} is not JSON: {error.msg} (line {error.lineno}, column {error.colno}); a file "
            "with one object per line is named .jsonl"
        ) from error
    except ValueError as error:
        raise InputError(f"{name} is not JSON: {error}") from error
    except RecursionError as error:
        raise InputError(f"{name} is nested too deeply") from error
    if not isinstance(values, list):
        raise InputError(
            f"{name} must hold a JSON array of objects, not {type(values).__name__}; a file with "
            "one object per line is named .jsonl"
        )
    done = 0

    def records() -> Iterator[Record]:
        nonlocal done
        for done, value in enumerate(values, start=1):
            if isinstance(value, dict):
                yield value
            else:
                kind = type(value).__name__
                yield BadRecord(f"element {done}: a row must be a JSON object, not {kind}")

    return RecordFile(name, records(), fraction_read=lambda: done / len(values) if values else None)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


class _RowTooLong(Exception):
    pass


class _CsvLines:
    """Lines for the csv reader, which may ask for several to complete a row."""

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self._row_size = 0
        self._quotes = 0
        self.at = 0

    def begin_row(self) -> int:
        self._row_size = self._quotes = 0
        return self.at + 1

    def __iter__(self) -> _CsvLines:
        return self

    def __next__(self) -> str:
        line = self._take()
        if isinstance(line, OverlongLine) or self._row_size > MAX_ROW_BYTES:
            # The row ends where its last quotation mark is closed, not before.
            with suppress(StopIteration):
                while self._quotes % 2:
                    self._take()
            raise _RowTooLong
        return line.decode("utf-8", "surrogateescape")

    def _take(self) -> Line:
        line = next(self._lines)
        self.at += 1
        self._row_size += MAX_ROW_BYTES + 1 if isinstance(line, OverlongLine) else len(line)
        self._quotes += line.quotes if isinstance(line, OverlongLine) else line.count(b'"')
        return line


def _csv_file(
    raw_lines: Iterator[Line], name: str, fraction: Callable[[], float | None]
) -> RecordFile:
    csv.field_size_limit(MAX_ROW_BYTES)
    lines = _CsvLines(raw_lines)
    reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, None)
    except (_RowTooLong, csv.Error, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} does not begin with the names of its columns: {error}") from error
    if not header:
        raise InputError(f"{name} does not begin with the names of its columns")
    if len(set(header)) < len(header):
        raise InputError(f"{name} has two columns of the same name")

    def records() -> Iterator[Record]:
        while True:
            start = lines.begin_row()
            try:
                values = next(reader)
            except StopIteration:
                return
            except _RowTooLong:
                yield BadRecord(f"line {start}: the row is longer than {MAX_ROW_BYTES:,} bytes")
                continue
            except csv.Error as error:
                yield BadRecord(f"line {start}: not CSV: {error}")
                continue
            if any(map(_UNDECODED.search, values)):
                yield BadRecord(f"line {start}: not UTF-8")
            elif values and len(values) != len(header):
                yield BadRecord(
                    f"line {start}: {len(values)} fields where the header has {len(header)}"
                )
            elif values:
                yield dict(zip(header, values, strict=True))

    return RecordFile(name, _read_to_end(records(), name), tuple(header), True, fraction)


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
    if len(set(names)) < len(names):
        raise InputError(f"{name} has two columns of the same name")
    done = 0

    def records() -> Iterator[Record]:
        nonlocal done
        try:
            for batch in file.iter_batches(batch_size=_PARQUET_BATCH_ROWS):
                for at in range(batch.num_rows):
                    done += 1
                    yield _parquet_row(batch.slice(at, 1), done)
        except (ArrowException, OSError) as error:
            raise InputError(f"{name} cannot be read to its end: {error}") from error

    return RecordFile(name, records(), names, fraction_read=lambda: done / total if total else None)


def _parquet_row(row: Any, number: int) -> Record:
    try:
        values: dict[str, Any] = row.to_pylist()[0]
    except (ValueError, OverflowError) as error:  # text that is not UTF-8, a date Python lacks
        return BadRecord(f"row {number}: a value cannot be read: {error}")
    return values
