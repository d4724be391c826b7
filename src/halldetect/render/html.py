"""The report as one HTML file that loads nothing and runs only its own script, and as PDF.

The file holds the report twice: as a static sheet, for paper, PDF and readers without JavaScript,
and as data, from which the script builds the interactive view.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any, NamedTuple

from halldetect.errors import MissingExtra
from halldetect.reading.document import Span
from halldetect.render.html_page import COMMON, PALETTE, asset, html_page, inline_json
from halldetect.render.passages import Passages, ShownClaim, shown_claims
from halldetect.render.phrases import (
    STATE_MEANING,
    STATE_SYMBOL,
    STATES,
    VERDICT_SYMBOL,
    citation_line,
    document_name,
    facts,
    head_lines,
    missing_lines,
    number,
    numbered,
    one_line,
    paper_line,
    score_line,
    summary,
    unchecked_lines,
)
from halldetect.render.text_layout import text_layout
from halldetect.report import Report, Status

# In the order of execution; the page of the service uses the same files.
SCRIPTS = ("text_pane.js", "report.js")
VIEW_STYLES = (PALETTE, COMMON, "report.css")
STYLES = (*VIEW_STYLES, "sheet.css")
# Documents with more characters in total are not printed.
_MAX_SOURCE = 20_000
_MAX_PASSAGE = 700
MAX_QUOTE = 320
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


class Mark(NamedTuple):
    """A place in a text that belongs to a claim."""

    span: Span
    number: int
    status: Status


class Piece(NamedTuple):
    """A part of a printed text, the worst state of its claims, and the claims that end here."""

    text: str
    status: Status | None
    ending: list[tuple[int, Status, str]]


def html(report: Report, record: CheckRecord | None = None) -> str:
    """Return the whole report as one self-contained page.

    Args:
        report: the report.
        record: when the check was made, and of which file; for the static sheet.
    """
    return _page(report, record or CheckRecord(), "".join(map(asset, STYLES)))


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
    page = _page(report, record or CheckRecord(), style)
    made: bytes = weasyprint.HTML(string=page, url_fetcher=_refuse).write_pdf()
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
    passages, data = passages or Passages(report), report.to_dict()
    for item in data["claims"]:
        for name in ("proof", "entailing", "contradicting", "by_scale"):
            item.pop(name, None)
    items = [passages.show(0, claim, _MAX_PASSAGE) for claim in report.claims]
    data["view"] = {
        "summary": summary(report),
        "score_line": score_line(report),
        "citation_line": citation_line(report),
        "paper": paper_line(report),
        "unchecked": [*unchecked_lines(report), *missing_lines(report)],
        "order": [place - 1 for place, _ in numbered(report)],
        "claims": [
            {
                "label": item.label,
                "meaning": STATE_MEANING[item.claim.status],
                "explanations": list(item.remarks),
                "passage": item.span and [item.document, item.span.start, item.span.end],
                "quote": item.quote,
            }
            for item in items
        ],
        "layout": {
            "response": text_layout(report.response),
            "documents": [text_layout(text) for text in report.documents],
        },
        "facts": facts(report),
    }
    return data


def claim_row(item: ShownClaim) -> dict[str, Any]:
    """Return a claim with its passage, as tables of claims print it."""
    claim, span = item.claim, item.span
    reasons = [one_line(text) for text in (claim.reason, claim.span_reason) if text]
    return {
        "number": item.number,
        "status": claim.status.value,
        "symbol": STATE_SYMBOL[claim.status],
        "kind": "" if claim.error is None else str(claim.error.kind),
        "text": claim.text,
        "support": number(claim.support),
        "remarks": [*reasons, *item.remarks],
        "label": item.label,
        "place": "" if span is None else f"{item.name}, characters {span.start}–{span.end}",
        "quote": item.quote,
    }


def _page(report: Report, record: CheckRecord, style: str) -> str:
    passages = Passages(report)
    items = shown_claims(report, MAX_QUOTE, passages)
    checked_at = ""
    if record.checked_at is not None:
        checked_at = f"{record.checked_at.astimezone(UTC):%d %B %Y, %H:%M} UTC".lstrip("0")
    marks = [Mark(c.span, at, c.status) for at, c in enumerate(report.claims, 1) if c.span]
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
        lines=head_lines(report),
        unchecked=unchecked_lines(report),
        checked_at=checked_at,
        texts=_identities(report, record),
        response=list(pieces(report.response, marks)),
        documents=_documents(report, items),
        claims=list(map(claim_row, items)),
        facts=facts(report),
    )


def _identities(report: Report, record: CheckRecord) -> Iterator[tuple[str, str, int, str]]:
    """Yield role, name, length and SHA-256 of the response and of each document."""
    named = [("Response", one_line(record.response_name or "Response"), report.response)]
    for place, text in enumerate(report.documents):
        role = "Source" if len(report.documents) == 1 else f"Source {place + 1}"
        named.append((role, document_name(report, place), text))
    for role, name, text in named:
        yield role, name, len(text), hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _documents(report: Report, items: Iterable[ShownClaim]) -> list[tuple[str, list[Piece]]]:
    """Return the name and pieces of each document; empty if they are too long to print."""
    if sum(map(len, report.documents)) > _MAX_SOURCE:
        return []
    marks: list[list[Mark]] = [[] for _ in report.documents]
    for item in sorted(items, key=lambda item: item.number):
        if item.span is not None:
            marks[item.document].append(Mark(item.span, item.number, item.claim.status))
    return [
        (document_name(report, place), list(pieces(text, marks[place])))
        for place, text in enumerate(report.documents)
    ]


def pieces(text: str, marks: Iterable[Mark]) -> Iterator[Piece]:
    """Cut a text wherever one of the marks, which may overlap, begins or ends."""
    starts: dict[int, list[Mark]] = {}
    ends: dict[int, list[Mark]] = {}
    for mark in marks:
        end = min(mark.span.end, len(text))
        if 0 <= mark.span.start < end:
            starts.setdefault(mark.span.start, []).append(mark)
            ends.setdefault(end, []).append(mark)
    open_marks: dict[int, Mark] = {}
    for start, end in pairwise(sorted({0, len(text), *starts, *ends})):
        for mark in ends.get(start, ()):
            del open_marks[mark.number]
        open_marks |= {mark.number: mark for mark in starts.get(start, ())}
        states = {mark.status for mark in open_marks.values()}
        ending = [(at, status, STATE_SYMBOL[status]) for _, at, status in ends.get(end, ())]
        worst = next((state for state in STATES if state in states), None)
        yield Piece(text[start:end], worst, ending)
