"""The report as GitHub Markdown, for pull requests, tickets and chats."""

from __future__ import annotations

import re

from halldetect.report import Report
from halldetect.report.passages import ShownClaim, shown_claims
from halldetect.report.phrases import (
    STATE_SYMBOL,
    VERDICT_SYMBOL,
    detail_lines,
    facts,
    missing_lines,
    number,
    one_line,
    score_line,
    summary,
    unchecked_lines,
)

_QUOTE_LIMIT = 400
# Texts never begin a line here, so characters that act only there need no escape.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|&~#$]")
# GitHub turns bare addresses into links; an escaped colon or dot stops that.
_ADDRESS = re.compile(r":(?=//)|(?<=mailto):|(?<=xmpp):|(?<=www)\.", re.IGNORECASE)
# A mention or mail address cannot be escaped, only interrupted.
_MENTION = re.compile(r"@(?=\w)")


def escape(text: str) -> str:
    """Return a text as one line of Markdown that shows exactly this text."""
    text = _SPECIAL.sub(lambda match: "\\" + match[0], one_line(text))
    text = _ADDRESS.sub(lambda match: "\\" + match[0], text)
    return _MENTION.sub("@&#8203;", text)


def markdown(report: Report) -> str:
    """Return the report as GitHub Markdown."""
    parts = [
        f"# {VERDICT_SYMBOL[report.verdict]} {report.verdict.capitalize()}",
        f"**{escape(summary(report))}**",
        *(f"{escape(line)}." for line in (score_line(report).capitalize(), *detail_lines(report))),
    ]
    if report.question:
        parts.append(f"Question: “{escape(report.question)}”")
    if claims := shown_claims(report, _QUOTE_LIMIT):
        rows = ["| # | State | Claim | Support |", "| --: | :-- | :-- | --: |", *map(_row, claims)]
        parts += ["\n".join(rows), "## Passages"]
        parts += [part for item in claims for part in _claim(item)]
    parts += [escape(line) for line in (*unchecked_lines(report), *missing_lines(report))]
    parts += [f"Note: {escape(note)}" for note in report.provenance.notes]
    made = "\n".join(f"- {escape(name)}: {escape(value)}" for name, value in facts(report))
    parts.append(f"<details>\n<summary>How it was made</summary>\n\n{made}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _row(item: ShownClaim) -> str:
    claim = item.claim
    state = f"{STATE_SYMBOL[claim.status]} {claim.status}"
    return f"| {item.number} | {state} | {escape(claim.text)} | {number(claim.support)} |"


def _claim(item: ShownClaim) -> list[str]:
    state = f"{STATE_SYMBOL[item.claim.status]} {item.claim.status.capitalize()}"
    parts = [f"### {item.number}\\. {state}: “{escape(item.claim.text)}”"]
    if item.why:
        parts.append(f"Why: {escape(item.why)}")
    if item.span is not None:
        parts.append(f"{item.label}:\n\n> “{escape(item.quote)}”\n>\n> ({escape(item.place)})")
    if item.remarks:
        parts.append("\n".join(f"- {escape(line)}" for line in item.remarks))
    return parts
