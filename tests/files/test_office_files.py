"""PDF and DOCX files as sources and responses."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from halldetect.cli import main
from halldetect.cli.text_arguments import TextArguments
from halldetect.errors import InputError
from halldetect.files import office_files
from halldetect.files.office_files import read_pages
from halldetect.reading.sources import read_source
from tests.support.fakes import use_overlap_verifier
from tests.support.office import FONT, docx, paragraph, pdf_of, pdf_page, run, shown, stream

pytest.importorskip("pypdf")

TRUE = "The ferry sails daily."
FALSE = "Dogs pay nine euros."


def pdf(*pages: str) -> bytes:
    """A small PDF file with one text per page, line by line."""
    objects: list[str | bytes] = ["<< /Type /Catalog /Pages 2 0 R >>", ""]
    kids = []
    for page in pages:
        lines = "\n".join(f"({line}) Tj T*" for line in page.split("\n"))
        content, number = len(objects) + 1, len(objects) + 2
        objects.append(stream(f"BT /F1 12 Tf 14 TL 50 700 Td\n{lines}\nET"))
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {content} 0 R "
            f"/Resources << {FONT} >> >>"
        )
        kids.append(f"{number} 0 R")
    objects[1] = f"<< /Type /Pages /Kids [{' '.join(kids)}] /Count {len(kids)} >>"
    return pdf_of(objects)


def table(*rows: list[str]) -> str:
    lines = ("".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) for row in rows)
    return f"<w:tbl>{''.join(f'<w:tr>{line}</w:tr>' for line in lines)}</w:tbl>"


def word_file() -> bytes:
    return docx(
        paragraph("Prices", properties='<w:pStyle w:val="H2"/>')
        + paragraph(TRUE)
        + paragraph("Dogs travel free.", properties='<w:pStyle w:val="LB"/>')
        + table(["Ticket", "Price"], ["Adult", "4 euros"])
    )


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


def both(data: bytes) -> tuple[str, str]:
    """Return the text of a file as a response and as a source."""
    texts = [read_pages(data, "x", evidence=evidence) for evidence in (False, True)]
    return tuple("\n".join(text or []) for text in texts)  # type: ignore[return-value]


INSERTED = f"<w:ins>{run('not ')}</w:ins>"
BOX = (
    f"<w:r><w:pict><v:textbox><w:txbxContent>{paragraph(FALSE)}</w:txbxContent></v:textbox>"
    "</w:pict></w:r>"
)
# What is seen in a DOCX file, beside a true sentence.
SEEN = {
    "insertion": docx(paragraph("Dogs do ", INSERTED, "travel free.")),
    "content control": docx(f"<w:sdt><w:sdtContent>{paragraph(FALSE)}</w:sdtContent></w:sdt>"),
    "control in a line": docx(
        paragraph(f"<w:sdt><w:sdtContent>{run(FALSE)}</w:sdtContent></w:sdt>")
    ),
    "footnote": docx(paragraph(TRUE), footnotes=f"<w:footnote>{paragraph(FALSE)}</w:footnote>"),
    "endnote": docx(paragraph(TRUE), endnotes=f"<w:endnote>{paragraph(FALSE)}</w:endnote>"),
    "header": docx(paragraph(TRUE), header=paragraph(FALSE)),
    "footer": docx(paragraph(TRUE), footer=paragraph(FALSE)),
    "text box": docx(paragraph(TRUE, BOX)),
    "text box for two programs": docx(
        paragraph(
            f"<mc:AlternateContent><mc:Choice>{BOX}</mc:Choice>"
            f"<mc:Fallback>{BOX}</mc:Fallback></mc:AlternateContent>"
        )
    ),
    "link": docx(paragraph(f"<w:hyperlink>{run(FALSE)}</w:hyperlink>")),
    "white on a dark cell": docx(
        "<w:tbl><w:tr><w:tc><w:tcPr><w:shd w:fill='003366'/></w:tcPr>"
        + paragraph(run(FALSE, "<w:color w:val='FFFFFF'/>"))
        + "</w:tc></w:tr></w:tbl>"
    ),
}
# What is not seen, or only in the margin.
UNSEEN = {
    "hidden": docx(paragraph(run(FALSE, "<w:vanish/>"), TRUE)),
    "hidden by its style": docx(paragraph(run(FALSE, '<w:rStyle w:val="Off"/>'), TRUE)),
    "white": docx(paragraph(run(FALSE, '<w:color w:val="FFFFFF"/>'), TRUE)),
    "struck out": docx(paragraph(run(FALSE, "<w:strike/>"), TRUE)),
    "comment": docx(paragraph(TRUE), comments=f"<w:comment>{paragraph(FALSE)}</w:comment>"),
    "picture": docx(paragraph(TRUE, f'<w:r><wp:docPr descr="{FALSE}"/></w:r>')),
    "white in a PDF": pdf_page(shown(FALSE, 650, "1 1 1 rg") + shown(TRUE)),
    "invisible in a PDF": pdf_page(shown(FALSE, 650, "3 Tr") + shown(TRUE)),
    "off the page": pdf_page(shown(FALSE, -90) + shown(TRUE)),
    "white in a form": pdf_page(
        shown(TRUE) + "q 1 g /X5 Do Q",
        more=[
            stream(
                shown(FALSE, 650),
                f"/Type /XObject /Subtype /Form /BBox [0 0 595 842] /Resources << {FONT} >>",
            )
        ],
    ),
    "note on a PDF": pdf_page(
        shown(TRUE), f"<< /Type /Annot /Subtype /Text /Contents ({FALSE}) >>"
    ),
    "hidden field": pdf_page(shown(TRUE), f"<< /Subtype /Widget /FT /Tx /F 2 /V ({FALSE}) >>"),
}
SEEN |= {
    "field": pdf_page(shown(TRUE), f"<< /Subtype /Widget /FT /Tx /V ({FALSE}) >>"),
    "field of a group": pdf_page(
        shown(TRUE), "<< /Subtype /Widget /Parent 5 0 R >>", [f"<< /FT /Tx /V ({FALSE}) >>"]
    ),
    "text on a page": pdf_page(shown(TRUE), f"<< /Subtype /FreeText /Contents ({FALSE}) >>"),
    "drawn field": pdf_page(
        shown(TRUE),
        "<< /Subtype /Widget /AP << /N 5 0 R >> >>",
        [stream(shown(FALSE, 2), f"/Subtype /Form /BBox [0 0 9 9] /Resources << {FONT} >>")],
    ),
    "white on a dark box": pdf_page(
        "0 0 0.5 rg 40 640 300 40 re f\n" + shown(FALSE, 650, "1 1 1 rg") + shown(TRUE)
    ),
    "text of a scan": pdf_page(
        "q 595 0 0 842 0 0 cm /X5 Do Q\n" + shown(FALSE, 650, "3 Tr"),
        more=[stream("x", "/Subtype /Image /Width 1 /Height 1")],
    ),
}


@pytest.mark.parametrize("kind", SEEN)
def test_visible_text_is_read(kind: str) -> None:
    wanted = "Dogs do not travel free." if kind == "insertion" else FALSE
    for text in both(SEEN[kind]):
        assert text.count(wanted) == 1


@pytest.mark.parametrize("kind", UNSEEN)
def test_invisible_text_is_no_evidence(kind: str) -> None:
    response, source = both(UNSEEN[kind])
    assert FALSE in response
    assert FALSE not in source
    assert TRUE in source


def test_deleted_text_is_not_read() -> None:
    gone = f"<w:del><w:r><w:delText>{FALSE}</w:delText></w:r></w:del>"
    moved = f"<w:moveFrom>{run(FALSE)}</w:moveFrom>"
    assert both(docx(paragraph(gone, moved, TRUE))) == (TRUE, TRUE)


def test_earlier_properties_hide_nothing() -> None:
    changed = "<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>"
    assert both(docx(paragraph(run(TRUE, changed))))[1] == TRUE


def test_embedded_document_is_refused() -> None:
    with pytest.raises(InputError, match="another file"):
        read_pages(docx(paragraph(TRUE) + "<w:altChunk/>"), "x")


# Bombs


def refused(data: bytes) -> None:
    with pytest.raises(InputError, match=r"too much|cannot be read as PDF \(LimitReached"):
        read_pages(data, "x")


@pytest.mark.parametrize(
    "data",
    [
        docx("<w:p/>" * 8_000_000),
        docx("<w:p/>" * 400_000),
        docx(paragraph(TRUE), footnotes="<w:p/>" * 400_000),
        docx("<w:tbl><w:tr><w:tc>" * 100 + "</w:tc></w:tr></w:tbl>" * 100),
    ],
    ids=["size", "elements", "elements of a footnote", "depth"],
)
def test_archive_that_unpacks_to_much_is_refused(data: bytes) -> None:
    assert len(data) < 100_000
    refused(data)


def test_entities_are_refused() -> None:
    data = io.BytesIO(docx("BODY"))
    declared = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]>'
    packed = io.BytesIO()
    with zipfile.ZipFile(data) as old, zipfile.ZipFile(packed, "w") as new:
        for name in old.namelist():
            new.writestr(
                name, (declared if name.endswith("document.xml") else "").encode() + old.read(name)
            )
    with pytest.raises(InputError, match="entities"):
        read_pages(packed.getvalue(), "x")


FORM = "/Type /XObject /Subtype /Form /BBox [0 0 595 842]"


def test_pdf_that_unpacks_to_much_is_refused() -> None:
    refused(pdf_page("0 0 m " * 2_000_000))
    refused(pdf_page("BT " + "(a) Tj " * 150_000))


def test_pdf_that_draws_its_forms_again_and_again_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(office_files, "_WORK", (20_000, 0))
    forms = [
        stream(
            f"/X{number + 1} Do " * 10 if number < 12 else shown(TRUE),
            f"{FORM} /Resources << {FONT} /XObject << /X{number + 1} {number + 1} 0 R >> >>",
        )
        for number in range(5, 13)
    ]
    refused(pdf_page("/X5 Do " * 10, more=forms))


def test_pdf_with_one_page_many_times_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(office_files, "_WORK", (20_000, 0))
    data = pdf_page(shown(TRUE) * 100).replace(
        b"/Kids [3 0 R]", b"/Kids [" + b"3 0 R " * 100 + b"]"
    )
    refused(data)
