"""Reports, repairs and comparisons as files and as trees for the page; slow, so run in threads.

A tree is HTML as JSON: a text, or a list of tag, attributes and children. The page builds elements
from it, so that no string of a report ever becomes markup in the browser.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

from halldetect.errors import MissingExtra
from halldetect.render import html, markdown, pdf, view
from halldetect.render.comparison_views import comparison_view
from halldetect.render.html import CheckRecord
from halldetect.render.html_page import html_fragment
from halldetect.render.repair_views import repair_view
from halldetect.repair.outcome import Repair
from halldetect.report import Report
from halldetect.report.comparison import compare
from halldetect_serve.error_responses import service_error
from halldetect_serve.report_store import StoredReport
from halldetect_serve.schemas import Form, ReviewAnswer

# The layout of a longer report takes as long as many checks.
_MAX_PDF_CLAIMS = 500
_MAX_PDF_RESPONSE = 100_000


class _TreeBuilder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[list[Any]] = [[]]

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        node = [tag, {name: value or "" for name, value in attributes}]
        self.open[-1].append(node)
        self.open.append(node)

    def handle_endtag(self, tag: str) -> None:
        self.open.pop()

    def handle_data(self, text: str) -> None:
        self.open[-1].append(text)


def tree(markup: str) -> list[Any]:
    """Return the elements of HTML that this package made: without void or unclosed elements."""
    builder = _TreeBuilder()
    builder.feed(markup.strip())
    builder.close()
    return builder.open[0]


def report_forms(text: str, wanted: list[Form]) -> dict[str, Any]:
    """Return the wanted forms of a report, given as JSON; the others are None."""
    renderers: dict[str, Any] = {"view": report_tree, "markdown": markdown, "html": html}
    report = Report.from_json(text) if wanted else None
    return {name: draw(report) if name in wanted else None for name, draw in renderers.items()}


def report_tree(report: Report) -> list[Any]:
    """Return the view of a report as a tree."""
    return tree(view(report))


def repair_tree(text: str) -> list[Any]:
    """Return the view of a repair, given as JSON, as a tree."""
    view = repair_view(Repair.from_dict(json.loads(text)))
    return tree(html_fragment("repair_view.html.jinja", **view))


def compared(texts: list[str]) -> dict[str, Any]:
    """Return the comparison of two reports, given as JSON, and its view as a tree."""
    comparison = compare(*map(Report.from_json, texts))
    view = html_fragment("comparison_view.html.jinja", **comparison_view(comparison))
    return {**comparison.to_dict(), "view": tree(view)}


def report_file(stored: StoredReport, form: str) -> bytes:
    """Return a stored report as `html`, `md` or `pdf`."""
    report, review = Report.from_json(stored.json), stored.review or ReviewAnswer()
    checked_at = datetime.fromtimestamp(stored.created, UTC)
    record = CheckRecord(checked_at, None, review.by_claim, review.note, review.reviewer)
    if form == "html":
        return html(report, record).encode("utf-8", "replace")
    if form == "md":
        return markdown(report).encode("utf-8", "replace")
    if len(report.claims) > _MAX_PDF_CLAIMS or len(report.response) > _MAX_PDF_RESPONSE:
        raise service_error("too_large", "the report is too long for a PDF: use its HTML form")
    try:
        return pdf(report, record)
    except MissingExtra as error:
        raise service_error("pdf_unavailable", str(error)) from None
