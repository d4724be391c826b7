"""The command line: one module per command, or per group of commands.

Standard output carries only results; notices, progress and errors go to standard error.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from halldetect import __version__
from halldetect.cli import (
    batch,
    bench,
    check,
    check_files,
    compare,
    completion,
    doctor,
    index,
    mcp,
    models,
    repair,
    serve,
)
from halldetect.cli.exits import exit_status
from halldetect.cli.parser import Parser

EPILOG = """\
exit status: 0 faithful, 1 hallucinated, 2 wrong usage, 3 could not check,
4 the response gives no answer, 130 interrupted
"""
COMMANDS = (
    check.add,
    check_files.add,
    compare.add,
    repair.add,
    batch.add,
    check.add_demo,
    doctor.add,
    index.add,
    models.add,
    bench.add,
    serve.add,
    serve.add_tokens,
    mcp.add,
    check.add_schema,
    completion.add,
)


def build_parser() -> argparse.ArgumentParser:
    """The parser of all commands and their options."""
    parser = Parser(
        prog="halldetect",
        description="Tells whether a text is faithful to its source, which claim is wrong, "
        "and shows the passage that proves it.",
        epilog=EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"halldetect {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    for add in COMMANDS:
        add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status.

    Args:
        argv: the arguments after the program's name; those of the process by default.
    """
    arguments = build_parser().parse_args(argv)
    return exit_status(lambda: int(arguments.run(arguments)))
