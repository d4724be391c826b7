"""Where input and output files are: paths, patterns, and URLs that pyarrow knows (s3://...)."""

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

STANDARD_STREAM = "-"
BUFFER_BYTES = 1 << 20
# An object store reports one file size per request: beyond this many, all files count the same.
_MAX_SIZE_REQUESTS = 1000


def is_url(argument: str) -> bool:
    """Whether the argument names a file by URL rather than by path."""
    return "://" in argument


def is_pattern(argument: str) -> bool:
    """Whether the argument stands for any number of files.

    A local file that has this very name is meant itself.
    """
    return glob.has_magic(argument) and (is_url(argument) or not Path(argument).exists())


def expand_inputs(arguments: Sequence[str]) -> tuple[str, ...]:
    """The files that the arguments name.

    Args:
        arguments: paths, URLs and patterns, or `-` alone for standard input.

    Returns:
        The files in the order of the arguments; those of one pattern sorted by name.
    """
    if not arguments:
        raise InputError("no input is named")
    if STANDARD_STREAM in arguments and len(arguments) > 1:
        raise InputError("standard input (-) cannot be one of several inputs")
    files = [file for argument in arguments for file in _matches(argument)]
    if len(set(files)) < len(files):
        twice = next(file for file, times in Counter(files).items() if times > 1)
        raise InputError(f"{twice!r} is named twice as input")
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
    """The pyarrow file system of a URL or path, and the path within it."""
    try:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem, LocalFileSystem
    except ImportError as error:
        raise MissingExtra(f"{location!r}", "parquet") from error
    if not is_url(location):
        return LocalFileSystem(), os.path.realpath(location)
    try:
        system, path = FileSystem.from_uri(location)
    except (ArrowException, OSError) as error:
        raise InputError(f"cannot reach {location!r}: {one_line(error)}") from error
    return system, path


def _matches_of_url(pattern: str) -> list[str]:
    """Object stores know no patterns: list what is under the fixed beginning and compare."""
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
    names = [
        entry.path[len(folder) :].lstrip("/") for entry in entries if entry.type == FileType.File
    ]
    pattern_parts = parts[first_magic:]
    return [f"{beginning}/{name}" for name in names if _fits(name.split("/"), pattern_parts)]


def _fits(parts: list[str], pattern: list[str]) -> bool:
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_fits(parts[skip:], pattern[1:]) for skip in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _fits(parts[1:], pattern[1:])


@contextmanager
def open_bytes(file: str) -> Iterator[tuple[IO[bytes], int]]:
    """Open a path or URL for reading; yields the stream, and its size or 0 where it has none."""
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


def file_sizes(files: Sequence[str]) -> list[int]:
    """The size of each file relative to the others, 0 where it cannot be known."""
    if len(files) > _MAX_SIZE_REQUESTS:
        return [1] * len(files)
    return [_file_size(file) for file in files]


def _file_size(file: str) -> int:
    try:
        if is_url(file):
            system, path = file_system(file)
            return int(system.get_file_info(path).size or 0)
        return 0 if file == STANDARD_STREAM else Path(file).stat().st_size
    except OSError:
        return 0
