"""halldetect compare: two responses to the same source, side by side."""

from __future__ import annotations

import argparse
import json
from typing import Any

from halldetect.cli.exits import interruptible, worst_status
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.output import print_result, require_writable, write_file
from halldetect.cli.parser import path_argument
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import TextArguments
from halldetect.errors import InputError

DESCRIPTION = """\
Check two responses, A and B, against the same source, and show which claims differ and which of
them the source supports. Each argument is a file, the text itself, or - for standard input. The
exit status is that of the worse one: 1 if one of them is hallucinated, 0 if both are faithful.
"""


def add(commands: Any) -> None:
    """Add the command `compare` to the parser."""
    parser = commands.add_parser(
        "compare",
        help="compare two responses to the same source",
        description=DESCRIPTION,
        usage="halldetect compare SOURCE A B [options]",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("texts", nargs="+", metavar="SOURCE A B", help="what to compare")
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="FILE",
        help="a further source document; may be repeated. With it, SOURCE can be left out",
    )
    parser.add_argument(
        "--question",
        metavar="TEXT",
        help="what the responses answer; a bare answer is judged with it",
    )
    parser.add_argument("--text", action="store_true", help="SOURCE, A and B are the texts")
    add_option = parser.add_argument_group("what to show").add_argument
    add_option("--json", action="store_true", help="both reports and the pairs of claims as JSON")
    add_option(
        "--html", type=path_argument, metavar="FILE", help="write the comparison as one HTML file"
    )
    add_option("--quiet", action="store_true", help="no notices and no progress on standard error")
    add_detector_options(parser)
    parser.set_defaults(run=run_compare)


def run_compare(arguments: argparse.Namespace) -> int:
    """Check both responses of the command line and compare the reports."""
    from halldetect.inputs import Pair
    from halldetect.render.comparison_views import comparison_html, comparison_terminal
    from halldetect.report.comparison import compare

    *first, a, b = arguments.texts if len(arguments.texts) > 1 else (*arguments.texts, "")
    if len(arguments.texts) < 2 or len(first) > 1 or not (first or arguments.source):
        raise InputError(
            f"compare takes one SOURCE and two responses, not {len(arguments.texts)} arguments; "
            "quote a text with spaces, and name further documents with --source"
        )
    reader = TextArguments(literal=arguments.text)
    documents = [text for item in first for text in reader.read_documents(item, "source")]
    for item in arguments.source:
        documents += reader.read_documents(item, "--source", file=True)
    responses = [reader.read(a, "A"), reader.read(b, "B")]
    require_writable(arguments.html)
    pairs = [Pair(documents, response, arguments.question) for response in responses]
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display)
        reports = interruptible(lambda stop: list(detector.check_many(pairs)), display)
    comparison = compare(*reports)
    if arguments.json:
        print_result(f"{json.dumps(comparison.to_dict(), ensure_ascii=False, indent=2)}\n")
    else:
        print_result(comparison_terminal(comparison))
    if arguments.html is not None:
        write_file(arguments.html, comparison_html(comparison))
    return worst_status(report.verdict for report in reports)
