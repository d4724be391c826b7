"""halldetect check, halldetect demo, halldetect schema: one check, and the shape of its report."""

from __future__ import annotations

import argparse
import json
import os
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

from halldetect.cli.exits import COULD_NOT_CHECK, OF_VERDICT, interruptible
from halldetect.cli.options import add_detector_options, detector_for
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_io import (
    TextArguments,
    file_name,
    print_result,
    require_writable,
    write_file,
)
from halldetect.demo import QUESTION, RESPONSE, SOURCE, deviations
from halldetect.errors import InputError
from halldetect.inputs import Source, SourceDocument
from halldetect.report import Report

DESCRIPTION = """\
Check a response against its source. Each is a file, the text itself, or - for standard
input. Words that look like a file name but name no file are an error; --text takes both
arguments as they are.
"""


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
    parser.add_argument("--question", metavar="TEXT", help="what the response answers (recorded)")
    parser.add_argument("--text", action="store_true", help="SOURCE and RESPONSE are the texts")


def add_output_options(parser: argparse.ArgumentParser, *, of_check: bool = False) -> None:
    """Add the options that say in which forms the result is shown.

    Args:
        parser: of the command.
        of_check: whether the result is the report of a check, which has more forms.
    """
    add_option = parser.add_argument_group("what to show").add_argument
    add_option("--json", action="store_true", help="the report as JSON on standard output")
    add_option("--markdown", type=Path, metavar="FILE", help="write the report as Markdown")
    add_option("--html", type=Path, metavar="FILE", help="write the report as one HTML file")
    if of_check:
        add_option(
            "--pdf", type=Path, metavar="FILE", help="write an audit report of a few pages as PDF"
        )
        add_option(
            "--sarif",
            type=Path,
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
    reader = TextArguments(literal=arguments.text)
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
    if not arguments.json:
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
    print_result(f"{report.to_json()}\n" if arguments.json else render.terminal(report))
    if arguments.markdown is not None:
        write_file(arguments.markdown, render.markdown(report))
    if arguments.html is not None:
        write_file(arguments.html, render.html(report, record))
    if arguments.pdf is not None:
        write_file(arguments.pdf, render.pdf(report, record))
    if arguments.sarif is not None:
        file = None if response_name is None else Path(arguments.texts[-1])
        write_file(arguments.sarif, _sarif(report, file))


def _sarif(report: Report, file: Path | None) -> str:
    """The report as SARIF, with the file of the response as seen from the current folder."""
    from halldetect import render

    if file is None or not file.is_file():  # a pipe has a name, but no lines to go back to
        return render.sarif(report)
    full = file.resolve()
    here = Path.cwd().resolve()
    inside = full.relative_to(here) if full.is_relative_to(here) else None
    uri = full.as_uri() if inside is None else quote(os.fsencode(inside.as_posix()))
    with file.open("rb") as stream:
        plain = stream.read(4) not in (b"%PDF", b"PK\x03\x04")
    return render.sarif(report, uri, lines=plain)


def require_pdf() -> None:
    """Raise MissingExtra before the long work if no PDF could be written."""
    from halldetect.render.audit import load_weasyprint

    load_weasyprint()


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, 88) for line in text.strip().split("\n"))
