"""The report as one HTML file that loads nothing and runs only its own script, and as PDF.

The file holds the report twice: as a static sheet, for paper, PDF and readers without JavaScript,
and as the view that the script works on.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain
from typing import Any

from halldetect.errors import import_extra
from halldetect.reading.document import Span
from halldetect.render.html_page import COMMON, PALETTE, asset, html_fragment, html_page
from halldetect.render.text_pieces import ClaimMark, WordMark, parts
from halldetect.report import MessageReport, Report
from halldetect.report.passages import ShownClaim, shown_claims
from halldetect.report.phrases import VERDICT_SYMBOL, document_name, one_line, wrong_line

# The page of the service uses the same files.
SCRIPT = "report.js"
VIEW_STYLES = (PALETTE, COMMON, "report.css")
STYLES = (*VIEW_STYLES, "sheet.css")
# Documents with more characters in total are not printed.
_MAX_SOURCE = 20_000
MAX_QUOTE = 400
# More claims are hidden at first: a browser takes long to lay out thousands (`report.js`).
_SHOWN_CARDS = 200
_LIGHT_COLOUR = re.compile(r"light-dark\((#\w+), #\w+\)")
# For `import_extra`. Without the Pango library of the system, an OSError is raised.
WEASYPRINT = ("weasyprint", "writing a PDF file", "pdf", (ImportError, OSError))


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """Facts about a check that the report does not hold.

    `decisions` has `agree` or `disagree` of the reviewer, by number of the claim from 1.
    """

    checked_at: datetime | None = None
    response_name: str | None = None  # of its file
    decisions: Mapping[int, str] = field(default_factory=dict)
    note: str = ""
    reviewer: str | None = None


def html(report: Report, record: CheckRecord | None = None) -> str:
    """Return the whole report as one self-contained page; `record` is for its static sheet."""
    shown = _shown(report)
    live = html_fragment("report_view.html.jinja", **shown)
    return _page(shown, record, "".join(map(asset, STYLES)), live)


def pdf(report: Report, record: CheckRecord | None = None) -> bytes:
    """Return the static sheet of the page as a PDF file; needs WeasyPrint."""
    weasyprint = import_extra(*WEASYPRINT)
    # Paper is always light, and WeasyPrint does not implement light-dark().
    style = _LIGHT_COLOUR.sub(r"\1", "".join(map(asset, STYLES)))
    page = _page(_shown(report), record, style)
    made: bytes = weasyprint.HTML(string=page, url_fetcher=_refuse).write_pdf()
    return made


def view(report: Report) -> str:
    """Return the view of a report that `report.js` works on, as a part of a page."""
    return html_fragment("report_view.html.jinja", **_shown(report))


def _refuse(url: str, *_: Any, **__: Any) -> Any:
    """Refuse to fetch: the page needs no file, and no text may make it request one."""
    raise ValueError(f"a report loads nothing, not {url[:200]}")


def _shown(report: Report) -> dict[str, Any]:
    """Return the values that the view and the sheet print."""
    claims = shown_claims(report, MAX_QUOTE)
    marks: list[list[ClaimMark]] = [[] for _ in report.documents]
    for item in claims:
        if item.span is not None:
            marks[item.document].append(ClaimMark(item.span, item.number, item.claim.status))
    numbered, words = enumerate(report.claims, 1), (claim.wrong for claim in report.claims)
    in_response = (
        [ClaimMark(claim.span, at, claim.status) for at, claim in numbered if claim.span],
        [(item.span, wrong_line(item, named=False)) for item in chain(*words) if item.span],
    )
    return {
        "report": report,
        "counts": Counter(claim.status for claim in report.claims),
        "claims": claims,
        "messages": [_message(report, claims, *in_response, said) for said in report.messages],
        "most_cards": _SHOWN_CARDS,
        "response": list(parts(report.response, *in_response)),
        "documents": [
            (document_name(report, place), len(text), list(parts(text, marks[place])))
            for place, text in enumerate(report.documents)
        ],
    }


def _message(
    report: Report,
    items: Sequence[ShownClaim],
    marks: Sequence[ClaimMark],
    wrong: Sequence[WordMark],
    message: MessageReport,
) -> dict[str, Any]:
    """Return a message of a conversation with its claims, as the view prints it."""
    if message.document is not None:
        name = document_name(report, message.document)
        shown = list(parts(report.documents[message.document], []))
        return {"role": name.split()[0], "name": name, "text": shown}
    texts, claims = [], []
    for kind, place in (("words", message.span), ("call", message.calls)):
        if place:
            place = Span(place.end - len(place.cut(report.response).lstrip()), place.end)
            texts.append((kind, list(parts(report.response, marks, wrong, place))))
            numbers = {mark.number for mark in marks if mark.span.overlaps(place)}
            claims += [item for item in items if item.number in numbers]
    symbol = VERDICT_SYMBOL[message.verdict] if message.verdict else ""
    fields = {"verdict": message.verdict, "symbol": symbol, "reason": message.reason}
    return {"role": "assistant", "texts": texts, "claims": claims, **fields}


def _page(shown: dict[str, Any], record: CheckRecord | None, style: str, live: str = "") -> str:
    record, report = record or CheckRecord(), shown["report"]
    checked_at = ""
    if record.checked_at is not None:
        checked_at = f"{record.checked_at.astimezone(UTC):%d %B %Y, %H:%M} UTC".lstrip("0")
    return html_page(
        "report.html.jinja",
        title=f"{report.verdict.capitalize()}: HallDetect report",
        style=style,
        script=asset(SCRIPT) if live else "",
        live=live,
        record=record,
        checked_at=checked_at,
        texts=_identities(report, record),
        prints_source=sum(map(len, report.documents)) <= _MAX_SOURCE,
        **shown,
    )


def _identities(report: Report, record: CheckRecord) -> Iterator[tuple[str, str, int, str]]:
    """Yield role, name, length and SHA-256 of the response and of each document."""
    named = [("Response", one_line(record.response_name or "Response"), report.response)]
    for place, text in enumerate(report.documents):
        role = "Source" if len(report.documents) == 1 else f"Source {place + 1}"
        named.append((role, document_name(report, place), text))
    for role, name, text in named:
        yield role, name, len(text), hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
