"""halldetect index: make, update and describe an index of documents for check --knowledge."""

from __future__ import annotations

import argparse
from contextlib import closing
from pathlib import Path
from typing import Any

from halldetect.cli.output import print_result, require_writable
from halldetect.cli.parser import path_argument
from halldetect.cli.progress import ProgressDisplay

_INDEX_HELP = "the index file, or postgresql://..."


def add(commands: Any) -> None:
    """Add the command `index` and its actions to the parser."""
    parser = commands.add_parser(
        "index",
        help="make an index of documents for check --knowledge",
        description="Make, update and describe an index of documents.",
        allow_abbrev=False,
    )
    actions = parser.add_subparsers(metavar="ACTION", required=True, parser_class=type(parser))
    build = actions.add_parser(
        "build",
        help="index files, or bring an index up to date",
        description="Index text, Markdown, HTML, PDF, DOCX and JSON Lines files (objects with "
        "text, and perhaps id and title). An index that is there is brought up to date: unchanged "
        "documents are skipped. A build that was stopped continues when it is run again.",
        usage="halldetect index build DIR_OR_FILES... -o INDEX [options]",
        allow_abbrev=False,
    )
    build.add_argument(
        "paths", nargs="+", type=path_argument, metavar="DIR_OR_FILES", help="what to index"
    )
    build.add_argument(
        "-o", "--output", required=True, type=_index_argument, metavar="INDEX", help=_INDEX_HELP
    )
    build.add_argument(
        "--remove-missing",
        action="store_true",
        help="remove documents of earlier builds that are not among these files",
    )
    build.add_argument(
        "--skip-bad", action="store_true", help="skip files that cannot be read, and name them"
    )
    build.add_argument("--quiet", action="store_true", help="no progress on standard error")
    build.set_defaults(run=run_build)
    remove = actions.add_parser("remove", help="remove documents from an index", allow_abbrev=False)
    remove.add_argument("index", metavar="INDEX", help=_INDEX_HELP)
    remove.add_argument("names", nargs="+", metavar="NAME", help="names of documents")
    remove.set_defaults(run=run_remove)
    info = actions.add_parser("info", help="describe an index", allow_abbrev=False)
    info.add_argument("index", metavar="INDEX", help=_INDEX_HELP)
    info.set_defaults(run=run_info)


def _index_argument(text: str) -> str:
    path_argument(text)  # refuses an empty name
    return text


def run_build(arguments: argparse.Namespace) -> int:
    """Make an index or bring it up to date."""
    from halldetect.knowledge.builder import build_index, is_url
    from halldetect.knowledge.readers import find_files

    if not is_url(arguments.output):
        require_writable(Path(arguments.output))
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


def run_remove(arguments: argparse.Namespace) -> int:
    """Remove documents from an index."""
    from halldetect.knowledge.builder import remove_documents

    removed = remove_documents(arguments.index, arguments.names)
    noun = "document" if removed == 1 else "documents"
    print_result(f"{arguments.index}: {removed:,} {noun} removed\n")
    return 0


def run_info(arguments: argparse.Namespace) -> int:
    """Print the contents of an index."""
    from halldetect.knowledge.builder import open_index

    with closing(open_index(arguments.index)) as index:
        lines = [f"{name}: {value}" for name, value in index.description.items()]
    print_result("\n".join(lines) + "\n")
    return 0
