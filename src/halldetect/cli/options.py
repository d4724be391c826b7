"""The options of every command that runs a check, made from `Configuration`.

Flags, types, defaults and help come from `halldetect.config.options`: a new field there is a new
option of `check`, `demo`, `batch` and `serve` without a change here.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from halldetect.cli.parser import Parser
from halldetect.cli.progress import ProgressDisplay
from halldetect.config import Configuration, Option, options

if TYPE_CHECKING:
    from halldetect.detector import Detector

LOADING_PHASES = ("fetch", "convert")
DETECTOR_GROUP = "how to check"
PHASES = (*LOADING_PHASES, "extract", "verify", "explain", "proof")
_PAPER_HELP = "the method of the paper with its settings (docs/claims.md)"


def add_detector_options(parser: argparse.ArgumentParser) -> None:
    """Add every option of a check, and `--paper`, to the parser of a command."""
    group = parser.add_argument_group(DETECTOR_GROUP)
    for option in options():
        add_option(group, option)
    group.add_argument("--paper", action="store_true", help=_PAPER_HELP)
    if isinstance(parser, Parser):
        parser.appendix = _model_names


def add_option(group: Any, option: Option) -> None:
    """Add one option of a check; its value defaults to None."""
    if option.flag is None:
        return
    if option.sets is not None:
        group.add_argument(
            option.flag, dest=option.name, action="store_const", const=option.sets, help=option.help
        )
        return
    default = option.default_text
    group.add_argument(
        option.flag,
        dest=option.name,
        type=_argument_type(option),
        choices=option.choices or None,
        metavar=option.metavar,
        help=option.help if default is None else f"{option.help} (default: {default})",
    )


def configuration_for(arguments: argparse.Namespace) -> Configuration:
    """Return the configuration of a parsed command line, the same for every command."""
    given = {
        option.name: value
        for option in options()
        if (value := getattr(arguments, option.name, None)) is not None
    }
    if getattr(arguments, "paper", False):
        return Configuration.for_paper(**given)
    return Configuration().replaced(**given)


def detector_for(
    arguments: argparse.Namespace, display: ProgressDisplay, phases: Sequence[str] = PHASES
) -> Detector:
    """Return the detector of a parsed command line; `phases` of a check are displayed."""
    from halldetect.detector import Detector

    def progress(phase: str, done: int, total: int) -> None:
        if phase in phases:
            display.phase(phase, done, total)

    return Detector(config=configuration_for(arguments), notice=display.notice, progress=progress)


def _model_names() -> str:
    """Return the names of extractors and verifiers with a line on each."""
    from halldetect.paper.extractors import extractor_table
    from halldetect.verification.presets import verifier_table

    parts = []
    for title, table in (("extractors", extractor_table()), ("verifiers", verifier_table())):
        rows = list(table)
        width = max(len(name) for name, _ in rows)
        lines = "".join(f"  {name.ljust(width)}  {text}\n" for name, text in rows)
        parts.append(f"{title}:\n{lines}")
    return "\n".join(parts)


def _argument_type(option: Option) -> Callable[[str], Any]:
    if option.parse in (str, int, float):  # argparse names the type in its message
        return option.parse

    def parse(text: str) -> Any:
        try:
            return option.parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parse
