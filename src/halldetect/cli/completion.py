"""halldetect completion: scripts that complete commands and options in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from halldetect.cli.output import print_result
from halldetect.cli.parser import add_command

SHELLS = ("bash", "zsh", "fish")
DESCRIPTION = """\
Print the completion script of a shell. For bash, add to ~/.bashrc:
eval "$(halldetect completion bash)"; for zsh, write it to a file named _halldetect in a folder of
$fpath; for fish, to ~/.config/fish/completions/halldetect.fish.
"""
# Names of arguments whose values are files.
_FILES = ("FILE", "IN", "OUT", "SOURCE", "RESPONSE", "INDEX", "DIR")


def add(commands: Any) -> None:
    """Add the command `completion` to the parser."""
    help = "the completion script of a shell"
    parser = add_command(commands, "completion", run, help, DESCRIPTION)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))


def run(arguments: argparse.Namespace) -> int:
    """Print the script, which completes commands, options, their choices and files."""
    import shtab

    from halldetect.cli import build_parser

    parser = build_parser()
    for _, command in all_commands(parser):
        for action in command._actions:
            if any(name in str(action.metavar) for name in _FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # the interface of shtab
    print_result(f"{shtab.complete(parser, shell=arguments.shell)}\n")
    return 0


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
