"""halldetect check, compare, demo and schema: single checks, and the shape of their report."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.demo import QUESTION, RESPONSE, SOURCE, deviations
from halldetect.cli.exits import COULD_NOT_CHECK, OF_VERDICT, interruptible, worst_status
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.output import (
    checked_file,
    find_response_file,
    github_notes,
    print_result,
    require_writable,
    write_file,
)
from halldetect.cli.parser import add_command, path_argument
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import TextArguments, file_name
from halldetect.errors import InputError
from halldetect.report import Report

if TYPE_CHECKING:
    from halldetect.inputs import Source, SourceDocument

CHECK = """\
Check a response against its source. Each is a file (text, Markdown, HTML, JSON, PDF, DOCX), the
text itself, - for standard input, or with --allow-network a web address. Words that look like a
file name but name no file are an error; --text takes both arguments as they are.
"""
COMPARE = """\
Check two responses, A and B, against the same source, and show which claims differ and which of
them the source supports. Arguments are given as for check. The exit status is that of the worse
response: 1 if one of them is hallucinated, 0 if both are faithful.
"""
DEMO = """\
Check a built-in example with a supported, a contradicted and an invented claim. The exit status is
0 when all three are recognised, else 3.
"""
FORMATS = ("short", "full", "json", "markdown", "html", "sarif", "github")


def add(commands: Any) -> None:
    """Add the command `check` to the parser."""
    usage = "halldetect check SOURCE RESPONSE [options]"
    parser = add_command(
        commands, "check", run_check, "check a response against its source", CHECK, usage=usage
    )
    add_text_arguments(parser, "SOURCE RESPONSE")
    add_output_options(parser, of_check=True)
    add_detector_options(parser)


def add_compare(commands: Any) -> None:
    """Add the command `compare` to the parser."""
    usage = "halldetect compare SOURCE A B [options]"
    help = "compare two responses to the same source"
    parser = add_command(commands, "compare", run_compare, help, COMPARE, usage=usage)
    add_text_arguments(parser, "SOURCE A B")
    add_output_options(parser, markdown=False)
    add_detector_options(parser)


def add_demo(commands: Any) -> None:
    """Add the command `demo` to the parser."""
    usage = "halldetect demo [options]"
    parser = add_command(commands, "demo", run_demo, "check a built-in example", DEMO, usage=usage)
    add_output_options(parser, of_check=True)
    add_detector_options(parser)


def add_schema(commands: Any) -> None:
    """Add the command `schema` to the parser."""
    description = "Print the JSON Schema of the report that check --json prints."
    add_command(commands, "schema", run_schema, "print the JSON Schema of a report", description)


def add_text_arguments(parser: argparse.ArgumentParser, names: str) -> None:
    """Add the arguments that name a source and responses; `read_texts` reads them."""
    add_option = parser.add_argument
    add_option("texts", nargs="+", metavar=names, help="files or texts")
    add_option(
        "--source",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="a further source document, with the name that reports show (default: that of the "
        "file); may be repeated. With it, SOURCE can be left out",
    )
    question = "the question that is answered; a bare answer is judged with it"
    add_option("--question", metavar="TEXT", help=question)
    add_option("--text", action="store_true", help=f"{names} are the texts themselves")
    network = "fetch texts that are named by a web address"
    add_option("--allow-network", action="store_true", help=network)


def add_output_options(
    parser: argparse.ArgumentParser, *, of_check: bool = False, markdown: bool = True
) -> None:
    """Add the options for the forms of the result; the report of a check has more forms."""
    add_option = parser.add_argument_group("what to show").add_argument

    def add_file(name: str, help: str) -> None:
        add_option(f"--{name}", type=path_argument, metavar="FILE", help=help)

    if of_check:
        add_option(
            "--format",
            choices=FORMATS,
            help="the form on standard output: the verdict and the claims that fail (short), all "
            "of it (full), JSON, Markdown, HTML, SARIF 2.1.0, or notes at lines for GitHub Actions "
            "(default: full)",
        )
    add_option("--json", action="store_true", help="the result as JSON on standard output")
    if markdown:
        add_file("markdown", "write the result as Markdown")
    add_file("html", "write the result as one HTML file")
    if of_check:
        add_file("pdf", "write the result as PDF, with room for a reviewer's judgement")
        add_file("sarif", "write the failing claims as SARIF 2.1.0, for code hosts and editors")
    add_option("--quiet", action="store_true", help="no notices and no progress on standard error")


def read_texts(
    arguments: argparse.Namespace, command: str, responses: int = 1
) -> tuple[list[SourceDocument], list[str]]:
    """Return the source documents and the responses named on the command line.

    Documents from files are named after the files. The command takes `responses` responses.
    """
    given = len(arguments.texts)
    first, last = arguments.texts[: given - responses], arguments.texts[-responses:]
    if not responses <= given <= responses + 1 or not (
        first or arguments.source or arguments.knowledge
    ):
        taken = "one RESPONSE" if responses == 1 else "two responses"
        raise InputError(
            f"{command} takes one SOURCE and {taken}, not {given} arguments; "
            "quote a text with spaces, and name further documents with --source"
        )
    reader = TextArguments(literal=arguments.text, network=arguments.allow_network)
    documents = [text for item in first for text in reader.read_documents(item, "source")]
    for item in arguments.source:
        documents += reader.read_named(item)
    return documents, [reader.read(item, "response") for item in last]


def run_check(arguments: argparse.Namespace) -> int:
    """Check the texts of the command line; return the exit status of the verdict."""
    documents, (response,) = read_texts(arguments, "check")
    report = _checked(arguments, documents, response, arguments.question)
    _show(report, arguments, file_name(arguments.texts[-1], literal=arguments.text))
    return OF_VERDICT[report.verdict]


def run_compare(arguments: argparse.Namespace) -> int:
    """Check both responses of the command line and compare the reports."""
    from halldetect.inputs import Pair
    from halldetect.render.comparison_views import comparison_html, comparison_terminal
    from halldetect.report.comparison import compare

    documents, responses = read_texts(arguments, "compare", 2)
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


def run_demo(arguments: argparse.Namespace) -> int:
    """Check the built-in example; return 0 if its three claims are recognised."""
    report = _checked(arguments, SOURCE, RESPONSE, QUESTION)
    if _format(arguments) in ("short", "full"):
        print_result(f"SOURCE\n{_wrapped(SOURCE)}\n\nRESPONSE\n{_wrapped(RESPONSE)}\n\n")
    _show(report, arguments)
    unexpected = deviations(report)
    display = ProgressDisplay(quiet=arguments.quiet)
    for line in unexpected:
        display.notice(line)
    return COULD_NOT_CHECK if unexpected else 0


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of a report."""
    from halldetect import render

    print_result(json.dumps(render.json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0


def _checked(
    arguments: argparse.Namespace, source: Source, response: str, question: str | None
) -> Report:
    _format(arguments)  # raises before the long work
    require_writable(arguments.markdown, arguments.html, arguments.pdf, arguments.sarif)
    if arguments.pdf is not None:
        from halldetect.render.html import load_weasyprint

        load_weasyprint()
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display)
        return interruptible(
            lambda stop: detector.check(source, response, question=question), display
        )


def _show(report: Report, arguments: argparse.Namespace, response_name: str | None = None) -> None:
    """Print the report, then write the files: standard output cannot fail."""
    from halldetect import render

    record = render.CheckRecord(datetime.now(UTC), response_name)
    file = None if response_name is None else find_response_file(Path(arguments.texts[-1]))
    forms: dict[str, Callable[[], str | bytes]] = {
        "short": lambda: f"{render.short(report)}\n",
        "full": lambda: render.terminal(report),
        "json": lambda: f"{report.to_json()}\n",
        "markdown": lambda: render.markdown(report),
        "html": lambda: render.html(report, record),
        "sarif": lambda: render.sarif_log([checked_file(report, file)]),
        "github": lambda: github_notes(report, file),
        "pdf": lambda: render.pdf(report, record),
    }
    print_result(str(forms[_format(arguments)]()))
    for name in ("markdown", "html", "pdf", "sarif"):
        if (path := getattr(arguments, name)) is not None:
            write_file(path, forms[name]())


def _format(arguments: argparse.Namespace) -> str:
    """Return the form for standard output; --json is --format json."""
    if arguments.json and arguments.format not in (None, "json"):
        raise InputError(f"--json and --format {arguments.format}: leave one of the two out")
    return "json" if arguments.json else arguments.format or "full"


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, 88) for line in text.strip().split("\n"))
