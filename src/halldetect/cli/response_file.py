"""The file that a response comes from, and the report at its lines: SARIF and notes for GitHub."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from halldetect.cli.text_arguments import is_html_file
from halldetect.report import Report

if TYPE_CHECKING:
    from halldetect.render import CheckedFile


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
    """The file of a response; None for a pipe, which has a name, but no lines to go back to.

    Args:
        file: its path.
    """
    if not file.is_file():
        return None
    path, here = file.resolve(), Path.cwd().resolve()
    inside = path.relative_to(here).as_posix() if path.is_relative_to(here) else None
    with file.open("rb") as stream:
        plain = stream.read(4) not in (b"%PDF", b"PK\x03\x04")
    return ResponseFile(path, inside, plain and not is_html_file(file))


def checked_file(report: Report, file: ResponseFile | None) -> CheckedFile:
    """The report with its file, as a SARIF log names it.

    Args:
        report: the report.
        file: the file of the response, if it has one.
    """
    from halldetect.render import CheckedFile

    if file is None:
        return CheckedFile(report)
    uri = file.path.as_uri() if file.inside is None else quote(os.fsencode(file.inside))
    return CheckedFile(report, uri, file.lines)


def github_notes(report: Report, file: ResponseFile | None) -> str:
    """The report as workflow commands of GitHub Actions.

    Args:
        report: the report.
        file: the file of the response, if it has one.
    """
    from halldetect.render import github

    if file is None or file.inside is None:
        return github(report)
    return github(report, file.inside, lines=file.lines)
