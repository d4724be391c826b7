"""halldetect check-files: answers in a repository against their sources, for CI and hooks.

The file .halldetect.toml has a table per rule:

    [[answers]]
    files = "answers/*.md"
    sources = ["manual/{name}.md", "prices.md"]

`files` is a pattern, `{name}` the name of the answer's file without its ending; sources may be
patterns too. Paths are relative to the folder of the file.
"""

from __future__ import annotations

import argparse
import subprocess
import tomllib
from collections.abc import Iterator
from glob import escape
from pathlib import Path
from typing import Any

from halldetect import render
from halldetect.cli.exits import worst_status
from halldetect.cli.options import QUIET, add_detector_options, with_detector
from halldetect.cli.output import checked_file, print_result, require_writable, write_file
from halldetect.cli.parser import add_command, file, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import TextArguments, existing_file, require_existing
from halldetect.errors import InputError
from halldetect.files.decoding import read_file
from halldetect.inputs import Pair
from halldetect.render.sarif import log_line

FILE_NAME = ".halldetect.toml"
DESCRIPTION = f"""\
Check answer files against their sources, as {FILE_NAME} names them. With FILE or --since, only
answers that are among these files, or that have a source among them. The exit status is that of
the worst answer; 0 if there is nothing to check.
"""
_EXAMPLE = '[[answers]] with files = "answers/*.md" and sources = ["manual/{name}.md"]'
_OPTIONS = {
    "": {
        "files": {"nargs": "*", "metavar": "FILE", "help": "changed files"},
        "--since": value("COMMIT", "the files that git says have changed since then"),
        "--rules": file(f"which sources an answer has (default: {FILE_NAME})"),
    },
    "what to show": {
        "--format": value(
            None, "lines, or notes for GitHub Actions", str, "short", choices=("short", "github")
        ),
        "--sarif": file("write all findings as SARIF 2.1.0"),
        **QUIET,
    },
}


def add(commands: Any) -> None:
    """Add the command `check-files` to the parser."""
    help = "check answer files of a repository against their sources"
    usage = "[FILE ...]"
    parser = add_command(commands, "check-files", run, help, DESCRIPTION, usage, _OPTIONS)
    add_detector_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check the answers; return the exit status of the worst verdict."""
    require_writable(arguments.sarif)
    answers = find_answers(arguments.rules or Path(FILE_NAME))
    changed = _changed(arguments)
    chosen = {
        answer: [str(source) for source in sources]
        for answer, sources in answers.items()
        if changed is None or any(path.resolve() in changed for path in (answer, *sources))
    }
    pairs = [
        Pair(TextArguments().read_sources([], sources), read_file(answer, "answer"))
        for answer, sources in chosen.items()
    ]
    if not pairs:
        ProgressDisplay(quiet=arguments.quiet).notice("no answer to check among these files")
    reports = with_detector(arguments, lambda detector: detector.check_many(pairs))
    checked = []
    for answer, report in zip(chosen, reports, strict=True):
        checked.append(checked_file(report, answer))
        short = f"{log_line(str(answer))}: {render.short(report)}\n"
        print_result(checked[-1].github() if arguments.format == "github" else short)
    write_file(arguments.sarif, render.sarif_log(checked))
    return worst_status(report.verdict for report in reports)


def _changed(arguments: argparse.Namespace) -> set[Path] | None:
    """Return the changed files, untracked ones included; None if no files are named."""
    if not arguments.files and arguments.since is None:
        return None
    changed = [Path(name) for name in arguments.files]
    require_existing(changed)
    if arguments.since is not None:
        top = Path(_git("rev-parse", "--show-toplevel").strip())
        found = _git("diff", "--name-only", "-z", arguments.since, "--")
        found += _git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", f"{top}")
        changed += [top / name for name in found.split("\0") if name]
    return {path.resolve() for path in changed}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=True)
    except FileNotFoundError as error:
        raise InputError("--since needs git") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"--since: {lines[0] if lines else 'git failed'}") from error
    return done.stdout.decode("utf-8", "surrogateescape")


def find_answers(rules: Path) -> dict[Path, list[Path]]:
    """Return the answers that a file of rules names, each with the files of its source.

    The first rule for a file counts.
    """
    found: dict[Path, list[Path]] = {}
    for files, sources in _read_rules(rules):
        for path in _matches(rules, files):
            if path not in found:
                found[path] = list(_sources(rules, path, sources))
    return found


def _sources(rules: Path, answer: Path, patterns: list[str]) -> Iterator[Path]:
    for pattern in patterns:
        filled = pattern.replace("{name}", escape(answer.stem))
        matched = _matches(rules, filled)
        if not matched:
            raise InputError(f"{str(answer)!r} has no source: no file matches {filled!r}")
        yield from (path for path in matched if path != answer)


def _matches(rules: Path, pattern: str) -> list[Path]:
    try:
        return sorted(path for path in rules.parent.glob(pattern) if path.is_file())
    except (ValueError, NotImplementedError) as error:  # empty, or an absolute path
        raise InputError(f"{str(rules)!r}: cannot use the pattern {pattern!r}: {error}") from error


def _read_rules(path: Path) -> Iterator[tuple[str, list[str]]]:
    if existing_file(str(path)) is None:
        raise InputError(f"there is no {str(path)!r}; it has tables such as {_EXAMPLE}")
    try:
        data = tomllib.loads(read_file(path, "rules"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{str(path)!r} is not TOML: {error}") from error
    tables = data.get("answers") if len(data) == 1 else None
    for table in tables if isinstance(tables, list) and tables else [{}]:
        fields = dict(table) if isinstance(table, dict) else {}
        files, sources = fields.pop("files", None), fields.pop("sources", None)
        patterns = [sources] if isinstance(sources, str) else sources
        texts = [files, *patterns] if isinstance(patterns, list) and patterns else [None]
        if fields or not all(isinstance(text, str) for text in texts):
            raise InputError(f"{str(path)!r} must have tables {_EXAMPLE}, and nothing else")
        yield files, list(patterns)
