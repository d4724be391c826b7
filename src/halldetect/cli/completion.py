"""halldetect completion: the script with which a shell completes commands and options."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from halldetect.cli.output import print_result

SHELLS = ("bash", "zsh", "fish")
DESCRIPTION = """\
Print the completion script of a shell. For bash, add to ~/.bashrc:
eval "$(halldetect completion bash)"; for zsh, write it to a file named _halldetect in a folder of
$fpath; for fish, to ~/.config/fish/completions/halldetect.fish.
"""
# What the values of an option or argument are called where they are files.
_FILES = ("FILE", "IN", "OUT", "SOURCE", "RESPONSE", "INDEX")


def add(commands: Any) -> None:
    """Add the command `completion` to the parser."""
    parser = commands.add_parser(
        "completion",
        help="the completion script of a shell",
        description=DESCRIPTION,
        allow_abbrev=False,
    )
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the script."""
    print_result(completion_script(arguments.shell))
    return 0


def completion_script(shell: str) -> str:
    """The script that completes commands, options, their choices and files.

    Args:
        shell: one of `SHELLS`.
    """
    import shtab

    from halldetect.cli import build_parser

    parser = build_parser()
    _complete_files(parser)
    return f"{shtab.complete(parser, shell=shell)}\n"


def _complete_files(parser: argparse.ArgumentParser) -> None:
    import shtab

    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                _complete_files(command)
        elif action.type is Path or any(name in str(action.metavar) for name in _FILES):
            action.complete = shtab.FILE  # type: ignore[attr-defined]  # as shtab asks for it
