"""The report as SARIF 2.1.0, which code hosts and editors show as notes at lines of a file.

A result per claim that the source does not back, in the response; the state of the claim is the
rule. A claim that could not be checked is a result of kind "open", and a response that could not
be checked makes the run unsuccessful, so that an empty list of results always means that nothing
was found.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from halldetect._version import __version__
from halldetect.reading.document import Span
from halldetect.render.passages import Passages
from halldetect.render.phrases import STATE_MEANING, score_line, summary
from halldetect.render.short import claim_line
from halldetect.report import ClaimReport, Report, Status, Verdict

VERSION = "2.1.0"
SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {Status.CONTRADICTED: "error", Status.UNSUPPORTED: "warning", Status.UNCHECKABLE: "none"}
# The rule where the score of the whole response is over the threshold, and that of no claim.
_WHOLE_RESPONSE = str(Verdict.HALLUCINATED)
_RULES = {
    **{str(status): STATE_MEANING[status] for status in _LEVELS},
    _WHOLE_RESPONSE: "the response as a whole reaches the threshold",
}


@dataclass(frozen=True, slots=True)
class CheckedFile:
    """The report on a response, and the file that the response is in.

    Attributes:
        report: the report.
        uri: the file, relative to the folder of the run or absolute; without one, the log holds
            the text of the response.
        lines: whether the text of the response is that of the file, so that places in it are
            places in the file; not so for a PDF file.
    """

    report: Report
    uri: str | None = None
    lines: bool = True

    def location(self, index: int) -> dict[str, Any]:
        """Return how results name the file."""
        return {"index": index} if self.uri is None else {"uri": self.uri, "index": index}

    def artifact(self, index: int) -> dict[str, Any]:
        """Return the file and its verdict."""
        report = self.report
        text = {"contents": {"text": report.response}}
        return {
            **(text if self.uri is None else {"location": self.location(index)}),
            "properties": {
                "verdict": str(report.verdict),
                "score": report.score,
                "threshold": report.threshold,
            },
        }


def sarif(report: Report, uri: str | None = None, *, lines: bool = True) -> str:
    """Return the report as a SARIF log of one run; arguments as of `CheckedFile`."""
    return sarif_log([CheckedFile(report, uri, lines)])


def sarif_log(files: Sequence[CheckedFile]) -> str:
    """Return the reports on several responses as a SARIF log of one run.

    Args:
        files: the reports with their files.
    """
    run = {
        "tool": {
            "driver": {
                "name": "halldetect",
                "version": __version__,
                "rules": [
                    {"id": name, "shortDescription": {"text": text}}
                    for name, text in _RULES.items()
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "invocations": [_invocation(files)],
        "artifacts": [file.artifact(at) for at, file in enumerate(files)],
        "results": [
            result
            for at, file in enumerate(files)
            for result in _results(
                file.report, file.location(at), lines=file.lines or file.uri is None
            )
        ],
    }
    log = {"$schema": SCHEMA, "version": VERSION, "runs": [run]}
    return json.dumps(log, indent=2, allow_nan=False) + "\n"


def _invocation(files: Sequence[CheckedFile]) -> dict[str, Any]:
    """Whether the checks could be carried out, and what to say about whole responses."""
    notifications = [
        {
            "level": "note" if file.report.verdict is Verdict.ABSTAINED else "error",
            "message": {"text": summary(file.report)},
            **({} if file.uri is None else _notified_file(file.location(at))),
        }
        for at, file in enumerate(files)
        if file.report.verdict in (Verdict.ABSTAINED, Verdict.UNCHECKABLE)
    ]
    successful = all(file.report.verdict is not Verdict.UNCHECKABLE for file in files)
    return {
        "executionSuccessful": successful,
        **({"toolExecutionNotifications": notifications} if notifications else {}),
    }


def _notified_file(location: dict[str, Any]) -> dict[str, Any]:
    return {"locations": [{"physicalLocation": {"artifactLocation": location}}]}


def _results(report: Report, file: dict[str, Any], *, lines: bool) -> list[dict[str, Any]]:
    passages = Passages(report)
    results = []
    for claim in report.claims:
        if claim.status is Status.SUPPORTED:
            continue
        place = region(report.response, claim.span) if lines and claim.span else None
        message = claim_line(report, claim, passages)
        level = _LEVELS[claim.status]
        results.append(_result(str(claim.status), level, message, file, place, claim))
    if report.verdict is Verdict.HALLUCINATED and not any(
        result["kind"] == "fail" for result in results
    ):
        message = f"{summary(report)} ({score_line(report)})"
        results.append(_result(_WHOLE_RESPONSE, "error", message, file, None, None))
    return results


def _result(
    rule: str,
    level: str,
    message: str,
    file: dict[str, Any],
    lines: dict[str, int] | None,
    claim: ClaimReport | None,
) -> dict[str, Any]:
    place = {"artifactLocation": file} | ({} if lines is None else {"region": lines})
    result: dict[str, Any] = {
        "ruleId": rule,
        "ruleIndex": list(_RULES).index(rule),
        "kind": "open" if level == "none" else "fail",  # only what fails has a level
        "level": level,
        # "[words](address)" would be a link, put there by whoever wrote the response.
        "message": {"text": message.replace("](", "] (")},
        "locations": [{"physicalLocation": place}],
    }
    if claim is not None:
        result["properties"] = {"claim": claim.text, "support": claim.support}
    return result


def region(text: str, span: Span) -> dict[str, int]:
    """Return the place of a span: lines and columns from 1, the end behind its last character.

    Args:
        text: the text.
        span: a part of it.
    """
    start_line, start_column = _place(text, span.start)
    end_line, end_column = _place(text, span.end)
    return {
        "startLine": start_line,
        "startColumn": start_column,
        "endLine": end_line,
        "endColumn": end_column,
    }


def _place(text: str, at: int) -> tuple[int, int]:
    # A line ends with "\n", also after "\r": what SARIF assumes unless a run says otherwise.
    return text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
