"""The command line: one module per command, or per group of commands.

Standard output carries only results; notices, progress and errors go to standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from halldetect import __version__
from halldetect.cli import batch, check, check_files, doctor, hook, index, serve
from halldetect.cli.exits import exit_status
from halldetect.cli.parser import Parser

EPILOG = """\
exit status: 0 faithful, 1 hallucinated, 2 wrong usage, 3 could not check,
4 the response gives no answer, 130 interrupted
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands and their options."""
    from halldetect_bench import cli as bench  # the detector must not load the evaluation

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
    for module in (check, check_files, hook, batch, doctor, index, bench, serve):
        module.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit status; without one, print the help.

    `argv` has the arguments after the program's name; those of the process by default.
    """
    words = sys.argv[1:] if argv is None else argv
    arguments = build_parser().parse_args(words or ["--help"])
    return exit_status(lambda: int(arguments.run(arguments)))
