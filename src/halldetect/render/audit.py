"""The audit sheet: the report on two to four pages of paper.

It is the static part of the HTML report, which is shown without JavaScript and when the page is
printed, and the whole of the PDF.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from halldetect.errors import MissingExtra
from halldetect.render.html_page import COMMON, PALETTE, asset, html_page
from halldetect.render.marked_text import ClaimMark, MarkedText, marked_text
from halldetect.render.passages import Passages
from halldetect.render.phrases import (
    STATE_MEANING,
    STATE_SYMBOL,
    VERDICT_SYMBOL,
    citation_line,
    counts_line,
    decisive_evidence,
    document_name,
    evidence_label,
    explanations,
    flat_facts,
    number,
    numbered,
    one_line,
    score_line,
    summary,
)
from halldetect.report import ClaimReport, Report

STYLES = (PALETTE, COMMON, "audit.css")
# Documents are shown whole while all of them together have no more characters.
_MAX_SOURCE = 6_000
_MAX_QUOTE = 320
# From this many claims on, quotations are shorter.
_MANY_CLAIMS = 40
_SHORT_QUOTE = 140
_LIGHT_COLOUR = re.compile(r"light-dark\((#\w+), #\w+\)")
ORIGIN_REMARKS = {
    "restored": "the extractor had left out some or all of it",
}


@dataclass(frozen=True, slots=True)
class CheckRecord:
    """What an audit wants to know and a report does not hold.

    checked_at     when the check was made, with its time zone
    response_name  name of the file with the response
    decisions      what a reviewer said of claims, by number from 1: `agree` or `disagree`
    note           what the reviewer noted
    reviewer       name of the reviewer
    """

    checked_at: datetime | None = None
    response_name: str | None = None
    decisions: Mapping[int, str] = field(default_factory=dict)
    note: str = ""
    reviewer: str | None = None


@dataclass(frozen=True, slots=True)
class AuditText:
    """A text of the report: its name, its size, its SHA-256 over UTF-8, and its blocks."""

    name: str
    characters: int
    sha256: str
    blocks: MarkedText

    @property
    def whole(self) -> bool:
        """Whether nothing of the text is left out."""
        return not any(block.omitted for block in self.blocks)


@dataclass(frozen=True, slots=True)
class AuditClaim:
    """A claim in the table of claims; `kind` is empty where no kind of error is known."""

    number: int
    status: str
    symbol: str
    kind: str
    text: str
    support: str
    remarks: list[str]
    label: str
    place: str
    quote: str


def audit_values(
    report: Report, record: CheckRecord | None = None, passages: Passages | None = None
) -> dict[str, Any]:
    """Return what the template of the audit sheet prints.

    Args:
        report: the report.
        record: when the check was made, and of which file.
        passages: of its documents, where they have been read already.
    """
    record = record or CheckRecord()
    passages = passages or Passages(report)
    limit = None if sum(map(len, report.documents)) <= _MAX_SOURCE else 0
    data = report.to_dict()
    return {
        "report": report,
        "verdict_symbol": VERDICT_SYMBOL[report.verdict],
        "summary": summary(report),
        "score_line": score_line(report),
        "fed_score": number(report.fed_score),
        "calibrated_score": number(report.calibrated_score),
        "counts_line": counts_line(report),
        "citation_line": citation_line(report),
        "checked_at": _date(record.checked_at),
        "decisions": record.decisions,
        "review_note": record.note,
        "reviewer": record.reviewer,
        "response": AuditText(
            one_line(record.response_name or "Response"),
            len(report.response),
            _sha256(report.response),
            marked_text(report.response, _response_marks(report)),
        ),
        "documents": [
            AuditText(
                document_name(report, place),
                len(text),
                _sha256(text),
                marked_text(text, _source_marks(report, passages, place), limit),
            )
            for place, text in enumerate(report.documents)
        ],
        "claims": [audit_claim(report, passages, *item) for item in numbered(report)],
        "models": _models(data["provenance"]),
        "facts": flat_facts(
            {"cost": data["cost"], "settings": data["provenance"]["configuration"]}
        ),
    }


def pdf(report: Report, record: CheckRecord | None = None) -> bytes:
    """Return the audit sheet as a PDF file.

    Args:
        report: the report.
        record: when the check was made, and of which file.

    Raises:
        MissingExtra: if WeasyPrint or the Pango library that it needs is not installed.
    """
    weasyprint = load_weasyprint()
    # A printed page is always light, and WeasyPrint knows no light-dark().
    style = _LIGHT_COLOUR.sub(r"\1", "".join(map(asset, STYLES)))
    page = html_page(
        "halldetect.render",
        "audit_page.html.jinja",
        title=f"{report.verdict.capitalize()}: HallDetect audit report",
        style=style,
        **audit_values(report, record),
    )
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
    """Fetch nothing: the page needs no file, and a text must not make it ask for one."""
    raise ValueError(f"the audit sheet loads nothing, not {url[:200]}")


def _date(moment: datetime | None) -> str:
    if moment is None:
        return ""
    return f"{moment.astimezone(UTC):%d %B %Y, %H:%M} UTC".lstrip("0")


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


def _response_marks(report: Report) -> list[ClaimMark]:
    return [
        ClaimMark(claim.span, place, claim.status)
        for place, claim in enumerate(report.claims, start=1)
        if claim.span is not None
    ]


def _source_marks(report: Report, passages: Passages, document: int) -> list[ClaimMark]:
    marks = []
    for place, claim in enumerate(report.claims, start=1):
        evidence = decisive_evidence(claim)
        if evidence is not None and evidence.document == document:
            marks.append(ClaimMark(passages.focus(claim, evidence), place, claim.status))
    return marks


def audit_claim(report: Report, passages: Passages, place: int, claim: ClaimReport) -> AuditClaim:
    """Return a claim with the passage that decides it, as tables of claims print it.

    Args:
        report: the report.
        passages: of its documents.
        place: number of the claim, from 1.
        claim: the claim.
    """
    remarks = [ORIGIN_REMARKS[claim.origin]] if claim.origin in ORIGIN_REMARKS else []
    remarks += [one_line(text) for text in (claim.reason, claim.span_reason) if text]
    remarks += explanations(claim)
    evidence = decisive_evidence(claim)
    limit = _SHORT_QUOTE if len(report.claims) > _MANY_CLAIMS else _MAX_QUOTE
    where = ""
    if evidence is not None:
        span = passages.focus(claim, evidence)
        name = document_name(report, evidence.document)
        where = f"{name}, characters {span.start}–{span.end}"
    return AuditClaim(
        number=place,
        status=claim.status.value,
        symbol=STATE_SYMBOL[claim.status],
        kind="" if claim.error is None else str(claim.error.kind),
        text=claim.text,
        support=number(claim.support),
        remarks=remarks,
        label=STATE_MEANING[claim.status] if evidence is None else evidence_label(claim),
        place=where,
        quote="" if evidence is None else passages.quote(claim, evidence, limit),
    )


def _models(provenance: dict[str, Any]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Per model its role, its name and its digests."""
    rows = []
    for role in ("verifier", "extractor"):
        facts = provenance[role]
        if not facts:
            continue
        named = [str(facts[key]) for key in ("name", "model", "kind", "runtime") if facts.get(key)]
        digests = [
            (name, value)
            for name, value in flat_facts(facts)
            if "digest" in name and value != "none"
        ]
        rows.append((role.capitalize(), one_line(", ".join(named)), digests))
    return rows
