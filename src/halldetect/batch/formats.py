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
from typing import IO, Any, NoReturn

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
    """An open file of records.

    Attributes:
        name: The file as messages name it.
        records: The records, in the order of the file.
        column_names: The columns, if the format gives all records the same ones.
        text_only: True if the format has neither lists nor nulls.
        fraction_read: Returns the fraction of the file read so far; None if unknown.
    """

    name: str
    records: Iterator[Record]
    column_names: tuple[str, ...] = ()
    text_only: bool = False
    fraction_read: Callable[[], float | None] = lambda: None


@contextmanager
def open_records(argument: str) -> Iterator[RecordFile]:
    """Open a file of records in the format given by the ending of its name.

    Args:
        argument: A path, a URL, or `-` for JSON lines on standard input.
    """
    if argument == STANDARD_STREAM:
        if sys.stdin is None:
            raise InputError("standard input is closed")
        name = "standard input"
        yield RecordFile(name, _read_to_end(_jsonl(_lines(sys.stdin.buffer)), name))
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
            header: tuple[str, ...] = ()
            if kind == ".csv":
                header, records = _csv(_lines(stream), name)
            else:
                records = _jsonl(_lines(stream))
            fraction = (lambda: raw.tell() / size) if size else (lambda: None)
            yield RecordFile(name, _read_to_end(records, name), header, bool(header), fraction)


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


def _read_to_end(records: Iterator[Record], name: str) -> Iterator[Record]:
    try:
        yield from records
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} cannot be read to its end: {error}") from error


def _lines(stream: IO[bytes]) -> Iterator[bytes | None]:
    """Yield each line with its line end; None for a line too long for memory."""
    mark = b"\xef\xbb\xbf"
    while line := stream.readline(MAX_ROW_BYTES + 1):
        line, mark = line.removeprefix(mark), b""
        is_too_long = len(line) > MAX_ROW_BYTES
        yield None if is_too_long else line
        while is_too_long and line and not line.endswith(b"\n"):
            line = stream.readline(MAX_ROW_BYTES)


def _jsonl(lines: Iterator[bytes | None]) -> Iterator[Record]:
    """Yield one record per line; skip blank lines."""
    for at, line in enumerate(lines, start=1):
        if line is None:
            yield BadRecord(f"line {at}: longer than {MAX_ROW_BYTES:,} bytes")
        elif line.strip():
            yield _parsed(line, at)


def _parsed(line: bytes, at: int) -> Record:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse_constant)
    except UnicodeDecodeError as error:
        return BadRecord(f"line {at}: not UTF-8 (byte {error.start})")
    except ValueError as error:
        return BadRecord(f"line {at}: not JSON: {error}")
    except RecursionError:
        return BadRecord(f"line {at}: nested too deeply")
    if not isinstance(value, dict):
        return BadRecord(f"line {at}: a row must be a JSON object, not {type(value).__name__}")
    return value


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


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
    except (csv.Error, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{name} does not begin with the names of its columns: {error}") from error
    _require_distinct(header, name)

    def records() -> Iterator[Record]:
        while True:
            start = reader.line_num + 1
            try:
                values = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if "field limit" in str(error):  # the rest of the row would be read as rows
                    raise too_long from error
                yield BadRecord(f"line {start}: not CSV: {error}")
                continue
            if any(map(_UNDECODED.search, values)):
                yield BadRecord(f"line {start}: not UTF-8")
            elif values and len(values) != len(header):
                found = f"{len(values)} fields where the header has {len(header)}"
                yield BadRecord(f"line {start}: {found}")
            elif values:
                yield dict(zip(header, values, strict=True))

    return header, records()


def _require_distinct(columns: tuple[str, ...], name: str) -> None:
    if not columns:
        raise InputError(f"{name} does not begin with the names of its columns")
    if len(set(columns)) < len(columns):
        raise InputError(f"{name} has two columns of the same name")


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
    _require_distinct(names, name)
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
