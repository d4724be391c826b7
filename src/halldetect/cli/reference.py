"""The reference of all commands and options as Markdown, made from the parser.

python -m halldetect.cli.reference > docs/cli.md
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from halldetect.cli import EPILOG, build_parser
from halldetect.cli.options import DETECTOR_GROUP, add_detector_options
from halldetect.cli.output import print_result
from halldetect.cli.parser import Parser

_ANCHOR = DETECTOR_GROUP.replace(" ", "-")
_HEAD = """\
# Commands and options

This page is made from the parser by `python -m halldetect.cli.reference > docs/cli.md`; a test \
compares it. `halldetect COMMAND --help` prints the same. Standard output carries only results; \
notices, progress and errors go to standard error.
"""


def cli_reference() -> str:
    """The whole page."""
    parts = [_HEAD, f"{_sentence(EPILOG)}\n"]
    for name, parser, summary in _commands(build_parser()):
        parts.append(_section(name, parser, summary))
    parts += [_detector_options(), _model_tables()]
    return "\n".join(parts)


def _commands(
    parser: argparse.ArgumentParser, prefix: str = ""
) -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """Every command, then its actions: its name, its parser, and its line of help."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, command in action.choices.items():
                full_name = f"{prefix} {name}".strip()
                yield full_name, command, summaries.get(name, "")
                yield from _commands(command, full_name)


def _section(name: str, parser: argparse.ArgumentParser, summary: str) -> str:
    level = "##" if " " not in name else "###"
    lines = [f"{level} halldetect {name}", "", f"`{_usage(name, parser)}`", ""]
    lines.append(_sentence(parser.description or summary))
    if parser.epilog:
        lines += ["", _sentence(parser.epilog)]
    for group in parser._action_groups:
        rows = [row for action in group._group_actions for row in _row(action)]
        if not rows:
            continue
        if group.title == DETECTOR_GROUP:
            lines += ["", f"And the options of [{DETECTOR_GROUP}](#{_ANCHOR})."]
            continue
        title = group.title if group.title not in ("options", "positional arguments") else ""
        lines += ["", *_table(title or "", rows)]
    return "\n".join([*lines, ""])


def _detector_options() -> str:
    parser = Parser(add_help=False)
    add_detector_options(parser)
    rows = [row for action in parser._actions for row in _row(action)]
    title = DETECTOR_GROUP.capitalize()
    return "\n".join([f"## {title}", "", *_table("option", rows), ""])


def _table(title: str, rows: list[str]) -> list[str]:
    return [f"| {title} | |".replace("|  |", "| |"), "|---|---|", *rows]


def _usage(name: str, parser: argparse.ArgumentParser) -> str:
    if parser.usage:
        return parser.usage
    positionals = [_value(action) for action in parser._actions if not action.option_strings]
    has_options = any(action.option_strings for action in parser._actions if action.dest != "help")
    words = ["halldetect", name, *positionals, *(["[options]"] if has_options else [])]
    return " ".join(words)


def _row(action: argparse.Action) -> Iterator[str]:
    if action.dest == "help" or isinstance(action, argparse._SubParsersAction):
        return
    value = _value(action)
    if not action.option_strings:
        name = f"`{value}`"
    else:
        *short, flag = action.option_strings
        flag = flag if action.nargs == 0 else f"{flag} {value}"
        name = ", ".join(f"`{item}`" for item in (*short, flag))
    yield f"| {_cell(name)} | {_cell(action.help or '')} |"


def _value(action: argparse.Action) -> str:
    if isinstance(action, argparse._SubParsersAction):
        return str(action.metavar)
    if action.choices:
        return ",".join(map(str, action.choices))
    if isinstance(action.metavar, tuple):  # an option that takes several values
        return " ".join(action.metavar)
    return action.metavar or action.dest.upper()


def _model_tables() -> str:
    from halldetect.claims.extractors import extractor_table
    from halldetect.verification.presets import verifier_table

    tables = (("Extractors", extractor_table()), ("Verifiers", verifier_table()))
    lines = []
    for title, rows in tables:
        cells = [f"| `{name}` | {_cell(text)} |" for name, text in rows]
        lines += [f"## {title}", "", *_table("name", cells), ""]
    return "\n".join(lines)


def _sentence(text: str) -> str:
    """A description as one paragraph that begins with a capital and ends with a period."""
    words = " ".join(text.split())
    return words[:1].upper() + words[1:].rstrip(".") + "."


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


if __name__ == "__main__":
    print_result(cli_reference())
