"""The report as one HTML file that loads nothing and runs only its own script.

The file holds the report twice: as a static page, which is what a reader without JavaScript
and a printer get, and as data, from which the script builds the interactive view.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache
from html import escape
from importlib import resources
from typing import Any

from halldetect.render.passages import Passages, segments
from halldetect.render.phrases import (
    STATE_MEANING,
    STATE_SYMBOL,
    STATES,
    VERDICT_SYMBOL,
    counts_line,
    decisive,
    decisive_evidence,
    document_name,
    evidence_label,
    facts,
    number,
    numbered,
    one_line,
    scale_name,
    score_line,
    summary,
    visible,
)
from halldetect.report import ClaimReport, Evidence, Report

# In the order they are read; the web page serves the same files.
SCRIPTS = ("text_pane.js", "claim_card.js", "layout.js", "page.js", "report.js")
STYLE = "report.css"
_QUOTE_LIMIT = 600
_SURROGATE = re.compile("[\ud800-\udfff]")


def html(report: Report) -> str:
    """The whole report as one self-contained page."""
    passages = Passages(report)
    data = _data(_payload(report, passages))
    style, script = asset(STYLE), "".join(asset(name) for name in SCRIPTS)
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = f"{report.verdict.capitalize()}: HallDetect report"
    return (
        "<!doctype html>\n"
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{style}</style>\n</head>\n"
        '<body class="hd">\n<div id="live" hidden></div>\n'
        f'<main id="static" class="sheet">\n{_static(report, passages)}\n</main>\n'
        f'<script type="application/json" id="payload">{data}</script>\n'
        f"<script>{script}</script>\n</body>\n</html>\n"
    )


@cache
def asset(name: str) -> str:
    return (resources.files("halldetect.render") / "assets" / name).read_text(encoding="utf-8")


def payload(report: Report) -> dict[str, Any]:
    """What the page's script reads: the report, and under `view` what it takes to show it.

    Evidence carries no text: its span cuts it out of its document.
    """
    return _payload(report, Passages(report))


def _payload(report: Report, passages: Passages) -> dict[str, Any]:
    data = report.to_dict()
    for claim in data["claims"]:
        for found in (claim["entailing"], claim["contradicting"], *claim["by_scale"]):
            if found is not None:
                del found["text"]
    data["view"] = {
        "summary": summary(report),
        "score_line": score_line(report),
        "order": [place - 1 for place, _ in numbered(report)],
        "claims": [_claim_view(passages, claim) for claim in report.claims],
        "cost": facts(data["cost"]),
        "provenance": facts(data["provenance"]),
    }
    return data


def _claim_view(passages: Passages, claim: ClaimReport) -> dict[str, Any]:
    def focus(found: Evidence | None) -> list[int] | None:
        if found is None:
            return None
        span = passages.focus(claim, found)
        return [span.start, span.end]

    return {
        "decisive": decisive(claim),
        "label": evidence_label(claim),
        "meaning": STATE_MEANING[claim.status],
        "entailing": focus(claim.entailing),
        "contradicting": focus(claim.contradicting),
        "by_scale": [focus(found) for found in claim.by_scale],
    }


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _data(value: dict[str, Any]) -> str:
    # A lone surrogate has no UTF-8 form; its stand-in is one character too, so spans hold.
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    text = _SURROGATE.sub("\ufffd", text)
    for mark in "<>&\u2028\u2029":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _safe(text: str) -> str:
    return escape(visible(text))


def _static(report: Report, passages: Passages) -> str:
    parts = [
        '<header class="verdict-head">',
        '<p class="brand">HallDetect report</p>',
        f'<h1 class="verdict {report.verdict}"><span class="symbol" aria-hidden="true">'
        f"{VERDICT_SYMBOL[report.verdict]}</span> {report.verdict.capitalize()}</h1>",
        f'<p class="summary" dir="auto">{_safe(summary(report))}</p>',
        f'<p class="score">{_safe(score_line(report).capitalize())} '
        f"({_safe(report.scoring)} scoring; FED {number(report.fed_score)}, calibrated "
        f"{number(report.calibrated_score)}). Claims: {counts_line(report)}.</p>",
        _scale(report),
        "</header>",
    ]
    if report.question:
        parts.append(f'<h2>Question</h2><p class="prose" dir="auto">{_safe(report.question)}</p>')
    parts.append(f'<h2>Response</h2><div class="prose" dir="auto">{_response(report)}</div>')
    if report.claims:
        items = "\n".join(_claim(report, passages, *item) for item in numbered(report))
        parts.append(f'<h2>Claims and evidence</h2><ol class="static-claims">{items}</ol>')
    parts.append("<h2>Source</h2>")
    for index, text in enumerate(report.documents):
        name = document_name(report, index)
        parts.append(
            f"<details><summary>{name} ({len(text):,} characters)</summary>"
            f'<div class="prose" dir="auto">{_safe(text)}</div></details>'
        )
    parts += [f'<p class="note">Note: {_safe(note)}</p>' for note in report.provenance.notes]
    data = report.to_dict()
    parts.append(
        '<details class="facts"><summary>Cost and provenance</summary>'
        f"<h3>Cost</h3>{_facts(facts(data['cost']))}"
        f"<h3>Provenance</h3>{_facts(facts(data['provenance']))}</details>"
    )
    return "\n".join(parts)


def _scale(report: Report) -> str:
    """The score as a bar and the threshold as a post; attributes only, the policy bars styles."""
    if report.score is None:
        return ""
    inside = "inside" if report.score > report.threshold else ""
    post = report.threshold * 100 - 0.2
    return (
        '<svg class="scale" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="track" width="100" height="4"/>'
        f'<rect class="fill {report.verdict}" width="{report.score * 100:.2f}" height="4"/>'
        f'<rect class="post {inside}" x="{post:.2f}" width="0.4" height="4"/></svg>'
    )


def _response(report: Report) -> str:
    parts = []
    ends: dict[int, list[int]] = {}
    for index, claim in enumerate(report.claims):
        if claim.span is not None:
            ends.setdefault(claim.span.end, []).append(index)
    for piece in segments(len(report.response), [claim.span for claim in report.claims]):
        text = _safe(report.response[piece.start : piece.end])
        if piece.covers:
            states = {report.claims[index].status for index in piece.covers}
            state = next(state for state in STATES if state in states)
            text = f'<mark class="claim {state}">{text}</mark>'
        refs = "".join(
            f'<sup><a class="{report.claims[index].status}" href="#claim-{index + 1}">'
            f"{STATE_SYMBOL[report.claims[index].status]}{index + 1}</a></sup>"
            for index in ends.get(piece.end, ())
        )
        parts.append(text + refs)
    return "".join(parts)


def _claim(report: Report, passages: Passages, place: int, claim: ClaimReport) -> str:
    symbol = f'<span aria-hidden="true">{STATE_SYMBOL[claim.status]}</span>'
    parts = [
        f'<li id="claim-{place}" class="{claim.status}" value="{place}">'
        f'<h3>{place}. <span class="state">{symbol} '
        f'{claim.status.capitalize()}</span> <span dir="auto">{_safe(claim.text)}</span></h3>'
    ]
    remarks = [STATE_MEANING[claim.status].capitalize()]
    if claim.score is not None:
        remarks.append(f"support {claim.score:.2f}")
    if claim.fed_score is not None:
        remarks.append(f"FED score {claim.fed_score:.2f}")
    if claim.origin == "restored":
        remarks.append("restored: the extractor had left it out")
    if claim.origin == "named":
        remarks.append("a name stands for a pronoun of the response")
    remarks += [one_line(text) for text in (claim.reason, claim.span_reason) if text]
    parts.append(f'<p class="remarks" dir="auto">{_safe("; ".join(remarks))}.</p>')
    evidence = decisive_evidence(claim)
    quote = ""
    if evidence is not None:
        quote = passages.quote(claim, evidence, _QUOTE_LIMIT)
        parts.append(
            f"<p>{evidence_label(claim)} ({document_name(report, evidence.document)}):</p>"
            f'<blockquote dir="auto">{_safe(quote)}</blockquote>'
        )
    rows = [("Best support", claim.entailing), ("Strongest contradiction", claim.contradicting)]
    rows += [("At scale", found) for found in claim.by_scale]
    parts.append(_evidence_table(report, passages, claim, rows, quote))
    return "".join(parts) + "</li>"


def _evidence_table(
    report: Report,
    passages: Passages,
    claim: ClaimReport,
    rows: Iterable[tuple[str, Evidence | None]],
    quoted: str,
) -> str:
    """The figures of every evidence; a sentence only where it is not the one quoted above."""
    lines = []
    for label, found in rows:
        if found is None:
            continue
        quote = passages.quote(claim, found, _QUOTE_LIMIT)
        sentence = "" if quote == quoted else f'<q dir="auto">{_safe(quote)}</q>'
        chances = found.probabilities
        figures = (chances.entailment, chances.neutral, chances.contradiction)
        cells = "".join(f'<td class="figure">{number(value)}</td>' for value in figures)
        lines.append(
            f'<tr><th scope="row">{label}</th><td>{document_name(report, found.document)}, '
            f"characters {found.span.start}–{found.span.end}, {scale_name(found.scales)}"
            f"{sentence}</td>{cells}</tr>"
        )
    if not lines:
        return ""
    head = "".join(f'<th scope="col" class="figure">P({letter})</th>' for letter in "ENC")
    return (
        '<table><thead><tr><th scope="col">Evidence</th><th scope="col">Window</th>'
        f"{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _facts(rows: list[tuple[str, str]]) -> str:
    items = "".join(f"<dt>{_safe(name)}</dt><dd>{_safe(value)}</dd>" for name, value in rows)
    return f"<dl>{items}</dl>"
