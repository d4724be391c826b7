"""The report as one HTML file that loads nothing and runs only its own script.

The file holds the report twice: as the audit sheet, for readers without JavaScript and for
printing, and as data, from which the script builds the interactive view.
"""

from __future__ import annotations

from typing import Any

from halldetect.render.audit import CheckRecord, audit_values
from halldetect.render.html_page import COMMON, PALETTE, asset, html_page, inline_json
from halldetect.render.passages import Passages
from halldetect.render.phrases import (
    STATE_MEANING,
    citation_line,
    decisive,
    evidence_label,
    explanations,
    flat_facts,
    numbered,
    score_line,
    summary,
)
from halldetect.render.text_layout import text_layout
from halldetect.report import ClaimReport, Evidence, Report

# In the order in which they run; the page of the service uses the same files.
SCRIPTS = ("text_pane.js", "report.js")
VIEW_STYLES = (PALETTE, COMMON, "report.css")
STYLES = (*VIEW_STYLES, "audit.css")


def html(report: Report, record: CheckRecord | None = None) -> str:
    """Return the whole report as one self-contained page.

    Args:
        report: the report.
        record: when the check was made, and of which file; for the printed page.
    """
    passages = Passages(report)
    return html_page(
        "halldetect.render",
        "report.html.jinja",
        title=f"{report.verdict.capitalize()}: HallDetect report",
        style="".join(asset(name) for name in STYLES),
        script="".join(asset(name) for name in SCRIPTS),
        payload=inline_json(payload(report, passages)),
        **audit_values(report, record, passages),
    )


def payload(report: Report, passages: Passages | None = None) -> dict[str, Any]:
    """Return what the page's script reads: the report, and under `view` what it takes to show it.

    Evidence carries no text: its span cuts it out of its document.

    Args:
        report: the report.
        passages: of its documents, where they have been read already.
    """
    passages = passages or Passages(report)
    data = report.to_dict()
    for claim in data["claims"]:
        for evidence in (claim["entailing"], claim["contradicting"], *claim["by_scale"]):
            if evidence is not None:
                del evidence["text"]
    data["view"] = {
        "summary": summary(report),
        "score_line": score_line(report),
        "citation_line": citation_line(report),
        "order": [place - 1 for place, _ in numbered(report)],
        "claims": [_claim_view(passages, claim) for claim in report.claims],
        "layout": {
            "response": _layout_view(report.response),
            "documents": [_layout_view(text) for text in report.documents],
        },
        "cost": flat_facts(data["cost"]),
        "provenance": flat_facts(data["provenance"]),
    }
    return data


def _layout_view(text: str) -> list[Any] | None:
    layout = text_layout(text)
    return None if layout is None else [block.to_list() for block in layout]


def _claim_view(passages: Passages, claim: ClaimReport) -> dict[str, Any]:
    def focus(evidence: Evidence | None) -> list[int] | None:
        if evidence is None:
            return None
        span = passages.focus(claim, evidence)
        return [span.start, span.end]

    return {
        "decisive": decisive(claim),
        "label": evidence_label(claim),
        "meaning": STATE_MEANING[claim.status],
        "explanations": explanations(claim),
        "entailing": focus(claim.entailing),
        "contradicting": focus(claim.contradicting),
        "by_scale": [focus(evidence) for evidence in claim.by_scale],
    }
