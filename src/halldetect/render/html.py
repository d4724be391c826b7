"""The report as one HTML file that loads nothing and runs only its own script, and as PDF.

The file holds the report twice: as a static sheet, for paper, PDF and readers without JavaScript,
and as data, from which the script builds the interactive view.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from halldetect.errors import MissingExtra
from halldetect.reading.document import Span
from halldetect.render.html_page import COMMON, PALETTE, asset, html_page, inline_json
from halldetect.render.passages import Passages, segments
from halldetect.render.phrases import (
    STATE_MEANING,
    STATE_SYMBOL,
    STATES,
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
from halldetect.render.text_layout import text_layout
from halldetect.report import ClaimReport, Report

# In the order of execution; the page of the service uses the same files.
SCRIPTS = ("text_pane.js", "report.js")
VIEW_STYLES = (PALETTE, COMMON, "report.css")
STYLES = (*VIEW_STYLES, "sheet.css")
# Documents with more characters in total are not printed.
_MAX_SOURCE = 20_000
_MAX_PASSAGE = 700
_MAX_QUOTE = 320
# Reports with more claims have shorter quotations.
_MANY_CLAIMS = 40
_SHORT_QUOTE = 140
_LIGHT_COLOUR = re.compile(r"light-dark\((#\w+), #\w+\)")


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """Facts about a check that the report does not hold.

    Attributes:
        checked_at: time of the check, with its time zone.
        response_name: name of the file with the response.
        decisions: `agree` or `disagree` of the reviewer, by number of the claim from 1.
        note: note of the reviewer.
        reviewer: name of the reviewer.
    """

    checked_at: datetime | None = None
    response_name: str | None = None
    decisions: Mapping[int, str] = field(default_factory=dict)
    note: str = ""
    reviewer: str | None = None


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a printed text.

    `status` is the worst state of its claims, or None; `ending` has the number, state and symbol
    of the claims that end here.
    """

    text: str
    status: str | None
    ending: tuple[tuple[int, str, str], ...]


def html(report: Report, record: CheckRecord | None = None) -> str:
    """Return the whole report as one self-contained page.

    Args:
        report: the report.
        record: when the check was made, and of which file; for the static sheet.
    """
    return _page(report, record, "".join(map(asset, STYLES)))


def pdf(report: Report, record: CheckRecord | None = None) -> bytes:
    """Return the static sheet of the page as a PDF file.

    Args:
        report: the report.
        record: when the check was made, and of which file.

    Raises:
        MissingExtra: if WeasyPrint or the Pango library that it needs is not installed.
    """
    weasyprint = load_weasyprint()
    # Paper is always light, and WeasyPrint does not implement light-dark().
    style = _LIGHT_COLOUR.sub(r"\1", "".join(map(asset, STYLES)))
    made: bytes = weasyprint.HTML(
        string=_page(report, record, style), url_fetcher=_refuse
    ).write_pdf()
    return made


def load_weasyprint() -> Any:
    """Return the module that makes PDF files.

    Raises:
        MissingExtra: if it, or the Pango library that it needs, is not installed.
    """
    try:
        import weasyprint
    except (ImportError, OSError) as error:
        raise MissingExtra("writing a PDF file", "pdf") from error
    return weasyprint


def _refuse(url: str, *_: Any, **__: Any) -> Any:
    """Refuse to fetch: the page needs no file, and no text may make it request one."""
    raise ValueError(f"a report loads nothing, not {url[:200]}")


def payload(report: Report, passages: Passages | None = None) -> dict[str, Any]:
    """Return the data that the script of the page reads: the report, and `view` to show it.

    The passage of a claim is a place in a document, under `view`; other evidence is left out.

    Args:
        report: the report.
        passages: the passages of its documents, if already read.
    """
    passages = passages or Passages(report)
    data = report.to_dict()
    for item in data["claims"]:
        for name in ("proof", "entailing", "contradicting", "by_scale"):
            item.pop(name, None)
    data["view"] = {
        "summary": summary(report),
        "score_line": score_line(report),
        "citation_line": citation_line(report),
        "paper": paper_line(report),
        "order": [place - 1 for place, _ in numbered(report)],
        "claims": [_claim_view(passages, claim) for claim in report.claims],
        "layout": {
            "response": text_layout(report.response),
            "documents": [text_layout(text) for text in report.documents],
        },
        "facts": facts(report),
    }
    return data


