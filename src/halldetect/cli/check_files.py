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
from dataclasses import dataclass
from glob import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.exits import interruptible, worst_status
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.output import (
    checked_file,
    find_response_file,
    github_notes,
    print_result,
    require_writable,
    write_file,
)
from halldetect.cli.parser import add_command, path_argument
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import TextArguments, read_file
from halldetect.errors import InputError

if TYPE_CHECKING:
    from halldetect.inputs import Pair

FILE_NAME = ".halldetect.toml"
DESCRIPTION = f"""\
Check answer files against their sources, as {FILE_NAME} names them. With FILE or --since, only
answers that are among these files, or that have a source among them. The exit status is that of
the worst answer; 0 if there is nothing to check.
"""
_EXAMPLE = '[[answers]] with files = "answers/*.md" and sources = ["manual/{name}.md"]'


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer file and the files of its source."""

    file: Path
    sources: tuple[Path, ...]


def add(commands: Any) -> None:
    """Add the command `check-files` to the parser."""
    usage = "halldetect check-files [FILE ...] [options]"
    help = "check answer files of a repository against their sources"
    parser = add_command(commands, "check-files", run, help, DESCRIPTION, usage=usage)
    parser.add_argument("files", nargs="*", metavar="FILE", help="changed files")
    since = "the files that git says have changed since then"
    parser.add_argument("--since", metavar="COMMIT", help=since)
    parser.add_argument(
        "--rules",
        type=path_argument,
        default=Path(FILE_NAME),
        metavar="FILE",
        help=f"which sources an answer has (default: {FILE_NAME})",
    )
    add_option = parser.add_argument_group("what to show").add_argument
    add_option(
        "--format",
        choices=("short", "github"),
        default="short",
        help="a few lines per answer, or notes at lines for GitHub Actions (default: short)",
    )
    sarif = "write all findings as SARIF 2.1.0"
    add_option("--sarif", type=path_argument, metavar="FILE", help=sarif)
    add_option("--quiet", action="store_true", help="no notices and no progress on standard error")
    add_detector_options(parser)


def run(arguments: argparse.Namespace) -> int:
    """Check the answers; return the exit status of the worst verdict."""
    from halldetect import render
    from halldetect.render.sarif import log_line

    require_writable(arguments.sarif)
    answers = _chosen(find_answers(arguments.rules), arguments)
    pairs = [_pair(answer) for answer in answers]
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display)
        reports = interruptible(lambda stop: detector.check_many(pairs), display) if pairs else []
        if not pairs:
            display.notice("no answer to check among these files")
    files = [find_response_file(answer.file) for answer in answers]
    for answer, report, file in zip(answers, reports, files, strict=True):
        short = f"{log_line(str(answer.file))}: {render.short(report)}\n"
        print_result(github_notes(report, file) if arguments.format == "github" else short)
    if arguments.sarif is not None:
        checked = [checked_file(report, file) for report, file in zip(reports, files, strict=True)]
        write_file(arguments.sarif, render.sarif_log(checked))
    return worst_status(report.verdict for report in reports)


def _chosen(answers: list[Answer], arguments: argparse.Namespace) -> list[Answer]:
    """Return the answers with changed text or sources; all if no files are named."""
    if not arguments.files and arguments.since is None:
        return answers
    for file in arguments.files:
        if not Path(file).exists():
            raise InputError(f"no file {file!r}")
    changed = {Path(file).resolve() for file in arguments.files}
    if arguments.since is not None:
        changed |= _changed_since(arguments.since)
    return [
        answer
        for answer in answers
        if any(path.resolve() in changed for path in (answer.file, *answer.sources))
    ]


def _changed_since(commit: str) -> set[Path]:
    """Return the files that differ from a commit, untracked ones included."""
    top = Path(_git("rev-parse", "--show-toplevel").strip())
    changed = _git("diff", "--name-only", "-z", commit, "--")
    new = _git("ls-files", "--others", "--exclude-standard", "--full-name", "-z", f"{top}")
    return {(top / name).resolve() for name in (changed + new).split("\0") if name}


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(["git", *arguments], capture_output=True, check=True)
    except FileNotFoundError as error:
        raise InputError("--since needs git") from error
    except subprocess.CalledProcessError as error:
        lines = error.stderr.decode("utf-8", "replace").strip().splitlines()
        raise InputError(f"--since: {lines[0] if lines else 'git failed'}") from error
    return done.stdout.decode("utf-8", "surrogateescape")


def _pair(answer: Answer) -> Pair:
    from halldetect.inputs import Pair

    reader = TextArguments(literal=False)
    documents = [
        document
        for source in answer.sources
        for document in reader.read_documents(str(source), "source", file=True)
    ]
    return Pair(documents, read_file(answer.file, "answer"))


def find_answers(rules: Path) -> list[Answer]:
    """Return the answers that the rules name; the first rule that names a file counts.

    Args:
        rules: the file with the rules.
    """
    found: dict[Path, Answer] = {}
    for files, sources in _read_rules(rules):
        for path in _matches(rules, files):
            if path not in found:
                found[path] = Answer(path, tuple(_sources(rules, path, sources)))
    return list(found.values())


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
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"there is no {str(path)!r}; it has tables such as {_EXAMPLE}") from error
    except OSError as error:
        raise InputError(f"cannot read {str(path)!r}: {error.strerror}") from error
    except ValueError as error:
        raise InputError(f"{str(path)!r} is not TOML: {error}") from error
    tables = data.get("answers")
    if not isinstance(tables, list) or not tables or data.keys() != {"answers"}:
        raise InputError(f"{str(path)!r} must have tables {_EXAMPLE}, and nothing else")
    for table in tables:
        if not isinstance(table, dict) or table.keys() != {"files", "sources"}:
            raise InputError(f"{str(path)!r}: each [[answers]] has files and sources, nothing else")
        files, sources = table["files"], table["sources"]
        patterns = [sources] if isinstance(sources, str) else sources
        if not isinstance(patterns, list) or not patterns or not _are_texts([files, *patterns]):
            raise InputError(f"{str(path)!r}: files is a pattern, sources a list of patterns")
        yield files, patterns


def _are_texts(values: list[Any]) -> bool:
    return all(isinstance(value, str) for value in values)
