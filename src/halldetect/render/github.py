"""The report as workflow commands of GitHub Actions, which become notes at lines of a file.

The first line is the verdict, for the log. A response that could not be checked is an error.
"""

from __future__ import annotations

from halldetect.render.phrases import score_line, summary
from halldetect.render.sarif import region
from halldetect.render.short import claim_line
from halldetect.report import Report, Status, Verdict

_LEVELS = {
    Status.CONTRADICTED: "error",
    Status.UNSUPPORTED: "warning",
    Status.UNCHECKABLE: "warning",
}


def github(report: Report, path: str | None = None, *, lines: bool = True) -> str:
    """Return a line for the verdict and a workflow command per claim that is not backed.

    Args:
        report: the report.
        path: the file of the response, as seen from the root of the repository.
        lines: whether the text of the response is that of the file.
    """
    verdict = f"{report.verdict} ({score_line(report)}). {summary(report)}"
    where = {} if path is None else {"file": path}
    commands = [verdict if path is None else f"{path}: {verdict}"]
    for claim in report.claims:
        if claim.status is Status.SUPPORTED:
            continue
        place = dict(where)
        if path is not None and lines and claim.span is not None:
            found = region(report.response, claim.span)
            place |= {"line": str(found["startLine"]), "endLine": str(found["endLine"])}
            if found["startLine"] == found["endLine"]:  # columns are of one line only
                place |= {"col": str(found["startColumn"]), "endColumn": str(found["endColumn"])}
        place["title"] = f"{claim.status} claim"
        commands.append(_command(_LEVELS[claim.status], place, claim_line(report, claim)))
    if report.verdict is Verdict.UNCHECKABLE:
        commands.append(_command("error", {**where, "title": "not checked"}, verdict))
    elif report.verdict is Verdict.HALLUCINATED and len(commands) == 1:
        commands.append(_command("error", {**where, "title": "hallucinated"}, verdict))
    return "".join(f"{line}\n" for line in commands)


def _command(level: str, place: dict[str, str], message: str) -> str:
    fields = ",".join(f"{name}={_escaped(value, ':,')}" for name, value in place.items())
    return f"::{level} {fields}::{_escaped(message)}"


def _escaped(text: str, more: str = "") -> str:
    """Characters that would end a command or a field, as GitHub reads them."""
    for character in f"%\r\n{more}":
        text = text.replace(character, f"%{ord(character):02X}")
    return text
