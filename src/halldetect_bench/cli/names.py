"""Options that take names: separated by commas, repeated, or both."""

from __future__ import annotations

import argparse


def add_names(
    parser: argparse.ArgumentParser, option: str, help: str, *, required: bool = False
) -> None:
    """Add an option whose uses add up to one list of names.

    parser: of the command. option: its flag. help: its description. required: at least once.
    """
    parser.add_argument(
        option, action=_AddNames, type=_names, required=required, metavar="NAME,...", help=help
    )


class _AddNames(argparse.Action):
    """Append names to those of earlier uses of the option, each once."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        before = getattr(namespace, self.dest) or []
        assert isinstance(values, list)
        setattr(namespace, self.dest, list(dict.fromkeys([*before, *values])))


def _names(text: str) -> list[str]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names:
        raise argparse.ArgumentTypeError("no name given")
    return names
