"""The command line: one file a command.

Standard output carries only results; notices, progress and errors go to standard error.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from halldetect import __version__
from halldetect.cli import batch, bench, check, demo, models, schema, serve, tokens
from halldetect.cli.exits import COULD_NOT_CHECK, INTERRUPTED, USAGE
from halldetect.errors import ConfigurationError, HallDetectError, InputError

EPILOG = """\
exit status: 0 faithful, 1 hallucinated, 2 wrong usage, 3 could not check, 130 interrupted
"""


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line instead of printing the usage."""

    def error(self, message: str) -> NoReturn:
        self.exit(USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
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
    for command in (check, batch, demo, models, bench, serve, tokens, schema):
        command.add(commands)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the result is the exit status."""
    arguments = build_parser().parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except (InputError, ConfigurationError) as error:
        return _fail(error, USAGE)
    except HallDetectError as error:
        return _fail(error, COULD_NOT_CHECK)
    except KeyboardInterrupt:
        print("halldetect: interrupted", file=sys.stderr)
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("HALLDETECT_DEBUG"):
            raise
        described = f"{type(error).__name__}: {error} (HALLDETECT_DEBUG=1 shows where)"
        return _fail(f"this is a defect of halldetect: {described}", COULD_NOT_CHECK)
    return status


def _fail(message: object, status: int) -> int:
    print(f"halldetect: {' '.join(str(message).split())}", file=sys.stderr)
    return status
