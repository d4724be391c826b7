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

Results go to standard output; notices, progress and errors go to standard error. An option is \
explained where it first appears; most commands take `--quiet`. \
`python -m tests.support.cli_reference > docs/cli.md` writes this page.\
"""
# An option with its explanation.
_OPTION = re.compile(r"^  -.*\n(?: {6,}\S.*\n)*", re.MULTILINE)
# Positional arguments that the usage line and the description explain.
_ARGUMENTS = re.compile(r"\npositional arguments:\n(?:(?!.*\(default).+\n)+(?=\n|\Z)")
_EMPTY_GROUP = re.compile(r"^\S.*:\n(?=\n|\Z)", re.MULTILINE)


def cli_reference() -> str:
    """Return the whole page: the help of every command, each option once."""
    sections: list[str] = []
    shared, explained, checking = "", dict[str, str](), list[str]()
    for name, parser in all_commands(build_parser()):
        own, _, options = _help(parser).partition(f"\n{DETECTOR_GROUP}:\n")
        own = re.sub(r"(?:\noptions:)?\n +-h, --help .*\n(?=\n|$)|\n +-h, --help .*", "", own)
        own = re.sub(r"^usage: .* ACTION \.\.\.\n\n|positional arguments:\n  ACTION\n", "", own)
        if " " in name and "\n  " not in own:
            continue  # an action without arguments: the help of its command explains it
        own = _ARGUMENTS.sub("", own)
        if options and not shared:
            shared = options
            explained |= {" ".join(one.split()): DETECTOR_GROUP for one in _OPTION.findall(options)}
        own, known = _without_explained(own, f"halldetect {name}", explained)
        sections.append(f"{'###' if ' ' in name else '##'} halldetect {name}\n\n{_block(own)}")
        if options:
            checking.append(f"`{name}`")
        if known:
            lists = (f"{', '.join(flags)} of {place}" for place, flags in known.items())
            sections.append(f"Also {'; '.join(lists)}.")
    anchor = f"[{DETECTOR_GROUP}](#{DETECTOR_GROUP.replace(' ', '-')})"
    every = f"{', '.join(checking)} also take all options of {anchor}."
    status = f"{' '.join(EPILOG.split()).capitalize()}."
    last = f"## {DETECTOR_GROUP.capitalize()}\n\n{_block(shared)}"
    return "\n\n".join([_HEAD, every, status, *sections, last]) + "\n"


def _without_explained(
    text: str, command: str, explained: dict[str, str]
) -> tuple[str, dict[str, list[str]]]:
    """Return a help text without the options of earlier commands, and those by command."""
    known: dict[str, list[str]] = {}

    def shown(found: re.Match[str]) -> str:
        option = " ".join(found[0].split())
        earlier = explained.setdefault(option, command)
        if earlier == command:
            return found[0]
        flag = next(word for word in option.split() if word.startswith("--"))
        if flag == "--quiet":
            return ""
        place = f"[{earlier.removeprefix('halldetect ')}](#{earlier.replace(' ', '-')})"
        known.setdefault(place, []).append(f"`{flag}`")
        return ""

    left = _EMPTY_GROUP.sub("", _OPTION.sub(shown, text))
    return re.sub(r"\n{3,}", "\n\n", left), known


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
