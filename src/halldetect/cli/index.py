"""halldetect index: make, update and describe an index of documents for check --knowledge."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from halldetect.cli.options import QUIET
from halldetect.cli.output import print_result, require_writable
from halldetect.cli.parser import add_command, name_argument, path_argument, switch, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import require_existing
from halldetect.report.phrases import one_line

BUILD = """\
Index text, Markdown, HTML, PDF, DOCX and JSON Lines files (objects with text, and perhaps id and
title). An index that is there is brought up to date: unchanged documents are skipped. A build that
is stopped leaves the index as it was.
"""
_INDEX = value("INDEX", "the index file, or postgresql://...", name_argument)
_BUILD = {
    "paths": {"nargs": "+", **value("DIR_OR_FILES", "what to index", path_argument)},
    "-o --output": {"required": True, **_INDEX},
    "--remove-missing": switch("remove documents of earlier builds that are not among these files"),
    "--skip-bad": switch("skip files and JSON lines that cannot be read, and name them"),
    **QUIET,
}


def add(commands: Any) -> None:
    """Add the command `index` and its actions to the parser."""
    text = "Make, update and describe an index of documents."
    help = "make an index of documents for check --knowledge"
    parser = add_command(commands, "index", None, help, text)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    usage, help = "DIR_OR_FILES... -o INDEX", "index files, or bring an index up to date"
    add_command(actions, "build", run_build, help, BUILD, usage, {"": _BUILD})
    help = "describe an index and list its documents"
    add_command(actions, "info", run_info, help, groups={"": {"index": _INDEX}})


def run_build(arguments: argparse.Namespace) -> int:
    """Make an index or bring it up to date."""
    from halldetect.knowledge.builder import build_index, is_url
    from halldetect.knowledge.readers import find_files

    if not is_url(arguments.output):
        require_writable(Path(arguments.output))
    require_existing(arguments.paths)
    files = find_files(arguments.paths)
    with ProgressDisplay(quiet=arguments.quiet) as display:
        summary = build_index(
            arguments.output,
            files,
            remove_missing=arguments.remove_missing,
            strict=not arguments.skip_bad,
            progress=lambda done: display.update("indexing", f"{done:,} documents", None),
        )
        for problem in summary.skipped:
            display.notice(f"skipped: {problem}")
    print_result(
        f"{arguments.output}: {summary.documents:,} documents, {summary.passages:,} passages "
        f"({summary.added:,} added, {summary.updated:,} updated, {summary.unchanged:,} unchanged, "
        f"{summary.removed:,} removed)\n"
    )
    return 0


def run_info(arguments: argparse.Namespace) -> int:
    """Print the description of an index and the names of its documents."""
    from halldetect.knowledge.builder import open_index

    with closing(open_index(arguments.index)) as index:
        lines = [f"{name}: {value}" for name, value in index.description.items()]
        found = index.execute("SELECT name FROM documents ORDER BY name")
        lines += ["", *(f"  {one_line(name)}" for (name,) in found)]
    print_result("\n".join(lines) + "\n")
    return 0
