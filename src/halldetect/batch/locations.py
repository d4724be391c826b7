"""Find input and output files: paths, patterns, and URLs of pyarrow file systems (s3://...)."""

from __future__ import annotations

import glob
import io
import os
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import IO, Any

from halldetect.errors import InputError, MissingExtra, one_line
from halldetect.models.store import require_network

STANDARD_STREAM = "-"
BUFFER_BYTES = 1 << 20


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
    """Return the pyarrow file system of a URL or path, and the path within it."""
    try:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem, LocalFileSystem
    except ImportError as error:
        raise MissingExtra(f"{location!r}", "parquet") from error
    if not is_url(location):
        return LocalFileSystem(), os.path.realpath(location)
    require_network(f"{location!r}", None if location.startswith("file:") else location)
    try:
        system, path = FileSystem.from_uri(location)
    except (ArrowException, OSError) as error:
        raise InputError(f"cannot reach {location!r}: {one_line(error)}") from error
    return system, path


def _matches_of_url(pattern: str) -> list[str]:
    """Return matching files under the fixed prefix: object stores do not support patterns."""
    from pyarrow.fs import FileSelector, FileType

    scheme, _, rest = pattern.partition("://")
    parts = rest.split("/")
    first_magic = next(index for index, part in enumerate(parts) if glob.has_magic(part))
    beginning = f"{scheme}://{'/'.join(parts[:first_magic])}"
    system, folder = file_system(beginning)
    try:
        entries = system.get_file_info(FileSelector(folder, recursive=True))
    except OSError as error:
        raise InputError(f"cannot list {beginning!r}: {one_line(error)}") from error
    files = (entry.path for entry in entries if entry.type == FileType.File)
    names = [path[len(folder) :].lstrip("/") for path in files]
    return [f"{beginning}/{name}" for name in names if _fits(name.split("/"), parts[first_magic:])]


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
