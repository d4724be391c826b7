"""halldetect repair: change a response until its source supports all that it says."""

from __future__ import annotations

import argparse
from typing import Any

from halldetect.cli.check import add_output_options, add_text_arguments, read_texts
from halldetect.cli.exits import OF_VERDICT, interruptible
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.output import print_result, require_writable, write_file
from halldetect.cli.parser import add_command, path_argument
from halldetect.cli.progress import ProgressDisplay

DESCRIPTION = """\
Replace, rewrite or remove the claims that the source does not support, check the result, and show
the changes. SOURCE and RESPONSE are given as for check. The exit status is 0 if there is a text
that passed the check, else 1, or 3 if the response could not be checked.
"""
_REWRITER_HELP = (
    "a language model that may write sentences again: gguf, gguf:NAME (a model of the store or a "
    ".gguf file) or openai:MODEL (default: none; words are replaced and sentences removed by rule)"
)


def add(commands: Any) -> None:
    """Add the command `repair` to the parser."""
    usage = "halldetect repair SOURCE RESPONSE [options]"
    help = "change a response until its source supports it"
    parser = add_command(commands, "repair", run_repair, help, DESCRIPTION, usage=usage)
    add_text_arguments(parser, "SOURCE RESPONSE")
    group = parser.add_argument_group("how to repair")
    group.add_argument("--rewriter", metavar="NAME", help=_REWRITER_HELP)
    rounds = "after N rounds of changes, remove what still fails (default: 3)"
    group.add_argument("--max-rounds", type=int, default=3, metavar="N", help=rounds)
    add_output_options(parser)
    parser.add_argument(
        "--output", type=path_argument, metavar="FILE", help="write the new text to a file"
    )
    add_detector_options(parser)


def run_repair(arguments: argparse.Namespace) -> int:
    """Repair the response of the command line."""
    from halldetect.render.repair_views import repair_html, repair_markdown, repair_terminal

    documents, (response,) = read_texts(arguments, "repair")
    require_writable(arguments.markdown, arguments.html, arguments.output)
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
    print_result(f"{repair.to_json()}\n" if arguments.json else repair_terminal(repair))
    if arguments.markdown is not None:
        write_file(arguments.markdown, repair_markdown(repair))
    if arguments.html is not None:
        write_file(arguments.html, repair_html(repair))
    if arguments.output is not None and repair.text is not None:
        write_file(arguments.output, repair.text)
    return 0 if repair.text is not None else OF_VERDICT[repair.original.verdict]
