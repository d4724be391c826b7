"""The options of every command that runs a check, made from `Configuration`.

Flags, types, defaults and help come from `halldetect.config.options`: a new field there is a new
option of `check`, `demo`, `batch` and `serve` without a change here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.exits import Result, interruptible
from halldetect.cli.parser import Parser, switch, value
from halldetect.cli.progress import LOADING_PHASES, ProgressDisplay
from halldetect.config import Configuration, Option, options
from halldetect.errors import ConfigurationError, described
from halldetect.paper.extractors import EXTRACTORS
from halldetect.verification.presets import VERIFIERS

if TYPE_CHECKING:
    from halldetect.detector import Detector

DETECTOR_GROUP = "how to check"
QUIET = {"--quiet": switch("no notices and no progress on standard error")}
# A verifier of the user's own, such as my_models:Judge; hf: is the prefix of the hub.
_OWN_VERIFIER = re.compile(r"(?!hf:)([A-Za-z_][\w.]*):([A-Za-z_]\w*)")


def add_detector_options(parser: Parser) -> None:
    """Add every option of a check, and `--paper`, to the parser of a command."""
    group = parser.add_argument_group(DETECTOR_GROUP)
    for option in options():
        add_option(group, option)
    group.add_argument("--paper", **switch("the method of the paper (docs/claims.md)"))
    help = "short for --on-unchecked fail"
    group.add_argument(
        "--strict", action="store_const", dest="on_unchecked", const="fail", help=help
    )
    parser.epilog = f"{parser.epilog or ''}\n{_model_names()}"


def add_option(group: Any, option: Option) -> None:
    """Add one option of a check; its value defaults to None."""
    if option.flag is None:
        return
    default = option.default_text
    help = option.help if default is None else f"{option.help} (default: {default})"
    choices = option.choices or None
    group.add_argument(option.flag, **value(option.metavar, help, option.parse, choices=choices))


def given_fields(arguments: argparse.Namespace, kind: type) -> dict[str, Any]:
    """Return the values of a parsed command line by the fields of a dataclass they are named as."""
    named = ((item.name, getattr(arguments, item.name, None)) for item in fields(kind))
    return {name: found for name, found in named if found is not None}


def configuration_for(arguments: argparse.Namespace) -> Configuration:
    """Return the configuration of a parsed command line, the same for every command."""
    given = given_fields(arguments, Configuration)
    return Configuration.for_paper(**given) if given.get("paper") else Configuration(**given)


def detector_for(
    arguments: argparse.Namespace, display: ProgressDisplay, *, only_loading: bool = False
) -> Detector:
    """Return the detector of a parsed command line, with the progress of its phases."""
    from halldetect.detector import Detector

    def progress(phase: str, done: int, total: int) -> None:
        if not only_loading or phase in LOADING_PHASES:
            display.phase(phase, done, total)

    config = configuration_for(arguments)
    verifier = _own_verifier(config.verifier)
    return Detector(verifier, config=config, notice=display.notice, progress=progress)


def with_detector(arguments: argparse.Namespace, work: Callable[[Detector], Result]) -> Result:
    """Run the work with the detector of a parsed command line, its progress and Ctrl-C."""
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display)
        return interruptible(lambda: work(detector), display)


def _own_verifier(name: str | None) -> Any:
    """Import and build the verifier of MODULE:CLASS; return None for any other name.

    Only the command line does this: a request to the service must not import code.
    """
    found = _OWN_VERIFIER.fullmatch(name or "")
    if found is None or Path(found[0]).exists():
        return None
    sys.path.insert(0, str(Path.cwd()))  # as python -m does
    try:
        made = getattr(import_module(found[1]), found[2])()
        _ = made.description  # raises if it is no verifier
        return made
    except Exception as error:  # it is the user's code
        raise ConfigurationError(f"cannot use the verifier {name}: {described(error)}") from error


def _model_names() -> str:
    """Return the names of extractors and verifiers with a line on each."""
    own = ("MODULE:CLASS", "a class of your own (docs/extending.md); not for batch --engine ray")
    tables = {"extractors": EXTRACTORS, "verifiers": (*VERIFIERS, own)}
    parts = []
    for title, table in tables.items():
        width = max(len(name) for name, _ in table)
        lines = "".join(f"  {name.ljust(width)}  {text}\n" for name, text in table)
        parts.append(f"{title}:\n{lines}")
    return "\n".join(parts)
