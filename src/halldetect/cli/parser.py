"""The parser of the command line: commands, options as tables, errors that name the nearest word.

Options may come between other arguments, as in `check a.md --source b.md answer.md`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn

from halldetect.errors import name_advice

WRONG_USAGE = 2
Settings = dict[str, Any]  # of `add_argument`
Options = Mapping[str, Settings]


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, and whose options may stand between arguments."""

    _intermixing = False

    def error(self, message: str) -> NoReturn:
        """Exit with the status for wrong usage, without printing the usage."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def parse_known_args(  # type: ignore[override]  # argparse has it in three overloads
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Parse the arguments of a command, with options and other arguments in any order.

        Unknown arguments are an error here: the parser of all commands does not know the options.
        """
        if self._subparsers is not None or self._intermixing:
            return super().parse_known_args(args, namespace)
        if args is not None and "--" in args:  # intermixed parsing loses it
            known, rest = super().parse_known_args(args, namespace)
        else:
            self._intermixing = True  # argparse calls parse_known_args for each of two passes
            try:
                known, rest = super().parse_known_intermixed_args(args, namespace)
            finally:
                self._intermixing = False
        if rest:
            flag = next((word for word in rest if word.startswith("-")), rest[0])
            near = get_close_matches(flag.partition("=")[0], self._option_string_actions, n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            self.error(f"unrecognized arguments: {' '.join(rest)}{hint}")
        return known, rest

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is None or value in action.choices:
            return
        choices = [str(choice) for choice in action.choices]
        advice = name_advice(str(value), choices)
        if not isinstance(action, argparse._SubParsersAction):
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {advice}")
        if "check" in choices and Path(str(value)).is_file():
            advice = f"did you mean {self.prog} check {value} ...?"
        raise argparse.ArgumentError(None, f"no command {value!r}; {advice}")


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], int] | None,
    help: str,
    description: str | None = None,
    arguments: str | None = None,
    groups: Mapping[str, Options] = MappingProxyType({}),
    epilog: str | None = None,
) -> Parser:
    """Add a command, or an action of a command, and return its parser.

    `run` does the work and returns the exit status; None for a command with actions. `arguments`
    stands before [options] in the usage line; None lists all options there. `groups` has its
    arguments and options by title, made by `switch`, `value` and `file`; an empty title is none.
    """
    parser: Parser = commands.add_parser(
        name,
        help=help,
        description=description or f"{help[:1].upper()}{help[1:]}.",
        usage=None if arguments is None else " ".join(f"%(prog)s {arguments} [options]".split()),
        epilog=epilog,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    if run is not None:
        parser.set_defaults(run=run)
    for title, options in groups.items():
        group = parser.add_argument_group(title) if title else parser
        for flag, settings in options.items():
            group.add_argument(*flag.split(), **settings)
    return parser


def switch(help: str) -> Settings:
    """Describe an option without a value."""
    return {"action": "store_true", "help": help}


def value(
    metavar: str | None,
    help: str,
    parse: Callable[[str], Any] = str,
    default: Any = None,
    *,
    choices: Sequence[str] | None = None,
    repeatable: bool = False,
) -> Settings:
    """Describe an option with a value; `parse` may raise ValueError with an explanation.

    The help names the default. The values of a repeatable option add up.
    """
    settings = {"metavar": metavar, "type": explained(parse), "choices": choices}
    if repeatable:
        return {**settings, "help": f"{help}; repeatable", "action": "append", "default": []}
    if default is not None:
        help += f" (default: {f'{default:g}' if isinstance(default, float) else default})"
    return {**settings, "help": help, "default": default}


def file(help: str, metavar: str = "FILE") -> Settings:
    """Describe an option that names a file or a folder."""
    return value(metavar, help, path_argument)


def explained(parse: Callable[[str], Any]) -> Callable[[str], Any]:
    """Return a function for argparse that reports the explanation of a ValueError."""
    if parse in (str, int, float):  # argparse names the type in its message
        return parse

    def parsed(text: str) -> Any:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def name_argument(text: str) -> str:
    """Return the name in an argument; refuse an empty one."""
    if not text:
        raise ValueError("the name is empty")
    return text


def path_argument(text: str) -> Path:
    """Return the path of an argument; refuse an empty one."""
    return Path(name_argument(text))


def positive(text: str) -> int:
    """Return a whole number from 1 up."""
    if not text.isdecimal() or not int(text):
        raise ValueError(f"must be 1 or more, not {text!r}")
    return int(text)
