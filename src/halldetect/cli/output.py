"""What a command writes: results on standard output, and files."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from halldetect.errors import InputError


def print_result(text: str) -> None:
    """Write a result to standard output as UTF-8; a reader that has left is no error."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(text.encode("utf-8", "replace"))
        sys.stdout.flush()
    except OSError as error:
        # Python would complain again when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if not isinstance(error, BrokenPipeError):
            raise InputError(f"cannot write to standard output: {error.strerror}") from error


def require_writable(path: Path | None) -> None:
    """Raise InputError before the long work if its result could not be written to the path."""
    if path is None:
        return
    try:
        if path.is_dir():
            why = "it is a directory"
        elif not path.parent.is_dir():
            why = f"there is no folder {str(path.parent)!r}"
        elif not os.access(path if path.exists() else path.parent, os.W_OK):
            why = "permission denied"
        else:
            return
    except OSError as error:  # a name that no file can have
        why = str(error.strerror)
    raise InputError(f"cannot write {str(path)!r}: {why}")


def write_file(path: Path | None, content: str | bytes) -> None:
    """Write bytes to a file, or a text as UTF-8; without a path, do nothing."""
    if path is None:
        return
    try:
        path.write_bytes(
            content if isinstance(content, bytes) else content.encode("utf-8", "replace")
        )
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error
