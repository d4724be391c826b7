"""Find input files and read their records: JSON lines, CSV and Parquet, one at a time.

A file is a path or a URL of a pyarrow file system (s3://...).

An unreadable record becomes a `BadRecord` in its place. Damage that makes the rest of the file
unreadable raises an InputError.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import json
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import IO, Any

from halldetect.errors import InputError, import_extra, one_line
from halldetect.machine.store import require_network

STANDARD_STREAM = "-"
BUFFER_BYTES = 1 << 20
# A longer row is not held in memory: JSON lines skip it, CSV raises an error.
MAX_ROW_BYTES = 64 * 1024 * 1024
JSONL_SUFFIXES = (".jsonl", ".ndjson")
_PARQUET_BATCH_ROWS = 32
# "surrogateescape" turns bytes that are not UTF-8 into these.
_UNDECODED = re.compile("[\udc80-\udcff]")


def is_url(argument: str) -> bool:
    """Return True if an argument is a URL, not a path."""
    return "://" in argument


def is_pattern(argument: str) -> bool:
    """Return True if an argument is a pattern, and not the exact name of a local file."""
    return glob.has_magic(argument) and (is_url(argument) or not Path(argument).exists())


def expand_inputs(arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the files that paths, URLs and patterns name, or `-` alone for standard input."""
    if STANDARD_STREAM in arguments and len(arguments) > 1:
        raise InputError("standard input (-) cannot be one of several inputs")
    files = [file for argument in arguments for file in _matches(argument)]
    if repeated := [file for file, times in Counter(files).items() if times > 1]:
        raise InputError(f"{repeated[0]!r} is named twice as input")
    return tuple(files)


def _matches(argument: str) -> list[str]:
    if not is_pattern(argument):
        return [argument]
    if is_url(argument):
        files = _matches_of_url(argument)
    else:
        names = glob.glob(argument, recursive=True)  # noqa: PTH207 (it may be absolute)
        files = [name for name in names if not Path(name).is_dir()]
    if not files:
        raise InputError(f"no file matches {argument!r}")
    return sorted(files)


def file_system(location: str) -> tuple[Any, str]:
    """Return the pyarrow file system of a URL, and the path within it."""
    fs = import_extra("pyarrow.fs", f"{location!r}", "parquet")
    from pyarrow import ArrowException

    require_network(f"{location!r}", None if location.startswith("file:") else location)
    try:
        system, path = fs.FileSystem.from_uri(location)
    except (ArrowException, OSError) as error:
        raise InputError(f"cannot reach {location!r}: {one_line(error)}") from error
    return system, path


def _matches_of_url(pattern: str) -> list[str]:
    """Return matching files under the fixed prefix: object stores do not support patterns."""
    parts = pattern.split("/")
    first_magic = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    fixed = "/".join(parts[:first_magic])
    system, folder = file_system(fixed)
    from pyarrow.fs import FileSelector, FileType

    try:
        entries = system.get_file_info(FileSelector(folder, recursive=True))
    except OSError as error:
        raise InputError(f"cannot list {fixed!r}: {one_line(error)}") from error
    files = (entry.path for entry in entries if entry.type == FileType.File)
    names = [path[len(folder) :].lstrip("/") for path in files]
    return [f"{fixed}/{name}" for name in names if _fits(name.split("/"), parts[first_magic:])]


def _fits(parts: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


@contextmanager
def open_bytes(file: str) -> Iterator[tuple[IO[bytes], int]]:
    """Open a path or URL for reading; yield the stream and its size, 0 if unknown."""
    try:
        if is_url(file):
            system, path = file_system(file)
            native = system.open_input_file(path)
            stream: Any = io.BufferedReader(native, BUFFER_BYTES)
            size = native.size()
        else:
            status = Path(file).stat()
            if stat.S_ISDIR(status.st_mode):
                raise InputError(f"{file!r} is a directory, not a file")
            stream = Path(file).open("rb")  # noqa: SIM115
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    except OSError as error:
        raise InputError(f"cannot read {file!r}: {error.strerror or one_line(error)}") from error
    with stream:
        yield stream, size


def write_standard_output(data: bytes) -> None:
    """Write bytes to standard output, after all text; raise OSError once, not again at exit."""
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


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
    fraction_read: Callable[[], float] = lambda: 0.0

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
            fraction = (lambda: raw.tell() / size) if size else (lambda: 0.0)
            yield RecordFile(name, records, header, kind == ".csv", fraction)


def _decompressed(raw: IO[bytes], compression: str) -> IO[bytes]:
    if compression == ".gz":
        return gzip.GzipFile(fileobj=raw)  # type: ignore[return-value]
    if compression == ".zst":
        pyarrow = import_extra("pyarrow", "reading .zst", "parquet")
        return io.BufferedReader(pyarrow.CompressedInputStream(raw, "zstd"), BUFFER_BYTES)
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
    parquet = import_extra("pyarrow.parquet", "reading Parquet", "parquet")
    from pyarrow import ArrowException

    try:
        file = parquet.ParquetFile(raw)
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

    return RecordFile(name, records(), names, False, lambda: done / total if total else 0.0)
