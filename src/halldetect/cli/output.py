"""The output of a command: results on standard output, files, and places in files."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from halldetect.errors import InputError

if TYPE_CHECKING:
    from halldetect.render import CheckedFile
    from halldetect.report import Report


def print_result(text: str) -> None:
    """Write a result to standard output as UTF-8; ignore a closed pipe."""
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


def require_writable(*paths: Path | None) -> None:
    """Raise InputError before the long work if a file is not writable."""
    for path in filter(None, paths):
        try:
            if path.is_dir():
                why = "it is a directory"
            elif not path.parent.is_dir():
                why = f"there is no folder {str(path.parent)!r}"
            elif not os.access(path if path.exists() else path.parent, os.W_OK):
                why = "permission denied"
            else:
                continue
        except OSError as error:  # an impossible name
            why = str(error.strerror)
        raise InputError(f"cannot write {str(path)!r}: {why}")


def write_file(path: Path | None, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8, to a file; do nothing without a path."""
    if path is None:
        return
    data = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    try:
        path.write_bytes(data)
    except OSError as error:
        raise InputError(f"cannot write {str(path)!r}: {error.strerror}") from error


@dataclass(frozen=True, slots=True)
class ResponseFile:
    """The file of a response.

    Attributes:
        path: its absolute path.
        inside: its path in the current folder; None if it lies elsewhere.
        lines: whether places in the text of the response are places in the file.
    """

    path: Path
    inside: str | None
    lines: bool


def find_response_file(file: Path) -> ResponseFile | None:
    """Return the file of a response; None for a pipe, which has no lines."""
    from halldetect.reading.html_page import ENDINGS

    if not file.is_file():
        return None
    path, here = file.resolve(), Path.cwd().resolve()
    inside = path.relative_to(here).as_posix() if path.is_relative_to(here) else None
    with file.open("rb") as stream:
        plain = stream.read(4) not in (b"%PDF", b"PK\x03\x04")
    return ResponseFile(path, inside, plain and path.suffix.lower() not in ENDINGS)


def checked_file(report: Report, file: ResponseFile | None) -> CheckedFile:
    """Return the report with its file, as a SARIF log names it."""
    from halldetect.render import CheckedFile

    if file is None:
        return CheckedFile(report)
    uri = file.path.as_uri() if file.inside is None else quote(os.fsencode(file.inside))
    return CheckedFile(report, uri, file.lines)


def github_notes(report: Report, file: ResponseFile | None) -> str:
    """Return the report as workflow commands of GitHub Actions."""
    from halldetect.render import github

    if file is None or file.inside is None:
        return github(report)
    return github(report, file.inside, lines=file.lines)
