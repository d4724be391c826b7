"""The report as GitHub Markdown, for pull requests, tickets and chats."""

from __future__ import annotations

import re

from halldetect.render.passages import Passages
from halldetect.render.phrases import (
    STATE_MEANING,
    STATE_SYMBOL,
    VERDICT_SYMBOL,
    citation_line,
    counts_line,
    document_name,
    evidence_label,
    explanations,
    facts,
    number,
    numbered,
    one_line,
    paper_line,
    score_line,
    summary,
)
from halldetect.report import ClaimReport, Report

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
    passages = Passages(report)
    parts = [
        f"# {VERDICT_SYMBOL[report.verdict]} {report.verdict.capitalize()}",
        f"**{escape(summary(report))}**",
        f"{escape(score_line(report).capitalize())}. Claims: {counts_line(report)}.",
        *(f"{line}." for line in (citation_line(report), paper_line(report)) if line),
    ]
    if report.question:
        parts.append(f"Question: “{escape(report.question)}”")
    if report.claims:
        parts += [_table(report), "## Passages"]
        for place, claim in numbered(report):
            parts += _claim(report, passages, place, claim)
    parts += [f"Note: {escape(note)}" for note in report.provenance.notes]
    rows = "\n".join(f"- {escape(name)}: {escape(value)}" for name, value in facts(report))
    parts.append(f"<details>\n<summary>How it was made</summary>\n\n{rows}\n\n</details>")
    return "\n\n".join(parts) + "\n"


def _table(report: Report) -> str:
    rows = ["| # | State | Claim | Support |", "| --: | :-- | :-- | --: |"]
    rows += [
        f"| {place} | {STATE_SYMBOL[claim.status]} {claim.status} | "
        f"{escape(claim.text)} | {number(claim.support)} |"
        for place, claim in numbered(report)
    ]
    return "\n".join(rows)


def _claim(report: Report, passages: Passages, place: int, claim: ClaimReport) -> list[str]:
    parts = [
        f"### {place}\\. {STATE_SYMBOL[claim.status]} {claim.status.capitalize()}: "
        f"“{escape(claim.text)}”"
    ]
    span, evidence = passages.span(claim), claim.proof
    if evidence is None or claim.reason:
        parts.append(f"Why: {escape(claim.reason or STATE_MEANING[claim.status])}")
    if evidence is not None and span is not None:
        name = escape(document_name(report, evidence.document))
        quote = escape(passages.quote(claim, _QUOTE_LIMIT))
        where = f"({name}, characters {span.start}–{span.end})"
        parts.append(f"{evidence_label(claim)}:\n\n> “{quote}”\n>\n> {where}")
    if lines := explanations(claim):
        parts.append("\n".join(f"- {escape(line)}" for line in lines))
    return parts
