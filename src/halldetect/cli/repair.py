"""halldetect repair: change a response until its source supports all that it says."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from halldetect.cli.check import add_output_options, add_text_arguments, read_texts
from halldetect.cli.exits import OF_VERDICT, interruptible
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.output import print_result, require_writable, write_file
from halldetect.cli.parser import path_argument
from halldetect.cli.progress import ProgressDisplay

if TYPE_CHECKING:
    from halldetect.repair import Repair

DESCRIPTION = """\
Replace, rewrite or remove what the source does not support, check the result, and show what was
changed. SOURCE and RESPONSE are given as for check. The exit status is 0 if there is a text that
passed the check, else 1, or 3 if the response could not be checked.
"""
_REWRITER_HELP = (
    "a language model that may write sentences again: gguf, gguf:NAME (a model of the store or a "
    ".gguf file) or openai:MODEL (default: none; words are replaced and sentences removed by rule)"
)


def add(commands: Any) -> None:
    """Add the command `repair` to the parser."""
    parser = commands.add_parser(
        "repair",
        help="change a response until its source supports it",
        description=DESCRIPTION,
        usage="halldetect repair SOURCE RESPONSE [options]",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_text_arguments(parser, "what to repair")
    group = parser.add_argument_group("how to repair")
    group.add_argument("--rewriter", metavar="NAME", help=_REWRITER_HELP)
    group.add_argument(
        "--max-rounds",
        type=int,
        default=3,
        metavar="N",
        help="after N rounds of changes, remove what still fails (default: 3)",
    )
    add_output_options(parser)
    parser.add_argument(
        "--output", type=path_argument, metavar="FILE", help="write the new text to a file"
    )
    add_detector_options(parser)
    parser.set_defaults(run=run_repair)


def run_repair(arguments: argparse.Namespace) -> int:
    """Repair the response of the command line."""
    documents, response = read_texts(arguments, "repair")
    for path in (arguments.markdown, arguments.html, arguments.output):
        require_writable(path)
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display)
        repair = interruptible(
            lambda stop: detector.repair(
                documents,
                response,
                question=arguments.question,
                rewriter=arguments.rewriter,
                max_rounds=arguments.max_rounds,
            ),
            display,
        )
    _show(repair, arguments)
    return 0 if repair.text is not None else OF_VERDICT[repair.original.verdict]


def _show(repair: Repair, arguments: argparse.Namespace) -> None:
    from halldetect.render.repair_views import repair_html, repair_markdown, repair_terminal

    print_result(f"{repair.to_json()}\n" if arguments.json else repair_terminal(repair))
    if arguments.markdown is not None:
        write_file(arguments.markdown, repair_markdown(repair))
    if arguments.html is not None:
        write_file(arguments.html, repair_html(repair))
    if arguments.output is not None and repair.text is not None:
        write_file(arguments.output, repair.text)
