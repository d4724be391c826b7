"""halldetect check SOURCE RESPONSE"""

from __future__ import annotations

import argparse
from typing import Any

from halldetect.cli.exits import OF_VERDICT
from halldetect.cli.inputs import Inputs
from halldetect.cli.interrupt import interruptible
from halldetect.cli.options import (
    add_detector_options,
    add_output_options,
    check_writable,
    detector_for,
    write,
)
from halldetect.cli.screen import Screen, put
from halldetect.errors import InputError
from halldetect.report import Report

DESCRIPTION = """\
Check a response against its source. Each is a file, the text itself, or - for standard
input. Words that look like a file name but name no file are an error; --text takes both
arguments as they are.
"""


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "check",
        help="check a response against its source",
        description=DESCRIPTION,
        usage="halldetect check SOURCE RESPONSE [options]",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("texts", nargs="+", metavar="SOURCE RESPONSE", help="what to check")
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="FILE",
        help="a further source document; may be repeated. With it, SOURCE can be left out",
    )
    parser.add_argument("--question", metavar="TEXT", help="what the response answers (recorded)")
    parser.add_argument("--text", action="store_true", help="SOURCE and RESPONSE are the texts")
    add_output_options(parser)
    add_detector_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    *first, response = arguments.texts
    if len(first) > 1 or not (first or arguments.source):
        raise InputError(
            f"check takes one SOURCE and one RESPONSE, not {len(arguments.texts)} arguments; "
            "quote a text with spaces, and name further documents with --source"
        )
    inputs = Inputs(literal=arguments.text)
    documents = [inputs.read(item, "source") for item in first]
    documents += [inputs.read_document(item, "--source") for item in arguments.source]
    response = inputs.read(response, "response")
    check_writable(arguments.markdown)
    check_writable(arguments.html)
    with Screen(quiet=arguments.quiet) as screen:
        detector = detector_for(arguments, screen)
        report = interruptible(
            lambda: detector.check(documents, response, question=arguments.question), screen
        )
    show(report, arguments)
    return OF_VERDICT[report.verdict]


def show(report: Report, arguments: argparse.Namespace) -> None:
    """The report in every form that was asked for; standard output first, it cannot fail."""
    from halldetect import render

    put(f"{report.to_json()}\n" if arguments.json else render.terminal(report))
    if arguments.markdown is not None:
        write(arguments.markdown, render.markdown(report))
    if arguments.html is not None:
        write(arguments.html, render.html(report))
