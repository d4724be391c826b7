"""halldetect demo"""

from __future__ import annotations

import argparse
import textwrap
from typing import Any

from halldetect.cli.check import show
from halldetect.cli.exits import COULD_NOT_CHECK
from halldetect.cli.interrupt import interruptible
from halldetect.cli.options import (
    add_detector_options,
    add_output_options,
    check_writable,
    detector_for,
)
from halldetect.cli.screen import Screen, put
from halldetect.demo import QUESTION, RESPONSE, SOURCE, surprises


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "demo",
        help="check a built-in example",
        description="Check a built-in example with a supported, a contradicted and an invented "
        "claim. The exit status is 0 when all three are recognised, else 3.",
        usage="halldetect demo [options]",
        allow_abbrev=False,
    )
    add_output_options(parser)
    add_detector_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    check_writable(arguments.markdown)
    check_writable(arguments.html)
    with Screen(quiet=arguments.quiet) as screen:
        detector = detector_for(arguments, screen)
        report = interruptible(lambda: detector.check(SOURCE, RESPONSE, question=QUESTION), screen)
        if not arguments.json:
            put(f"SOURCE\n{_wrapped(SOURCE)}\n\nRESPONSE\n{_wrapped(RESPONSE)}\n\n")
        show(report, arguments)
        unexpected = surprises(report)
        for line in unexpected:
            screen.notice(line)
    return COULD_NOT_CHECK if unexpected else 0


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, 88) for line in text.strip().split("\n"))
