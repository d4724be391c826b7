"""Which files the input names: paths, patterns, and addresses that pyarrow knows (s3://...)."""

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

from halldetect.errors import InputError, MissingExtra

STANDARD = "-"
_BUFFER = 1 << 20
# A store answers for one file at a time: with more of them, all count the same.
_MOST_ASKED = 1000


def is_address(argument: str) -> bool:
    return "://" in argument


def is_pattern(argument: str) -> bool:
    """Whether it stands for any number of files; a file that has this very name is meant itself."""
    return glob.has_magic(argument) and (is_address(argument) or not Path(argument).exists())


def files_of(arguments: Sequence[str]) -> tuple[str, ...]:
    """The files in the order of the arguments; those of a pattern by name."""
    if not arguments:
        raise InputError("no input is named")
    if STANDARD in arguments and len(arguments) > 1:
        raise InputError("standard input (-) cannot be one of several inputs")
    found = [file for argument in arguments for file in _matches(argument)]
    if len(set(found)) < len(found):
        twice = next(file for file, times in Counter(found).items() if times > 1)
        raise InputError(f"{twice!r} is named twice as input")
    return tuple(found)


def _matches(argument: str) -> list[str]:
    if not is_pattern(argument):
        return [argument]
    if is_address(argument):
        found = _listed(argument)
    else:
        names = glob.glob(argument, recursive=True)  # noqa: PTH207 (it may be absolute)
        found = [name for name in names if not Path(name).is_dir()]
    if not found:
        raise InputError(f"no file matches {argument!r}")
    return sorted(found)


def file_system(address: str) -> tuple[Any, str]:
    """The pyarrow file system of an address or path, and the path in it."""
    try:
        from pyarrow import ArrowException
        from pyarrow.fs import FileSystem, LocalFileSystem
    except ImportError as error:
        raise MissingExtra(f"{address!r}", "parquet") from error
    if not is_address(address):
        return LocalFileSystem(), os.path.realpath(address)
    try:
        system, path = FileSystem.from_uri(address)
    except (ArrowException, OSError) as error:
        raise InputError(f"cannot reach {address!r}: {_line(error)}") from error
    return system, path


def _listed(pattern: str) -> list[str]:
    """Object stores know no patterns: list what lies under the fixed beginning and compare."""
    from pyarrow.fs import FileSelector, FileType

    scheme, _, rest = pattern.partition("://")
    parts = rest.split("/")
    fixed = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    beginning = f"{scheme}://{'/'.join(parts[:fixed])}"
    system, folder = file_system(beginning)
    try:
        entries = system.get_file_info(FileSelector(folder, recursive=True))
    except OSError as error:
        raise InputError(f"cannot list {beginning!r}: {_line(error)}") from error
    wanted = parts[fixed:]
    names = [
        entry.path[len(folder) :].lstrip("/") for entry in entries if entry.type == FileType.File
    ]
    return [f"{beginning}/{name}" for name in names if _fits(name.split("/"), wanted)]


def _fits(parts: list[str], wanted: list[str]) -> bool:
    if not wanted:
        return not parts
    if wanted[0] == "**":
        return any(_fits(parts[at:], wanted[1:]) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _fits(parts[1:], wanted[1:])


@contextmanager
def open_bytes(argument: str) -> Iterator[tuple[IO[bytes], int]]:
    """The file, and its size or 0 where it has none."""
    try:
        if is_address(argument):
            system, path = file_system(argument)
            native = system.open_input_file(path)
            stream: Any = io.BufferedReader(native, _BUFFER)
            size = native.size()
        else:
            status = Path(argument).stat()
            if stat.S_ISDIR(status.st_mode):
                raise InputError(f"{argument!r} is a directory, not a file")
            stream = Path(argument).open("rb")  # noqa: SIM115
            size = status.st_size if stat.S_ISREG(status.st_mode) else 0
    except OSError as error:
        raise InputError(f"cannot read {argument!r}: {error.strerror or _line(error)}") from error
    with stream:
        yield stream, size


def sizes_of(files: Sequence[str]) -> list[int]:
    """How large each file is beside the others, 0 where it cannot be known."""
    if len(files) > _MOST_ASKED:
        return [1] * len(files)
    return [_size(file) for file in files]


def _size(argument: str) -> int:
    try:
        if is_address(argument):
            system, path = file_system(argument)
            return int(system.get_file_info(path).size or 0)
        return 0 if argument == STANDARD else Path(argument).stat().st_size
    except OSError:
        return 0


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
