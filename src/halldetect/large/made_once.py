"""Folders of large files that are made on this machine, once, by one process.

A folder appears whole or not at all. What a process leaves that was killed or interrupted (Ctrl-C
ends a command without waiting for its threads) is removed by the next one that makes the folder.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from halldetect.errors import MissingExtra, ModelError
from halldetect.models.download import Progress
from halldetect.models.store import megabytes

# What must stay free on the disk beside the files.
_SPARE_BYTES = 200_000_000


def no_progress(done: int, total: int | None, what: str) -> None:
    """A `Progress` that tells nobody."""


def make_once(
    folder: Path,
    files: Sequence[str],
    size: int,
    make: Callable[[Path], None],
    progress: Progress = no_progress,
) -> None:
    """Make a folder unless it is there with all its files.

    Args:
        folder: where the files shall be.
        files: their names.
        size: roughly their bytes.
        make: writes them into the empty folder that it is given.
        progress: told if another process has to be waited for.

    Raises ModelError if the disk is full or the folder cannot be written.
    """

    def is_made() -> bool:
        return all((folder / name).is_file() for name in files)

    if is_made():
        return
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _only_process(folder, progress):
            if not is_made():  # another process may have made it meanwhile
                _make(folder, files, size, make)
    except OSError as error:
        raise ModelError(_unwritable(folder, size, error)) from error


def _make(folder: Path, files: Sequence[str], size: int, make: Callable[[Path], None]) -> None:
    for leftover in folder.parent.glob(f"{folder.name}.*.partial"):
        shutil.rmtree(leftover, ignore_errors=True)
    if shutil.disk_usage(folder.parent).free < size + _SPARE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    draft = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    try:
        draft.mkdir()
        make(draft)
        for name in files:
            # On the disk before the folder has its name: else a power cut may leave a folder that
            # looks whole, with zeros in it.
            with (draft / name).open("rb+") as file:
                os.fsync(file.fileno())
        shutil.rmtree(folder, ignore_errors=True)  # one that lacks a file
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def _only_process(folder: Path, progress: Progress) -> Iterator[None]:
    """Several processes that each made the folder would fill the disk."""
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise MissingExtra("the verifier large", "large") from error
    lock = FileLock(folder.with_name(f"{folder.name}.lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(0, None, f"waiting for another process that makes {folder}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _unwritable(folder: Path, size: int, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return (
            f"large: the disk is full: {folder.parent} needs {megabytes(size + _SPARE_BYTES)} for "
            "what is made there once; make room or set HALLDETECT_HOME to another disk"
        )
    return (
        f"large: cannot write {folder}, which is made once: {error.strerror or error}; "
        "set HALLDETECT_HOME to a folder that can be written to"
    )
