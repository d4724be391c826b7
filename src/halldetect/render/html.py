"""The report as one HTML file that loads nothing and runs only its own script.

The file holds the report twice: as a static page, for readers without JavaScript and for printing,
and as data, from which the script builds the interactive view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from halldetect.render.html_page import PALETTE, asset, html_page, inline_json
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
    flat_facts,
    number,
    numbered,
    one_line,
    scale_name,
    score_line,
    summary,
)
from halldetect.render.text_layout import text_layout
from halldetect.report import ClaimReport, Evidence, Report

# In the order in which they run; the page of the service uses the same files.
SCRIPTS = ("text_pane.js", "claim_card.js", "layout.js", "page.js", "report.js")
STYLES = (PALETTE, "report.css")
_MAX_QUOTE = 600
_ORIGIN_REMARKS = {
    "restored": "restored: the extractor had left it out",
    "named": "a name stands for a pronoun of the response",
}


def html(report: Report) -> str:
    """Return the whole report as one self-contained page.

    Args:
        report: the report.
    """
    passages = Passages(report)
    data = _payload(report, passages)
    names = [document_name(report, index) for index in range(len(report.documents))]
    return html_page(
        "halldetect.render",
        "report.html.jinja",
        title=f"{report.verdict.capitalize()}: HallDetect report",
        style="".join(asset(name) for name in STYLES),
        script="".join(asset(name) for name in SCRIPTS),
        payload=inline_json(data),
        report=report,
        verdict_symbol=VERDICT_SYMBOL[report.verdict],
        summary=summary(report),
        score_line=score_line(report),
        fed_score=number(report.fed_score),
        calibrated_score=number(report.calibrated_score),
        counts_line=counts_line(report),
        response=list(_response_pieces(report)),
        claims=[_claim_item(report, passages, *item) for item in numbered(report)],
        documents=list(zip(names, report.documents, strict=True)),
        cost=data["view"]["cost"],
        provenance=data["view"]["provenance"],
    )


def payload(report: Report) -> dict[str, Any]:
    """Return what the page's script reads: the report, and under `view` what it takes to show it.

    Evidence carries no text: its span cuts it out of its document.

    Args:
        report: the report.
    """
    return _payload(report, Passages(report))


def _payload(report: Report, passages: Passages) -> dict[str, Any]:
    data = report.to_dict()
    for claim in data["claims"]:
        for evidence in (claim["entailing"], claim["contradicting"], *claim["by_scale"]):
            if evidence is not None:
                del evidence["text"]
    data["view"] = {
        "summary": summary(report),
        "score_line": score_line(report),
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
        "entailing": focus(claim.entailing),
        "contradicting": focus(claim.contradicting),
        "by_scale": [focus(evidence) for evidence in claim.by_scale],
    }


@dataclass(frozen=True, slots=True)
class _ClaimLink:
    """A reference from the response to a claim."""

    number: int
    status: str
    symbol: str


@dataclass(frozen=True, slots=True)
class _ResponsePiece:
    """A part of the response, the state it is marked with, and the claims that end with it."""

    text: str
    status: str | None
    claims: list[_ClaimLink]


@dataclass(frozen=True, slots=True)
class _EvidenceRow:
    """The figures of one evidence; `quote` is empty where it is quoted already."""

    label: str
    place: str
    quote: str
    probabilities: list[str]


@dataclass(frozen=True, slots=True)
class _ClaimItem:
    """A claim in the static page; without evidence, `label` is empty."""

    number: int
    status: str
    symbol: str
    text: str
    remarks: list[str]
    label: str
    document: str
    quote: str
    rows: list[_EvidenceRow]


def _response_pieces(report: Report) -> Iterator[_ResponsePiece]:
    links_at: dict[int, list[_ClaimLink]] = {}
    for place, claim in enumerate(report.claims, start=1):
        if claim.span is not None:
            link = _ClaimLink(place, claim.status.value, STATE_SYMBOL[claim.status])
            links_at.setdefault(claim.span.end, []).append(link)
    for piece in segments(len(report.response), [claim.span for claim in report.claims]):
        states = {report.claims[index].status for index in piece.covers}
        status = next((state.value for state in STATES if state in states), None)
        text = report.response[piece.start : piece.end]
        yield _ResponsePiece(text, status, links_at.get(piece.end, []))


def _claim_item(report: Report, passages: Passages, place: int, claim: ClaimReport) -> _ClaimItem:
    remarks = [STATE_MEANING[claim.status].capitalize()]
    if claim.support is not None:
        remarks.append(f"support {claim.support:.2f}")
    if claim.fed_score is not None:
        remarks.append(f"FED score {claim.fed_score:.2f}")
    if claim.origin in _ORIGIN_REMARKS:
        remarks.append(_ORIGIN_REMARKS[claim.origin])
    remarks += [one_line(text) for text in (claim.reason, claim.span_reason) if text]
    evidence = decisive_evidence(claim)
    quote = "" if evidence is None else passages.quote(claim, evidence, _MAX_QUOTE)
    return _ClaimItem(
        number=place,
        status=claim.status.value,
        symbol=STATE_SYMBOL[claim.status],
        text=claim.text,
        remarks=remarks,
        label="" if evidence is None else evidence_label(claim),
        document="" if evidence is None else document_name(report, evidence.document),
        quote=quote,
        rows=list(_evidence_rows(report, passages, claim, quote)),
    )


def _evidence_rows(
    report: Report, passages: Passages, claim: ClaimReport, quoted: str
) -> Iterator[_EvidenceRow]:
    """Yield a row per evidence, with its sentence unless it is the one quoted already."""
    labelled = [("Best support", claim.entailing), ("Strongest contradiction", claim.contradicting)]
    labelled += [("At scale", evidence) for evidence in claim.by_scale]
    for label, evidence in labelled:
        if evidence is None:
            continue
        quote = passages.quote(claim, evidence, _MAX_QUOTE)
        chances = evidence.probabilities
        values = (chances.entailment, chances.neutral, chances.contradiction)
        place = (
            f"{document_name(report, evidence.document)}, characters "
            f"{evidence.span.start}–{evidence.span.end}, {scale_name(evidence.scales)}"
        )
        shown = "" if quote == quoted else quote
        yield _EvidenceRow(label, place, shown, [number(value) for value in values])