def _claim_view(passages: Passages, claim: ClaimReport) -> dict[str, Any]:
    span, evidence = passages.span(claim), claim.proof
    return {
        "label": evidence_label(claim),
        "meaning": STATE_MEANING[claim.status],
        "explanations": explanations(claim),
        "passage": span and evidence and [evidence.document, span.start, span.end],
        "quote": one_line(passages.quote(claim, _MAX_PASSAGE)),
    }


def claim_row(report: Report, passages: Passages, place: int, claim: ClaimReport) -> dict[str, Any]:
    """Return a claim with its passage, as tables of claims print it.

    Args:
        report: the report.
        passages: the passages of its documents.
        place: number of the claim, from 1.
        claim: the claim.
    """
    span, evidence = passages.span(claim), claim.proof
    where = ""
    if span is not None and evidence is not None:
        where = f"{document_name(report, evidence.document)}, characters {span.start}–{span.end}"
    reasons = [one_line(text) for text in (claim.reason, claim.span_reason) if text]
    limit = _SHORT_QUOTE if len(report.claims) > _MANY_CLAIMS else _MAX_QUOTE
    return {
        "number": place,
        "status": claim.status.value,
        "symbol": STATE_SYMBOL[claim.status],
        "kind": "" if claim.error is None else str(claim.error.kind),
        "text": claim.text,
        "support": number(claim.support),
        "remarks": reasons + explanations(claim),
        "label": STATE_MEANING[claim.status] if evidence is None else evidence_label(claim),
        "place": where,
        "quote": passages.quote(claim, limit),
    }


def _page(report: Report, record: CheckRecord | None, style: str) -> str:
    record = record or CheckRecord()
    passages = Passages(report)
    return html_page(
        "halldetect.render",
        "report.html.jinja",
        title=f"{report.verdict.capitalize()}: HallDetect report",
        style=style,
        script="".join(map(asset, SCRIPTS)),
        payload=inline_json(payload(report, passages)),
        report=report,
        record=record,
        symbol=VERDICT_SYMBOL[report.verdict],
        summary=summary(report),
        lines=[
            f"{score_line(report).capitalize()}. Claims: {counts_line(report)}",
            *filter(None, (citation_line(report), paper_line(report))),
        ],
        checked_at=_date(record.checked_at),
        texts=_identities(report, record),
        response=list(_pieces(report.response, _response_marks(report))),
        documents=_documents(report, passages),
        claims=[claim_row(report, passages, *item) for item in numbered(report)],
        facts=facts(report),
    )


def _identities(report: Report, record: CheckRecord) -> list[tuple[str, str, int, str]]:
    """Return role, name, length and SHA-256 of the response and of each document."""
    named = [("Response", record.response_name or "Response", report.response)]
    for place, text in enumerate(report.documents):
        role = "Source" if len(report.documents) == 1 else f"Source {place + 1}"
        named.append((role, document_name(report, place), text))
    return [
        (
            role,
            one_line(name),
            len(text),
            hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(),
        )
        for role, name, text in named
    ]


def _date(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return f"{moment.astimezone(UTC):%d %B %Y, %H:%M} UTC".lstrip("0")


Marks = Sequence[tuple[Span, int, ClaimReport]]


def _response_marks(report: Report) -> Marks:
    return [
        (claim.span, place, claim)
        for place, claim in enumerate(report.claims, start=1)
        if claim.span is not None
    ]


def _documents(report: Report, passages: Passages) -> list[tuple[str, list[Piece]]]:
    """Return the name and pieces of each document; empty if they are too long to print."""
    if sum(map(len, report.documents)) > _MAX_SOURCE:
        return []
    marks: list[list[tuple[Span, int, ClaimReport]]] = [[] for _ in report.documents]
    for place, claim in enumerate(report.claims, start=1):
        span = passages.span(claim)
        if span is not None and claim.proof is not None:
            marks[claim.proof.document].append((span, place, claim))
    return [
        (document_name(report, place), list(_pieces(text, marks[place])))
        for place, text in enumerate(report.documents)
    ]


def _pieces(text: str, marks: Marks) -> Iterator[Piece]:
    """Cut a text by its marks."""
    for part in segments(len(text), [span for span, _, _ in marks]):
        covering = [marks[at] for at in part.covers]
        states = {claim.status for _, _, claim in covering}
        ending = tuple(
            (place, claim.status.value, STATE_SYMBOL[claim.status])
            for span, place, claim in covering
            if min(span.end, len(text)) == part.end
        )
        status = next((str(state) for state in STATES if state in states), None)
        yield Piece(text[part.start : part.end], status, ending)
