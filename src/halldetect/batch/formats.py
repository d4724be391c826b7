"""Records from JSON lines, CSV and Parquet, one at a time.

What is wrong with one record is a `Malformed` in its place; what makes the rest of the file
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

from halldetect.batch.places import STANDARD, open_bytes
from halldetect.errors import InputError, MissingExtra

# A longer row is skipped without being held in memory.
MAX_ROW = 64 * 1024 * 1024
JSONL = (".jsonl", ".ndjson")
_PARQUET_BATCH = 32
_BUFFER = 1 << 20
_BOM = b"\xef\xbb\xbf"
# What "surrogateescape" makes of bytes that are not UTF-8.
_UNDECODED = re.compile("[\udc80-\udcff]")


@dataclass(frozen=True, slots=True)
class Malformed:
    """A row that cannot be read, and why."""

    reason: str


Record = dict[str, Any] | Malformed


@dataclass(frozen=True, slots=True)
class Skipped:
    """A line too long to hold, and how many quotation marks it had."""

    quotes: int


# With its end.
Line = bytes | Skipped


class Lines(Protocol):
    """A file, unpacked or not."""

    def readline(self, size: int, /) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Input:
    """An open file of rows.

    `names` are the columns where all rows have the same; `texts_only` where the format knows
    neither lists nor nulls; `fraction` tells how much has been read, None where it is unknown.
    """

    name: str
    records: Iterator[Record]
    names: tuple[str, ...] | None = None
    texts_only: bool = False
    fraction: Callable[[], float | None] = lambda: None


@contextmanager
def open_input(argument: str) -> Iterator[Input]:
    """The rows of a file by its ending, or of standard input (`-`, JSON lines)."""
    if argument == STANDARD:
        if sys.stdin is None:
            raise InputError("standard input is closed")
        lines = _lines(sys.stdin.buffer)
        yield Input("standard input", _guarded(_jsonl(lines), "standard input"))
        return
    name = repr(argument)
    kind, packed = _format(argument)
    with ExitStack() as opened:
        raw, size = opened.enter_context(open_bytes(argument))
        if kind == ".parquet":
            yield _open_parquet(raw, name)
            return

        def fraction() -> float | None:
            return raw.tell() / size if size else None

        lines = _lines(opened.enter_context(_unpacked(raw, packed)))
        if kind == ".csv":
            yield _open_csv(lines, name, fraction)
        else:
            yield Input(name, _guarded(_jsonl(lines), name), fraction=fraction)


def _format(argument: str) -> tuple[str, str | None]:
    """What the ending of a name says: the format, and how it is packed."""
    suffixes = [suffix.lower() for suffix in PurePath(argument).suffixes]
    packed = suffixes.pop() if suffixes[-1:] in ([".gz"], [".zst"]) else None
    kind = suffixes[-1] if suffixes else ""
    if kind not in (*JSONL, ".csv", ".parquet") or (packed and kind == ".parquet"):
        raise InputError(
            f"cannot tell the format of {argument!r} by its ending: use .jsonl, .csv (also .gz, "
            ".zst), .parquet, or - for JSON lines on standard input"
        )
    return kind, packed


def _unpacked(raw: IO[bytes], packed: str | None) -> IO[bytes]:
    if packed == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if packed == ".zst":
        try:
            from pyarrow import CompressedInputStream
        except ImportError as error:
            raise MissingExtra("reading .zst", "parquet") from error
        return io.BufferedReader(CompressedInputStream(raw, "zstd"), _BUFFER)
    return raw


def _guarded(records: Iterator[Record], name: str) -> Iterator[Record]:
    try:
        yield from records
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read to its end: {error}") from error


def _lines(stream: Lines) -> Iterator[Line]:
    first = True
    while line := stream.readline(MAX_ROW + 1):
        if first:
            line, first = line.removeprefix(_BOM), False
        if len(line) <= MAX_ROW:
            yield line
            continue
        quotes = line.count(b'"')
        while line and not line.endswith(b"\n"):
            line = stream.readline(MAX_ROW)
            quotes += line.count(b'"')
        yield Skipped(quotes)


def _jsonl(lines: Iterator[Line]) -> Iterator[Record]:
    """White lines are no rows; every other line is exactly one."""
    for at, line in enumerate(lines, start=1):
        if isinstance(line, Skipped):
            yield Malformed(f"line {at}: longer than {MAX_ROW:,} bytes")
        elif line.strip():
            yield _object(line, at)


def _object(line: bytes, at: int) -> Record:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return Malformed(f"line {at}: not UTF-8 (byte {error.start})")
    except json.JSONDecodeError as error:
        return Malformed(f"line {at}: not JSON: {error.msg} (column {error.colno})")
    except ValueError as error:
        return Malformed(f"line {at}: not JSON: {error}")
    except RecursionError:
        return Malformed(f"line {at}: nested too deeply")
    if not isinstance(value, dict):
        return Malformed(f"line {at}: a row must be a JSON object, not {type(value).__name__}")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON value")


class _TooLong(Exception):
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
        if isinstance(line, Skipped) or self._row_size > MAX_ROW:
            # The row ends where its last quotation mark is closed, not before.
            with suppress(StopIteration):
                while self._quotes % 2:
                    self._take()
            raise _TooLong
        return line.decode("utf-8", "surrogateescape")

    def _take(self) -> Line:
        line = next(self._lines)
        self.at += 1
        self._row_size += MAX_ROW + 1 if isinstance(line, Skipped) else len(line)
        self._quotes += line.quotes if isinstance(line, Skipped) else line.count(b'"')
        return line


def _open_csv(raw_lines: Iterator[Line], name: str, fraction: Callable[[], float | None]) -> Input:
    csv.field_size_limit(MAX_ROW)
    lines = _CsvLines(raw_lines)
    reader = csv.reader(lines, strict=True)
    try:
        header = next(reader, None)
    except (_TooLong, csv.Error, OSError, EOFError, zlib.error) as error:
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
            except _TooLong:
                yield Malformed(f"line {start}: the row is longer than {MAX_ROW:,} bytes")
                continue
            except csv.Error as error:
                yield Malformed(f"line {start}: not CSV: {error}")
                continue
            if any(map(_UNDECODED.search, values)):
                yield Malformed(f"line {start}: not UTF-8")
            elif values and len(values) != len(header):
                yield Malformed(
                    f"line {start}: {len(values)} fields where the header has {len(header)}"
                )
            elif values:
                yield dict(zip(header, values, strict=True))

    return Input(name, _guarded(records(), name), tuple(header), True, fraction)


def _open_parquet(raw: IO[bytes], name: str) -> Input:
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
            for batch in file.iter_batches(batch_size=_PARQUET_BATCH):
                for at in range(batch.num_rows):
                    done += 1
                    yield _parquet_row(batch.slice(at, 1), done)
        except (ArrowException, OSError) as error:
            raise InputError(f"{name} cannot be read to its end: {error}") from error

    return Input(name, records(), names, fraction=lambda: done / total if total else None)


def _parquet_row(row: Any, number: int) -> Record:
    try:
        values: dict[str, Any] = row.to_pylist()[0]
    except (ValueError, OverflowError) as error:  # text that is not UTF-8, a date Python lacks
        return Malformed(f"row {number}: a value cannot be read: {error}")
    return values
