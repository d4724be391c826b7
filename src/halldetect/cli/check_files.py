"""halldetect check-files: answers in a repository against their sources, for CI and hooks."""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.answer_rules import FILE_NAME, Answer, find_answers
from halldetect.cli.exits import interruptible, worst_status
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.output import print_result, require_writable, write_file
from halldetect.cli.parser import path_argument
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.response_file import checked_file, find_response_file, github_notes
from halldetect.cli.text_arguments import TextArguments, read_file
from halldetect.errors import InputError
from halldetect.report import Report

if TYPE_CHECKING:
    from halldetect.inputs import Pair

DESCRIPTION = f"""\
Check answer files against their sources, as {FILE_NAME} names them. With FILE or --since, only
answers that are among these files, or that have a source among them. The exit status is that of
the worst answer; 0 if there is nothing to check.
"""


def add(commands: Any) -> None:
    """Add the command `check-files` to the parser."""
    parser = commands.add_parser(
        "check-files",
        help="check answer files of a repository against their sources",
        description=DESCRIPTION,
        usage="halldetect check-files [FILE ...] [options]",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="changed files")
    parser.add_argument(
        "--since", metavar="COMMIT", help="the files that git says have changed since then"
    )
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
    add_option(
        "--sarif", type=path_argument, metavar="FILE", help="write all findings as SARIF 2.1.0"
    )
    add_option("--quiet", action="store_true", help="no notices and no progress on standard error")
    add_detector_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Check the answers; the worst verdict is the exit status."""
    require_writable(arguments.sarif)
    answers = _chosen(find_answers(arguments.rules), arguments)
    pairs = [_pair(answer) for answer in answers]
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display)
        reports = interruptible(lambda stop: detector.check_many(pairs), display) if pairs else []
        if not pairs:
            display.notice("no answer to check among these files")
    _show(arguments, answers, reports)
    return worst_status(report.verdict for report in reports)


def _chosen(answers: list[Answer], arguments: argparse.Namespace) -> list[Answer]:
    """The answers that changed, or whose sources did; all if no files are named."""
    if not arguments.files and arguments.since is None:
        return answers
    changed = {Path(file).resolve() for file in arguments.files}
    if arguments.since is not None:
        changed |= _changed_since(arguments.since)
    return [
        answer
        for answer in answers
        if any(path.resolve() in changed for path in (answer.file, *answer.sources))
    ]


def _changed_since(commit: str) -> set[Path]:
    """The files that differ from a commit, those that git does not know yet included."""
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


def _show(
    arguments: argparse.Namespace, answers: Sequence[Answer], reports: Sequence[Report]
) -> None:
    from halldetect import render

    files = [find_response_file(answer.file) for answer in answers]
    for answer, report, file in zip(answers, reports, files, strict=True):
        short = f"{answer.file}: {render.short(report)}\n"
        print_result(github_notes(report, file) if arguments.format == "github" else short)
    if arguments.sarif is not None:
        checked = [checked_file(report, file) for report, file in zip(reports, files, strict=True)]
        write_file(arguments.sarif, render.sarif_log(checked))
