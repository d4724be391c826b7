"""halldetect check, halldetect demo, halldetect schema: one check, and the shape of its report."""

from __future__ import annotations

import argparse
import json
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.exits import COULD_NOT_CHECK, OF_VERDICT, interruptible
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.output import print_result, require_writable, write_file
from halldetect.cli.parser import path_argument
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.response_file import checked_file, find_response_file, github_notes
from halldetect.cli.text_arguments import TextArguments, file_name
from halldetect.demo import QUESTION, RESPONSE, SOURCE, deviations
from halldetect.errors import InputError
from halldetect.report import Report

if TYPE_CHECKING:
    from halldetect.inputs import Source, SourceDocument

DESCRIPTION = """\
Check a response against its source. Each is a file (text, Markdown, HTML, JSON, PDF, DOCX), the
text itself, - for standard input, or with --allow-network a web address. Words that look like a
file name but name no file are an error; --text takes both arguments as they are.
"""


FORMATS = ("short", "full", "json", "markdown", "html", "sarif", "github")


def add(commands: Any) -> None:
    """Add the command `check` to the parser."""
    parser = commands.add_parser(
        "check",
        help="check a response against its source",
        description=DESCRIPTION,
        usage="halldetect check SOURCE RESPONSE [options]",
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_text_arguments(parser, "what to check")
    add_output_options(parser, of_check=True)
    add_detector_options(parser)
    parser.set_defaults(run=run_check)


def add_demo(commands: Any) -> None:
    """Add the command `demo` to the parser."""
    parser = commands.add_parser(
        "demo",
        help="check a built-in example",
        description="Check a built-in example with a supported, a contradicted and an invented "
        "claim. The exit status is 0 when all three are recognised, else 3.",
        usage="halldetect demo [options]",
        allow_abbrev=False,
    )
    add_output_options(parser, of_check=True)
    add_detector_options(parser)
    parser.set_defaults(run=run_demo)


def add_schema(commands: Any) -> None:
    """Add the command `schema` to the parser."""
    parser = commands.add_parser(
        "schema",
        help="print the JSON Schema of a report",
        description="Print the JSON Schema that every report of check --json fulfils.",
        allow_abbrev=False,
    )
    parser.set_defaults(run=run_schema)


def add_text_arguments(parser: argparse.ArgumentParser, what: str) -> None:
    """Add the arguments that name a source and a response; `read_texts` reads them.

    Args:
        parser: of a command.
        what: what the texts are for, as help.
    """
    parser.add_argument("texts", nargs="+", metavar="SOURCE RESPONSE", help=what)
    parser.add_argument(
        "--source",
        action="append",
        default=[],
        metavar="[NAME=]FILE",
        help="a further source document, with the name that reports show (default: that of the "
        "file); may be repeated. With it, SOURCE can be left out",
    )
    parser.add_argument(
        "--question",
        metavar="TEXT",
        help="what the response answers; a bare answer is judged with it",
    )
    parser.add_argument("--text", action="store_true", help="SOURCE and RESPONSE are the texts")
    parser.add_argument(
        "--allow-network", action="store_true", help="fetch texts that are named by a web address"
    )


def add_output_options(parser: argparse.ArgumentParser, *, of_check: bool = False) -> None:
    """Add the options that say in which forms the result is shown.

    Args:
        parser: of the command.
        of_check: whether the result is the report of a check, which has more forms.
    """
    add_option = parser.add_argument_group("what to show").add_argument
    if of_check:
        add_option(
            "--format",
            choices=FORMATS,
            help="the form on standard output: the verdict and the claims that fail (short), all "
            "of it (full), JSON, Markdown, HTML, SARIF 2.1.0, or notes at lines for GitHub Actions "
            "(default: full)",
        )
    add_option("--json", action="store_true", help="the report as JSON on standard output")
    add_option(
        "--markdown", type=path_argument, metavar="FILE", help="write the report as Markdown"
    )
    add_option(
        "--html", type=path_argument, metavar="FILE", help="write the report as one HTML file"
    )
    if of_check:
        add_option(
            "--pdf",
            type=path_argument,
            metavar="FILE",
            help="write an audit report of a few pages as PDF",
        )
        add_option(
            "--sarif",
            type=path_argument,
            metavar="FILE",
            help="write the claims that the source does not back as SARIF 2.1.0, for code hosts "
            "and editors",
        )
    add_option("--quiet", action="store_true", help="no notices and no progress on standard error")


def read_texts(arguments: argparse.Namespace, command: str) -> tuple[list[SourceDocument], str]:
    """The documents of the source and the response that the command line names.

    Documents from files have the names of the files.

    Args:
        arguments: the parsed command line.
        command: its command, for messages.
    """
    *first, response = arguments.texts
    if len(first) > 1 or not (first or arguments.source or arguments.knowledge):
        raise InputError(
            f"{command} takes one SOURCE and one RESPONSE, not {len(arguments.texts)} arguments; "
            "quote a text with spaces, and name further documents with --source"
        )
    reader = TextArguments(literal=arguments.text, network=arguments.allow_network)
    documents = [text for item in first for text in reader.read_documents(item, "source")]
    for item in arguments.source:
        documents += _named_documents(reader, item)
    return documents, reader.read(response, "response")


def _named_documents(reader: TextArguments, argument: str) -> list[SourceDocument]:
    """The documents of a --source, which is FILE or NAME=FILE; a file with "=" is a file."""
    name, equals, file = argument.partition("=")
    if not (equals and name and file) or Path(argument).exists():
        return reader.read_documents(argument, "--source", file=True)
    read = reader.read_documents(file, "--source", file=True)
    texts = [item if isinstance(item, str) else item["text"] for item in read]
    if len(texts) == 1:
        return [{"id": name, "text": texts[0]}]
    return [{"id": f"{name}, page {at}", "text": text} for at, text in enumerate(texts, start=1)]


def run_check(arguments: argparse.Namespace) -> int:
    """Check the texts of the command line; the verdict is the exit status."""
    documents, response = read_texts(arguments, "check")
    report = _checked(arguments, documents, response, arguments.question)
    _show(report, arguments, file_name(arguments.texts[-1], literal=arguments.text))
    return OF_VERDICT[report.verdict]


def run_demo(arguments: argparse.Namespace) -> int:
    """Check the built-in example; status 0 if its three claims are recognised."""
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
    for path in (arguments.markdown, arguments.html, arguments.pdf, arguments.sarif):
        require_writable(path)
    if arguments.pdf is not None:
        require_pdf()
    with ProgressDisplay(quiet=arguments.quiet) as display:
        detector = detector_for(arguments, display)
        return interruptible(
            lambda stop: detector.check(source, response, question=question), display
        )


def _show(report: Report, arguments: argparse.Namespace, response_name: str | None = None) -> None:
    """Every form that was asked for; standard output first, since it cannot fail."""
    from halldetect import render

    record = render.CheckRecord(datetime.now(UTC), response_name)
    file = None if response_name is None else find_response_file(Path(arguments.texts[-1]))
    forms: dict[str, Callable[[], str]] = {
        "short": lambda: f"{render.short(report)}\n",
        "full": lambda: render.terminal(report),
        "json": lambda: f"{report.to_json()}\n",
        "markdown": lambda: render.markdown(report),
        "html": lambda: render.html(report, record),
        "sarif": lambda: render.sarif_log([checked_file(report, file)]),
        "github": lambda: github_notes(report, file),
    }
    print_result(forms[_format(arguments)]())
    if arguments.markdown is not None:
        write_file(arguments.markdown, forms["markdown"]())
    if arguments.html is not None:
        write_file(arguments.html, forms["html"]())
    if arguments.pdf is not None:
        write_file(arguments.pdf, render.pdf(report, record))
    if arguments.sarif is not None:
        write_file(arguments.sarif, forms["sarif"]())


def _format(arguments: argparse.Namespace) -> str:
    """The form for standard output; --json is --format json."""
    if arguments.json and arguments.format not in (None, "json"):
        raise InputError(f"--json and --format {arguments.format}: leave one of the two out")
    return "json" if arguments.json else arguments.format or "full"


def require_pdf() -> None:
    """Raise MissingExtra before the long work if no PDF could be written."""
    from halldetect.render.html import load_weasyprint

    load_weasyprint()


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, 88) for line in text.strip().split("\n"))
