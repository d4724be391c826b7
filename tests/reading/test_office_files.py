"""PDF and DOCX files as sources and responses."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from halldetect.cli import main
from halldetect.cli.text_arguments import TextArguments
from halldetect.errors import InputError
from halldetect.reading.office_files import read_pages
from halldetect.reading.sources import read_source
from tests.support.fakes import use_overlap_verifier

docx = pytest.importorskip("docx")
pytest.importorskip("pypdf")


def pdf(*pages: str) -> bytes:
    """A small PDF file with one text per page, line by line."""
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for page in pages:
        shown = "\n".join(f"({line}) Tj T*" for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 50 700 Td\n{shown}\nET"
        content, number = len(objects) + 1, len(objects) + 2
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R "
            "/Resources << /Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> "
            ">> >> >>"
        )
        kids.append(f"{number} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    data = b"%PDF-1.4\n"
    offsets = []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    start = len(data)
    data += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}".encode()
    trailer = f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return data + trailer.encode()


def word_file() -> bytes:
    document = docx.Document()
    document.add_heading("Prices", level=2)
    document.add_paragraph("The ferry sails daily.")
    document.add_paragraph("Dogs travel free.", style="List Bullet")
    table = document.add_table(rows=2, cols=2)
    for at, text in enumerate(["Ticket", "Price", "Adult", "4 euros"]):
        table.cell(at // 2, at % 2).text = text
    stream = io.BytesIO()
    document.save(stream)
    return stream.getvalue()


def test_pdf_pages_are_numbered_documents(tmp_path: Path) -> None:
    path = tmp_path / "ferry.pdf"
    path.write_bytes(pdf("The ferry sails daily.", "Adults pay four euros."))
    documents = TextArguments(literal=False).read_documents(str(path), "source")
    assert documents == [
        {"id": "ferry.pdf, page 1", "text": "The ferry sails daily."},
        {"id": "ferry.pdf, page 2", "text": "Adults pay four euros."},
    ]
    assert TextArguments(literal=False).read(str(path), "response") == (
        "The ferry sails daily.\n\nAdults pay four euros."
    )


def test_lines_that_only_the_page_ends_are_joined() -> None:
    data = pdf(
        "The ferry between Torsvik and Hamre sails every\nhour, also on Sun-\ndays.\nDogs: free"
    )
    assert read_pages(data, "x") == [
        "The ferry between Torsvik and Hamre sails every hour, also on Sundays.\nDogs: free"
    ]


def test_docx_headings_lists_and_tables() -> None:
    pages = read_pages(word_file(), "x")
    assert pages is not None
    (text,) = pages
    assert "## Prices\n\nThe ferry sails daily.\n\n- Dogs travel free." in text
    assert "Adult: Price 4 euros." in read_source(text).readings


def test_other_files_are_left_to_others() -> None:
    assert read_pages(b"PK\x03\x04 no archive", "x") is None
    assert read_pages(b"plain text", "x") is None


@pytest.mark.parametrize("data", [b"%PDF-1.4 damaged", pdf("")])
def test_pdf_without_text_is_an_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(data)
    with pytest.raises(InputError) as raised:
        TextArguments(literal=False).read(str(path), "response")
    assert "a.pdf" in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_report_names_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    use_overlap_verifier(monkeypatch)
    path = tmp_path / "ferry.pdf"
    path.write_bytes(pdf("The ferry sails daily.", "Adults pay four euros."))
    main(["check", str(path), "Adults pay four euros.", "--json"])
    report = json.loads(capsys.readouterr().out)
    assert report["document_names"] == ["ferry.pdf, page 1", "ferry.pdf, page 2"]
