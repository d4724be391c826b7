"""The report as GitHub Markdown, for pull requests, tickets and chats."""

from __future__ import annotations

import json
import re

from halldetect.render.passages import Passages
from halldetect.render.phrases import (
    STATE_MEANING,
    STATE_SYMBOL,
    VERDICT_SYMBOL,
    citation_line,
    counts_line,
    decisive,
    decisive_evidence,
    document_name,
    evidence_label,
    explanations,
    number,
    numbered,
    one_line,
    probabilities_line,
    scale_name,
    score_line,
    summary,
)
from halldetect.report import ClaimReport, Evidence, Report

_QUOTE_LIMIT = 400
# An evidence that does not decide the claim is shown from this probability on.
_MIN_SHOWN = 0.2
# A text never begins a line here, so what acts only there (lists, rules) needs no escape.
_SPECIAL = re.compile(r"[\\`*_\[\]<>|&~#$]")
# GitHub turns bare addresses into links; an escaped colon or dot stops that.
_ADDRESS = re.compile(r":(?=//)|(?<=mailto):|(?<=xmpp):|(?<=www)\.", re.IGNORECASE)
# A mention or mail address cannot be escaped, only interrupted.
_MENTION = re.compile(r"@(?=\w)")


def escape(text: str) -> str:
    """Return a text as one line of Markdown that shows the text and has no other effect.

    Args:
        text: any text.
    """
    text = _SPECIAL.sub(lambda match: "\\" + match[0], one_line(text))
    text = _ADDRESS.sub(lambda match: "\\" + match[0], text)
    return _MENTION.sub("@&#8203;", text)


def markdown(report: Report) -> str:
    """Return the report as GitHub Markdown.

    Args:
        report: the report.
    """
    passages = Passages(report)
    parts = [
        f"# {VERDICT_SYMBOL[report.verdict]} {report.verdict.capitalize()}",
        f"**{escape(summary(report))}**",
        f"{score_line(report).capitalize()} ({escape(report.scoring)} scoring; "
        f"FED {number(report.fed_score)}, calibrated {number(report.calibrated_score)}). "
        f"Claims: {counts_line(report)}.",
    ]
    if line := citation_line(report):
        parts.append(f"{line}.")
    if report.question:
        parts.append(f"Question: “{escape(report.question)}”")
    if report.claims:
        parts += [_table(report), "## Evidence"]
        for place, claim in numbered(report):
            parts += _claim(report, passages, place, claim)
    parts += [f"Note: {escape(note)}" for note in report.provenance.notes]
    parts.append(_facts(report))
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
    evidence = decisive_evidence(claim)
    if evidence is None or claim.reason:
        parts.append(f"Why: {escape(claim.reason or STATE_MEANING[claim.status])}")
    if evidence is not None:
        parts.append(_evidence(report, passages, claim, evidence, evidence_label(claim)))
        if decisive(claim) == "contradicting":
            label, other = "Best support", claim.entailing
            chance = other.probabilities.entailment if other else 0.0
        else:
            label, other = "Strongest contradiction", claim.contradicting
            chance = other.probabilities.contradiction or 0.0 if other else 0.0
        if other is not None and chance >= _MIN_SHOWN:
            quote = escape(passages.quote(claim, other, _QUOTE_LIMIT // 2))
            parts.append(f"{label}: “{quote}” ({_place(report, other)})")
    if lines := explanations(claim):
        parts.append("\n".join(f"- {escape(line)}" for line in lines))
    return parts


def _evidence(
    report: Report, passages: Passages, claim: ClaimReport, evidence: Evidence, label: str
) -> str:
    quote = escape(passages.quote(claim, evidence, _QUOTE_LIMIT))
    return f"{label}:\n\n> “{quote}”\n>\n> {_place(report, evidence)}"


def _place(report: Report, evidence: Evidence) -> str:
    name = document_name(report, evidence.document)
    return (
        f"{name}, characters {evidence.span.start}–{evidence.span.end}, "
        f"{scale_name(evidence.scales)}: {probabilities_line(evidence.probabilities)}"
    )


def _facts(report: Report) -> str:
    data = report.to_dict()
    text = json.dumps(
        {"cost": data["cost"], "provenance": data["provenance"]}, indent=2, ensure_ascii=True
    )
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return (
        "<details>\n<summary>Cost and provenance</summary>\n\n"
        f"{fence}json\n{text}\n{fence}\n\n</details>"
    )
