"""The report at the lines of a file: SARIF 2.1.0, and workflow commands of GitHub Actions.

Both have an entry per claim that the source does not back. In SARIF, the state of the claim is the
rule. A claim or part that was not checked is a result of kind "open", and a response that could
not be checked makes the run unsuccessful, so an empty list of results means that nothing was found.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halldetect.machine.version import __version__
from halldetect.reading.document import Span
from halldetect.report import Report, Status, Verdict, WrongWords
from halldetect.report.json_form import plain
from halldetect.report.passages import Passages
from halldetect.report.phrases import STATE_MEANING, one_line, score_line, summary, unchecked_lines
from halldetect.report.short_text import claim_line

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
# The rule if the response exceeds the threshold but no single claim fails.
_WHOLE_RESPONSE = str(Verdict.HALLUCINATED)
_UNCHECKED = "unchecked"
# Name, level and meaning of each rule.
_RULES = {
    str(Status.CONTRADICTED): ("error", STATE_MEANING[Status.CONTRADICTED]),
    str(Status.UNSUPPORTED): ("warning", STATE_MEANING[Status.UNSUPPORTED]),
    str(Status.UNCLEAR): ("none", STATE_MEANING[Status.UNCLEAR]),
    str(Status.UNCHECKABLE): ("none", STATE_MEANING[Status.UNCHECKABLE]),
    _UNCHECKED: ("none", "a part of the response was not checked"),
    _WHOLE_RESPONSE: ("error", "the response as a whole reaches the threshold"),
}


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The report on a response, and the file that the response is in.

    `uri` is relative to the folder of the run or absolute; without one, the log holds the text of
    the response. `lines` is False if places in the text are not places in the file, as for PDF.
    `path` is the file as seen from the folder of the run, None outside it.
    """

    report: Report
    uri: str | None = None
    lines: bool = True
    path: str | None = None

    def github(self) -> str:
        """Return the report as workflow commands of GitHub Actions; see `github`."""
        return github(self.report, self.path, lines=self.lines)

    def location(self, index: int) -> dict[str, Any]:
        """Return the file as results refer to it."""
        return {"index": index} if self.uri is None else {"uri": self.uri, "index": index}


def sarif(report: Report, uri: str | None = None, *, lines: bool = True) -> str:
    """Return the report as a SARIF log of one run; arguments as of `CheckedFile`."""
    return sarif_log([CheckedFile(report, uri, lines)])


def sarif_log(files: Sequence[CheckedFile]) -> str:
    """Return the reports on several responses as a SARIF log of one run."""
    rules = [{"id": name, "shortDescription": {"text": text}} for name, (_, text) in _RULES.items()]
    run = {
        "tool": {"driver": {"name": "halldetect", "version": __version__, "rules": rules}},
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(files)],
        "artifacts": [_artifact(file, at) for at, file in enumerate(files)],
        "results": [result for at, file in enumerate(files) for result in _results(file, at)],
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _artifact(file: CheckedFile, index: int) -> dict[str, Any]:
    report = file.report
    text = {"contents": {"text": report.response}}
    found = {name: getattr(report, name) for name in ("verdict", "score", "threshold")}
    where = text if file.uri is None else {"location": file.location(index)}
    return {**where, "properties": found}


def _invocation(files: Sequence[CheckedFile]) -> dict[str, Any]:
    """Return the success of the checks and notes on whole responses."""
    notes: list[dict[str, Any]] = []
    for at, file in enumerate(files):
        if file.report.verdict in (Verdict.ABSTAINED, Verdict.UNCHECKABLE):
            level = "note" if file.report.verdict is Verdict.ABSTAINED else "error"
            notes.append({"level": level, "message": {"text": summary(file.report)}})
            if file.uri is not None:
                place = {"physicalLocation": {"artifactLocation": file.location(at)}}
                notes[-1]["locations"] = [place]
    successful = all(note["level"] == "note" for note in notes)
    found = {"toolExecutionNotifications": notes} if notes else {}
    return {"executionSuccessful": successful, **found}


