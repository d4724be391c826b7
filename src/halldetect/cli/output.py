"""The output of a command: results on standard output, files, and places in files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import quote

from halldetect.batch.formats import write_standard_output
from halldetect.errors import InputError
from halldetect.reading.html_page import ENDINGS
from halldetect.render import CheckedFile
from halldetect.report import Report
from halldetect.report.json_form import json_text

_JSON_WIDTH = 100


def print_result(text: str) -> None:
    """Write a result to standard output as UTF-8; ignore a closed pipe."""
    try:
        if sys.stdout is not None:
            write_standard_output(text.encode("utf-8", "replace"))
    except BrokenPipeError:
        pass
    except OSError as error:
        raise InputError(f"cannot write to standard output: {error.strerror}") from error


def print_json(value: Any) -> None:
    """Write a value to standard output as JSON; what fits on one line is on one line."""
    print_result(f"{_json(value)}\n")


def _json(value: Any, margin: str = "", name: str = "") -> str:
    line = f"{margin}{name}{json_text(value)}"
    if len(line) <= _JSON_WIDTH or not value or not isinstance(value, dict | list):
        return line
    if isinstance(value, dict):
        items = [(f"{json_text(key)}: ", item) for key, item in value.items()]
    else:
        items = [("", item) for item in value]
    lines = ",\n".join(_json(item, f"{margin}  ", key) for key, item in items)
    start, end = "{}" if isinstance(value, dict) else "[]"
    return f"{margin}{name}{start}\n{lines}\n{margin}{end}"


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


def checked_file(report: Report, file: Path | None) -> CheckedFile:
    """Return the report with the file of its response, as a SARIF log names it.

    A pipe has no lines; neither has a response that is read from PDF, DOCX or HTML.
    """
    if file is None or not file.is_file():
        return CheckedFile(report)
    with file.open("rb") as stream:
        plain = stream.read(4) not in (b"%PDF", b"PK\x03\x04")
    plain = plain and file.suffix.lower() not in ENDINGS
    path, here = file.resolve(), Path.cwd().resolve()
    if not path.is_relative_to(here):  # outside the repository
        return CheckedFile(report, path.as_uri(), plain)
    inside = path.relative_to(here).as_posix()
    return CheckedFile(report, quote(os.fsencode(inside)), plain, inside)
