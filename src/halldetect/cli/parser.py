"""The parser of the command line: errors in one line that name what was probably meant.

Options may stand between the other arguments, as in `check a.md --source b.md answer.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn

WRONG_USAGE = 2


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose help may end with text made on demand.

    Attributes:
        appendix: makes the text after the help; it may import what takes time.
    """

    appendix: Callable[[], str] | None = None
    _intermixing = False

    def error(self, message: str) -> NoReturn:
        """Exit with the status for wrong usage, without printing the usage."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def format_help(self) -> str:
        """The help, with the appendix."""
        text = super().format_help()
        return text if self.appendix is None else f"{text}\n{self.appendix()}"

    def parse_known_args(  # type: ignore[override]  # argparse has it in three overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse the arguments of a command, with options and other arguments in any order.

        What is left over is an error here rather than in the parser of all commands, which does
        not know the options of this one.

        Args:
            args: the arguments.
            namespace: where the values go.
        """
        if self._subparsers is not None or self._intermixing:
            return super().parse_known_args(args, namespace)
        if args is not None and "--" in args:  # which the other way of parsing loses
            known, rest = super().parse_known_args(args, namespace)
        else:
            known, rest = self._parse_intermixed(args, namespace)
        if rest:
            flag = next((word for word in rest if word.startswith("-")), rest[0])
            hint = nearest(flag.partition("=")[0], self._option_string_actions)
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return known, rest

    def _parse_intermixed(
        self, args: Sequence[str] | None, namespace: Any
    ) -> tuple[Any, list[str]]:
        self._intermixing = True  # argparse comes back to parse_known_args for each of two passes
        try:
            return super().parse_known_intermixed_args(args, namespace)
        finally:
            self._intermixing = False

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        hint = nearest(str(value), choices)
        if isinstance(action, argparse._SubParsersAction):
            if not hint and "check" in choices and Path(str(value)).is_file():
                hint = f"; did you mean {self.prog} check {value} ...?"
            raise argparse.ArgumentError(
                None, f"there is no command {value!r}{hint or f': use {_listed(choices)}'}"
            )
        raise argparse.ArgumentError(
            action, f"invalid choice: {value!r}{hint} (choose from {_listed(choices)})"
        )


def nearest(word: str, known: Iterable[str]) -> str:
    """A question after the known word that is most like the given one; empty if none is.

    Args:
        word: as it was given.
        known: what it can be.
    """
    found = get_close_matches(word, list(known), n=1)
    return f"; did you mean {found[0]}?" if found else ""


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names)


def path_argument(text: str) -> Path:
    """A file or folder that an argument names: an empty one is not the current folder.

    Args:
        text: the argument.
    """
    if not text:
        raise argparse.ArgumentTypeError("the name is empty")
    return Path(text)
