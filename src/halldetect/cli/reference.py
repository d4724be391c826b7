"""The parser as a page of documentation, and as completion scripts of shells.

python -m halldetect.cli.reference > docs/cli.md
"""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from halldetect.cli.options import DETECTOR_GROUP
from halldetect.cli.output import print_result
from halldetect.cli.parser import add_command

SHELLS = ("bash", "zsh", "fish")
_COMPLETION = """\
Print the completion script of a shell. For bash, add to ~/.bashrc:
eval "$(halldetect completion bash)"; for zsh, write it to a file named _halldetect in a folder of
$fpath; for fish, to ~/.config/fish/completions/halldetect.fish.
"""
# Names of arguments whose values are files.
_FILES = ("FILE", "IN", "OUT", "SOURCE", "RESPONSE", "INDEX")
_HEAD = """\
# Commands and options

This page is made from the parser by `python -m halldetect.cli.reference > docs/cli.md`; a test \
compares it. Standard output carries only results; notices, progress and errors go to standard \
error.\
"""


def add_completion(commands: Any) -> None:
    """Add the command `completion` to the parser."""
    help = "the completion script of a shell"
    parser = add_command(commands, "completion", run_completion, help, _COMPLETION)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run_completion(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print_result(completion_script(arguments.shell))
    return 0


def completion_script(shell: str) -> str:
    """Return the script that completes commands, options, their choices and files.

    Args:
        shell: one of `SHELLS`.
    """
    import shtab

    from halldetect.cli import build_parser

    parser = build_parser()
    for _, command in _commands(parser):
        for action in command._actions:
            if action.type is Path or any(name in str(action.metavar) for name in _FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # the interface of shtab
    return f"{shtab.complete(parser, shell=shell)}\n"


def cli_reference() -> str:
    """Return the whole page: the help of every command, the shared options once."""
    from halldetect.cli import EPILOG, build_parser

    parts = [_HEAD, f"{' '.join(EPILOG.split()).capitalize()}."]
    shared = ""
    for name, parser in _commands(build_parser()):
        own, _, options = _help(parser).partition(f"\n{DETECTOR_GROUP}:\n")
        own = re.sub(r"(?:\noptions:)?\n +-h, --help .*\n(?=\n|$)|\n +-h, --help .*", "", own)
        parts.append(f"{'###' if ' ' in name else '##'} halldetect {name}\n\n{_block(own)}")
        if options:
            shared = options
            anchor = DETECTOR_GROUP.replace(" ", "-")
            parts.append(f"And the options of [{DETECTOR_GROUP}](#{anchor}).")
    parts.append(f"## {DETECTOR_GROUP.capitalize()}\n\n{_block(shared)}")
    return "\n\n".join(parts) + "\n"


def _commands(
    parser: argparse.ArgumentParser, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and the parser of every command and of its actions."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                full_name = f"{prefix} {name}".strip()
                yield full_name, command
                yield from _commands(command, full_name)


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
    print_result(cli_reference())
