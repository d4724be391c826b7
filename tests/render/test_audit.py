"""The audit sheet: what an auditor must find on it, and on how many pages."""

from __future__ import annotations

import hashlib
import re
import sys
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect import render
from halldetect.errors import MissingExtra
from halldetect.reading.document import Span
from halldetect.render.audit import audit_values, load_weasyprint
from halldetect.render.marked_text import ClaimMark, marked_text
from halldetect.report import Status
from tests.support import report_samples as samples

RECORD = render.CheckRecord(datetime(2026, 3, 4, 5, 6, tzinfo=UTC), "answer.md")


def text_of(block):
    return "".join(piece.text for piece in block.pieces)


def require_weasyprint():
    try:
        load_weasyprint()
    except MissingExtra:
        pytest.skip("the extra pdf is not installed")


def pdf_pages(data):
    """The text of each page of a PDF."""
    pdfium = pytest.importorskip("pypdfium2", reason="pypdfium2 is not installed")
    document = pdfium.PdfDocument(data)
    return [" ".join(page.get_textpage().get_text_range().split()) for page in document]


def test_the_sheet_identifies_texts_weights_and_date():
    report = replace(samples.town(), document_names=("minutes.txt", "figures.txt", "notice.txt"))
    text = render.html(report, RECORD)
    for document in (*report.documents, report.response):
        assert hashlib.sha256(document.encode()).hexdigest() in text
    for part in ("4 March 2026, 05:06 UTC", "answer.md", "minutes.txt", "notice.txt"):
        assert part in text
    for facts in (report.provenance.verifier, report.provenance.extractor):
        assert facts["digest"] in text
    assert "Reviewer's judgement" in text.replace("&#39;", "'")


def test_the_sheet_shows_what_a_reviewer_has_decided():
    said = replace(
        RECORD, decisions={3: "agree", 4: "disagree"}, note="Ask <b>Ms Okafor</b>.", reviewer="ann"
    )
    text = render.html(samples.town(), said)
    rows = dict(re.findall(r'<tr id="claim-(\d)".*?class="boxes">(.*?)</td>', text, re.DOTALL))
    ticked = {number: row.split("✓")[1] for number, row in rows.items() if "✓" in row}
    assert set(ticked) == {"3", "4"}
    assert ticked["3"].startswith("</span> agree")
    assert ticked["4"].startswith("</span> disagree")
    assert "Ask &lt;b&gt;Ms Okafor&lt;/b&gt;." in text
    assert "Name: ann" in text


def test_every_claim_has_its_state_and_passage_and_place():
    report = samples.town()
    rows = {row.number: row for row in audit_values(report)["claims"]}
    assert sorted(rows) == list(range(1, 8))
    for number, claim in enumerate(report.claims, start=1):
        row = rows[number]
        assert (row.status, row.text) == (claim.status.value, claim.text)
        if claim.evidence is None:
            assert (row.quote, row.remarks) == ("", [claim.reason])
            continue
        start, end = map(int, re.search(r"characters (\d+)–(\d+)", row.place).groups())
        cut = report.documents[claim.evidence.document][start:end]
        assert " ".join(cut.split()) == row.quote


def test_marks_of_markdown_carry_their_claims():
    blocks = audit_values(samples.formatted())["documents"][0].blocks
    (table,) = [block for block in blocks if block.kind == "table"]
    marked = [piece for row in table.rows for cell in row for piece in cell if piece.status]
    assert [piece.text for piece in marked] == ["Single", "28 crowns", "valid for one hour"]
    assert [[claim.number for claim in piece.ending] for piece in marked] == [[], [], [1]]
    assert not any("**" in text_of(block) for block in blocks)


def test_a_long_source_is_shown_around_its_marks():
    report = samples.large(60_000, claims=5)
    (text,) = audit_values(report)["documents"]
    shown = sum(len(text_of(block)) for block in text.blocks)
    omitted = sum(block.omitted for block in text.blocks)
    assert shown < 4000
    assert not text.whole
    assert 0 <= len(report.documents[0]) - shown - omitted < 200  # white space between paragraphs
    assert sum(len(p.ending) for block in text.blocks for p in block.pieces) == 5


@given(
    st.text("ab *`|#>-\n\u00e9", max_size=120),
    st.lists(st.tuples(st.integers(0, 110), st.integers(1, 30)), max_size=5),
    st.sampled_from([None, 0, 50]),
)
def test_every_mark_ends_once_and_no_marked_word_is_lost(text, places, limit):
    marks = [
        ClaimMark(Span(start, min(start + size, len(text))), number, Status.SUPPORTED)
        for number, (start, size) in enumerate(places, start=1)
        if start < len(text)
    ]
    blocks = marked_text(text, marks, limit)
    pieces = [
        piece
        for block in blocks
        for part in (block.pieces, *(cell for row in block.rows for cell in row))
        for piece in part
    ]
    ended = [mark.number for piece in pieces for mark in piece.ending]
    assert len(ended) == len(set(ended))
    for mark in marks:
        words = [character for character in mark.span.cut(text) if character.isalnum()]
        assert not words or mark.number in ended
    letters = [character for piece in pieces for character in piece.text if character.isalnum()]
    if limit is None:
        assert letters == [character for character in text if character.isalnum()]


@pytest.mark.parametrize("name", ["town", "formatted", "hostile", "faithful", "uncheckable"])
@pytest.mark.slow  # needs the extra pdf
def test_a_report_is_printed_on_at_most_four_pages(name):
    require_weasyprint()
    data = render.pdf(samples.ALL[name](), RECORD)
    assert data.startswith(b"%PDF-")
    pages = pdf_pages(data)
    assert 1 <= len(pages) <= 4
    assert "Page 1 of" in pages[0]
    assert "judgement" in pages[-1]
    if name == "town":
        text = " ".join(pages)
        assert "Contradicted" in pages[0]
        assert "The Harbour Line carried 18,400 passengers" in text
        assert "answer.md" in text


def test_without_its_library_a_pdf_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(MissingExtra, match="pdf"):
        render.pdf(samples.town())
