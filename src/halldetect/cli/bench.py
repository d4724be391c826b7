"""halldetect bench: the evaluation, which is the package halldetect_bench beside this one."""

from __future__ import annotations

from typing import Any


def add(commands: Any) -> None:
    """Add the command.

    commands: the subparsers of the main parser.
    """
    # Inside the function: nothing of the detector imports the evaluation.
    from halldetect_bench import cli

    cli.add(commands)
