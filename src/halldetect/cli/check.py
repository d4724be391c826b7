"""halldetect check, compare, repair, demo and schema: commands on one pair of texts."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect import render
from halldetect.cli.exits import COULD_NOT_CHECK, OF_VERDICT, Result, worst_status
from halldetect.cli.hook import read_transcript
from halldetect.cli.options import QUIET, add_detector_options, with_detector
from halldetect.cli.output import (
    checked_file,
    print_json,
    print_result,
    require_writable,
    write_file,
)
from halldetect.cli.parser import add_command, file, switch, value
from halldetect.cli.progress import ProgressDisplay
from halldetect.cli.text_arguments import TextArguments, existing_file
from halldetect.errors import InputError, import_extra
from halldetect.inputs import Pair, Source, SourceDocument
from halldetect.render.comparison_views import comparison_html, comparison_terminal
from halldetect.render.html import WEASYPRINT
from halldetect.render.repair_views import repair_html, repair_terminal
from halldetect.report import Report, Verdict
from halldetect.report.comparison import compare
from halldetect.report.demo import QUESTION, RESPONSE, SOURCE, deviations

if TYPE_CHECKING:
    from halldetect.detector import Detector

CHECK = """\
Check a response against its source. Each is a file (text, Markdown, HTML, JSON, PDF, DOCX), the
text itself, or - for standard input. Words that look like a file name but name no file are an
error unless --text is given.
"""
COMPARE = """\
Check two responses, A and B, against the same source, and show which claims differ and which of
them the source supports. Arguments are given as for check. The exit status is that of the worse
response: 1 if one of them is hallucinated, 0 if both are faithful.
"""
REPAIR = """\
Replace, shorten or remove the claims that the source does not support, check the result, and show
the changes. SOURCE and RESPONSE are given as for check. The exit status is 0 if there is a text
that passed the check, else 1; 3 if the response could not be checked, 4 if it gives no answer.
"""
DEMO = """\
Check a built-in example with a supported, a contradicted and an invented claim. The exit status is
0 when all three are recognised, else 3.
"""
SCHEMA = "Print the JSON Schema of the report that check --json prints."
FORMATS = ("short", "full", "json", "markdown", "html", "sarif", "github")
_FILE_FORMS = ("markdown", "html", "pdf", "sarif")
# Makes a result in each form: text, bytes, or plain values for JSON.
Forms = dict[str, Callable[[], Any]]
_SHOWN = {
    "--format": value(
        None,
        "the form on standard output: short has the verdict and the failing claims, github "
        "annotations for GitHub Actions (default: full)",
        choices=FORMATS,
    ),
    "--json": {
        "action": "store_const",
        "const": "json",
        "dest": "format",
        "help": "the result as JSON on standard output",
    },
    "--markdown": file("write the result as Markdown"),
    "--html": file("write the result as one HTML file"),
    "--pdf": file("write the result as PDF, with room for a reviewer's judgement"),
    "--sarif": file("write the failing claims as SARIF 2.1.0, for code hosts and editors"),
    **QUIET,
}
_TEXTS = {
    "texts": {"nargs": "*", "metavar": "SOURCE RESPONSE", "help": "files or texts"},
    "--source": value(
        "[NAME=]FILE",
        "a further source document and its name in reports (default: that of the file); SOURCE "
        "can then be left out",
        repeatable=True,
    ),
    "--question": value(
        "TEXT", "the question that the response answers; a short answer is judged with it"
    ),
    "--text": switch("the arguments are the texts themselves"),
}
_MESSAGES = {
    "--messages": file(
        "check the assistant's turns of a conversation: JSON, JSON lines, or the transcript of an "
        "agent; SOURCE and --source are further documents"
    ),
}
_FAIL_ON = {
    "--fail-on": value(
        None,
        "exit with 1 also if documents disagree on a claim, or if a part that may assert something "
        "was not checked",
        choices=("disputed", "unchecked"),
        repeatable=True,
    ),
    "--missing": switch("with --question: also list what the source answers and RESPONSE does not"),
    "--words": switch("mark wrong words also where no rule finds them; asks the verifier more"),
}
_REPAIR = {
    "--max-rounds": value("N", "after N rounds of changes, remove what still fails", int, 3),
    "--output": file("write the new text to a file"),
}


def add(commands: Any) -> None:
    """Add the commands of this module to the parser."""
    few = {flag: _SHOWN[flag] for flag in ("--json", "--html", "--quiet")}
    two = {**_TEXTS, "texts": {**_TEXTS["texts"], "metavar": "SOURCE A B"}}
    shown, briefly = {"what to show": _SHOWN}, {"what to show": few}
    checked = {"": _TEXTS | _MESSAGES, "what to show": _SHOWN | _FAIL_ON}
    repair = {"": _TEXTS, "how to repair": _REPAIR, **briefly}
    for name, run, help, description, groups in (
        ("check", run_check, "check a response against its source", CHECK, checked),
        ("compare", run_compare, "compare two responses", COMPARE, {"": two, **briefly}),
        ("repair", run_repair, "change a response until it is supported", REPAIR, repair),
        ("demo", run_demo, "check a built-in example", DEMO, shown),
    ):
        usage = groups.get("", {}).get("texts", {}).get("metavar", "")
        add_detector_options(add_command(commands, name, run, help, description, usage, groups))
    add_command(commands, "schema", run_schema, "print the JSON Schema of a report", SCHEMA)


def read_texts(
    arguments: argparse.Namespace, command: str, responses: int = 1
) -> tuple[list[SourceDocument], list[str]]:
    """Return the source documents and the responses named on the command line.

    Documents from files are named after the files. The command takes `responses` responses.
    """
    given = len(arguments.texts)
    first, last = arguments.texts[: given - responses], arguments.texts[-responses:]
    has_source = first or arguments.source or arguments.knowledge
    if not responses <= given <= responses + 1 or not has_source:
        taken = "one RESPONSE" if responses == 1 else "two responses"
        raise InputError(
            f"{command} takes one SOURCE and {taken}, but {given} were given; "
            "quote a text with spaces, and name further documents with --source"
        )
    reader = TextArguments(literal=arguments.text)
    documents = reader.read_sources(first, arguments.source)
    return documents, [reader.read(item, "response") for item in last]


def run_check(arguments: argparse.Namespace) -> int:
    """Check the texts of the command line; return the exit status of the verdict."""
    if arguments.messages is not None:
        return _run_messages(arguments)
    documents, (response,) = read_texts(arguments, "check")
    report = _checked(arguments, documents, response, arguments.question)
    _show(arguments, _forms(report, existing_file(arguments.texts[-1], literal=arguments.text)))
    found = {"disputed": report.disputed, "unchecked": report.left_out}
    if report.ok and any(found[name] for name in arguments.fail_on or ()):
        return OF_VERDICT[Verdict.HALLUCINATED]
    return OF_VERDICT[report.verdict]


def _run_messages(arguments: argparse.Namespace) -> int:
    """Check the turns of a conversation; return the exit status of the worst verdict."""
    for name in ("words", "missing", "question", "fail_on"):
        if getattr(arguments, name):
            raise InputError(f"--{name.replace('_', '-')} does not apply to --messages")
    reader = TextArguments(literal=arguments.text)
    documents = reader.read_sources(arguments.texts, arguments.source)
    messages = read_transcript(reader.read(str(arguments.messages), "--messages", file=True))
    more: Any = {"documents": documents or None}
    found = _run(arguments, lambda made: made.check_conversation(messages, **more))
    turns = [f"MESSAGE {turn.index}\n{render.terminal(turn.report)}" for turn in found.turns]
    forms = _forms(found.merged(), None) | {
        "json": found.to_dict,
        "short": lambda: f"{found}\n",
        "full": lambda: "\n".join([*turns, *(f"Not read: {item}\n" for item in found.unread)]),
    }
    _show(arguments, forms)
    return OF_VERDICT[found.verdict]


def run_compare(arguments: argparse.Namespace) -> int:
    """Check both responses of the command line and compare the reports."""
    documents, responses = read_texts(arguments, "compare", 2)
    pairs = [Pair(documents, response, arguments.question) for response in responses]
    reports = _run(arguments, lambda detector: detector.check_many(pairs))
    _show(arguments, _views(compare(*reports), comparison_terminal, comparison_html))
    return worst_status(report.verdict for report in reports)


def run_repair(arguments: argparse.Namespace) -> int:
    """Repair the response of the command line."""
    documents, (response,) = read_texts(arguments, "repair")
    more = {"question": arguments.question, "max_rounds": arguments.max_rounds}
    repair = _run(arguments, lambda detector: detector.repair(documents, response, **more))
    _show(arguments, _views(repair, repair_terminal, repair_html))
    if repair.text is None:
        return OF_VERDICT[repair.original.verdict]
    write_file(arguments.output, repair.text)
    return 0


def run_demo(arguments: argparse.Namespace) -> int:
    """Check the built-in example; return 0 if its three claims are recognised."""
    report = _checked(arguments, SOURCE, RESPONSE, QUESTION)
    if (arguments.format or "full") in ("short", "full"):
        print_result(f"SOURCE\n{_wrapped(SOURCE)}\n\nRESPONSE\n{_wrapped(RESPONSE)}\n\n")
    _show(arguments, _forms(report, None))
    unexpected = deviations(report)
    for line in unexpected:
        ProgressDisplay(quiet=arguments.quiet).notice(line)
    return COULD_NOT_CHECK if unexpected else 0


def run_schema(arguments: argparse.Namespace) -> int:
    """Print the JSON Schema of a report."""
    print_json(render.json_schema())
    return 0


def _checked(
    arguments: argparse.Namespace, source: Source, response: str, question: str | None
) -> Report:
    more: Any = {name: getattr(arguments, name, False) for name in ("missing", "words")}
    if more["missing"] and question is None:
        raise InputError("--missing needs --question: without one, no statement is missing")
    more["question"] = question
    return _run(arguments, lambda detector: detector.check(source, response, **more))


def _run(arguments: argparse.Namespace, work: Callable[[Detector], Result]) -> Result:
    """Do the work with a detector, once it is certain that its result can be written."""
    require_writable(*(getattr(arguments, name, None) for name in (*_FILE_FORMS, "output")))
    if getattr(arguments, "pdf", None) is not None:
        import_extra(*WEASYPRINT)
    return with_detector(arguments, work)


def _views(result: Any, text: Callable[[Any], str], page: Callable[[Any], str]) -> Forms:
    return {"json": result.to_dict, "full": lambda: text(result), "html": lambda: page(result)}


def _forms(report: Report, file: Path | None) -> Forms:
    record = render.CheckRecord(datetime.now(UTC), None if file is None else file.name)
    return {
        "short": lambda: f"{render.short(report)}\n",
        "full": lambda: render.terminal(report),
        "json": report.to_dict,
        "markdown": lambda: render.markdown(report),
        "html": lambda: render.html(report, record),
        "sarif": lambda: render.sarif_log([checked_file(report, file)]),
        "github": lambda: checked_file(report, file).github(),
        "pdf": lambda: render.pdf(report, record),
    }


def _show(arguments: argparse.Namespace, forms: Forms) -> None:
    """Print a result in the chosen form, then write the files: printing cannot fail."""
    chosen = arguments.format or "full"
    (print_json if chosen == "json" else print_result)(forms[chosen]())
    for name in _FILE_FORMS:
        if (path := getattr(arguments, name, None)) is not None:
            write_file(path, forms[name]())


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.fill(line, 88) for line in text.strip().split("\n"))