def _results(file: CheckedFile, at: int) -> list[dict[str, Any]]:
    report, passages = file.report, Passages(file.report)
    results: list[dict[str, Any]] = []

    def add(
        rule: str, message: str, span: Span | None, wrong: Sequence[WrongWords] = (), **facts: Any
    ) -> None:
        level, _ = _RULES[rule]
        physical = {"artifactLocation": file.location(at)}
        place: dict[str, Any] = {"physicalLocation": physical}
        if span and (file.lines or file.uri is None):
            physical["region"] = _region(report.response, span)
            if marked := [_region(report.response, item.span) for item in wrong if item.span]:
                place["annotations"] = marked
        result = {
            "ruleId": rule,
            "ruleIndex": list(_RULES).index(rule),
            "kind": "open" if level == "none" else "fail",  # only failures have a level
            "level": level,
            # "[words](address)" would be a link under the control of the response.
            "message": {"text": message.replace("](", "] (")},
            "locations": [place],
            "properties": facts | ({"wrong": plain(wrong)} if wrong else {}),
        }
        results.append(result)

    for claim in report.claims:
        if claim.status is not Status.SUPPORTED:
            message, facts = claim_line(report, claim, passages), (claim.span, claim.wrong)
            add(str(claim.status), message, *facts, claim=claim.text, support=claim.support)
    for part, line in zip(report.left_out, unchecked_lines(report), strict=False):
        add(_UNCHECKED, line, part.span, reason=part.reason)
    failed = any(result["kind"] == "fail" for result in results)
    if report.verdict is Verdict.HALLUCINATED and not failed:
        add(_WHOLE_RESPONSE, f"{summary(report)} ({score_line(report)})", None)
    return results


def _region(text: str, span: Span) -> dict[str, int]:
    """Return the place of a span: lines and columns from 1, the end after its last character."""
    place = {}
    for name, at in (("start", span.start), ("end", span.end)):
        # A line ends with "\n", also after "\r": the default of SARIF.
        place[f"{name}Line"] = text.count("\n", 0, at) + 1
        place[f"{name}Column"] = at - text.rfind("\n", 0, at)
    return place


def github(report: Report, path: str | None = None, *, lines: bool = True) -> str:
    """Return a line for the log, and a workflow command per claim that is not backed.

    A response that could not be checked is an error. `path` is the file of the response, as seen
    from the root of the repository; `lines` as of `CheckedFile`.
    """
    verdict = f"{report.verdict} ({score_line(report)}). {summary(report)}"
    file = {} if path is None else {"file": path}
    commands = [log_line(verdict if path is None else f"{path}: {verdict}")]
    for result in _results(CheckedFile(report, path or "", lines), 0):
        found = result["locations"][0]["physicalLocation"].get("region")
        place = dict(file)
        if path is not None and found:
            place |= {"line": found["startLine"], "endLine": found["endLine"]}
            if found["startLine"] == found["endLine"]:  # columns are of one line only
                place |= {"col": found["startColumn"], "endColumn": found["endColumn"]}
        rule = result["ruleId"]
        whole = rule in (_WHOLE_RESPONSE, _UNCHECKED)
        title = {"title": rule if whole else f"{rule} claim"}
        level = "warning" if result["level"] == "none" else result["level"]
        commands.append(_command(level, place | title, result["message"]["text"]))
    if report.verdict is Verdict.UNCHECKABLE:
        commands.append(_command("error", {**file, "title": "not checked"}, verdict))
    return "".join(f"{line}\n" for line in commands)


def log_line(text: str) -> str:
    """Return a text as a log line that GitHub Actions does not run as a command."""
    line = one_line(text).replace("##[", "## [")
    return f"./{line}" if line.startswith("::") else line


def _command(level: str, place: dict[str, Any], message: str) -> str:
    fields = ",".join(f"{name}={_escaped(str(value), ':,')}" for name, value in place.items())
    return f"::{level} {fields}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    """Return a text without characters that end a command or a field."""
    return text.translate({ord(found): f"%{ord(found):02X}" for found in f"%\r\n{more}"})
