"""The parser as a page of documentation.

python -m tests.support.cli_reference > docs/cli.md
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator

from halldetect.cli import EPILOG, build_parser
from halldetect.cli.options import DETECTOR_GROUP

_HEAD = """\
# Commands and options

This page is made from the parser by `python -m tests.support.cli_reference > docs/cli.md`; a test \
compares it. Standard output carries only results; notices, progress and errors go to standard \
error.\
"""


def cli_reference() -> str:
    """Return the whole page: the help of every command, the shared options once."""
    parts = [_HEAD, f"{' '.join(EPILOG.split()).capitalize()}."]
    shared = ""
    for name, parser in all_commands(build_parser()):
        own, _, options = _help(parser).partition(f"\n{DETECTOR_GROUP}:\n")
        own = re.sub(r"(?:\noptions:)?\n +-h, --help .*\n(?=\n|$)|\n +-h, --help .*", "", own)
        parts.append(f"{'###' if ' ' in name else '##'} halldetect {name}\n\n{_block(own)}")
        if options:
            shared = options
            anchor = DETECTOR_GROUP.replace(" ", "-")
            parts.append(f"And the options of [{DETECTOR_GROUP}](#{anchor}).")
    parts.append(f"## {DETECTOR_GROUP.capitalize()}\n\n{_block(shared)}")
    return "\n\n".join(parts) + "\n"


def all_commands(
    parser: argparse.ArgumentParser, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and the parser of every command and of its actions."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                full_name = f"{prefix} {name}".strip()
                yield full_name, command
                yield from all_commands(command, full_name)


def _help(parser: argparse.ArgumentParser) -> str:
    """Return the help of a command, the same in every terminal and version of Python."""
    saved = {name: os.environ.pop(name, None) for name in ("COLUMNS", "FORCE_COLOR")}
    os.environ["COLUMNS"] = "100"
    try:
        text = parser.format_help()
    finally:
        del os.environ["COLUMNS"]
        os.environ.update({name: value for name, value in saved.items() if value is not None})
    return re.sub(r"-(\w) \S+, (?=--)", r"-\1, ", text)  # the form of Python 3.13


def _block(text: str) -> str:
    return f"```text\n{text.strip(chr(10))}\n```"


if __name__ == "__main__":
    print(cli_reference(), end="")
