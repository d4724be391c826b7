"""Small PDF and DOCX files, built from their parts."""

from __future__ import annotations

import io
import zipfile
import zlib

_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_NAMES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wp="http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
STYLES = (
    '<w:style w:styleId="H2"><w:name w:val="heading 2"/></w:style>'
    '<w:style w:styleId="LB"><w:name w:val="List Bullet"/></w:style>'
    '<w:style w:styleId="Off"><w:name w:val="Off"/><w:rPr><w:vanish/></w:rPr></w:style>'
)


def run(text: str, properties: str = "") -> str:
    """Return a run of a DOCX paragraph."""
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def paragraph(*runs: str, properties: str = "") -> str:
    """Return a DOCX paragraph; a run is XML or plain text."""
    inner = "".join(item if item.startswith("<") else run(item) for item in runs)
    return f"<w:p><w:pPr>{properties}</w:pPr>{inner}</w:p>"


def docx(body: str, **parts: str) -> bytes:
    """Return a DOCX file with a body and other parts by kind: header, footnotes, comments."""
    stream = io.BytesIO()
    parts = {"styles": STYLES, **parts}
    types = '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>'

    def relations(targets: dict[str, str]) -> str:
        listed = "".join(
            f'<Relationship Id="r{at}" Type="{_OFFICE}/{kind}" Target="{target}"/>'
            for at, (kind, target) in enumerate(targets.items())
        )
        return f"<Relationships>{listed}</Relationships>"

    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", types)
        archive.writestr("_rels/.rels", relations({"officeDocument": "word/document.xml"}))
        listed = {kind: f"{kind}.xml" for kind in parts}
        archive.writestr("word/_rels/document.xml.rels", relations(listed))
        document = f"<w:document {_NAMES}><w:body>{body}</w:body></w:document>"
        archive.writestr("word/document.xml", document)
        for kind, content in parts.items():
            archive.writestr(f"word/{kind}.xml", f"<w:{kind} {_NAMES}>{content}</w:{kind}>")
    return stream.getvalue()


def pdf_of(objects: list[str | bytes]) -> bytes:
    """Return a PDF file of numbered objects; the first is the catalogue."""
    data, offsets = b"%PDF-1.4\n", []
    for number, body in enumerate(objects, start=1):
        offsets.append(len(data))
        content = body if isinstance(body, bytes) else body.encode()
        data += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    table = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    start, size = len(data), len(objects) + 1
    data += f"xref\n0 {size}\n0000000000 65535 f \n{table}".encode()
    trailer = f"trailer\n<< /Size {size} /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
    return data + trailer.encode()


def stream(content: str, entries: str = "") -> bytes:
    """Return a compressed PDF stream."""
    packed = zlib.compress(content.encode(), 9)
    head = f"<< /Length {len(packed)} /Filter /FlateDecode {entries} >>\nstream\n"
    return head.encode() + packed + b"\nendstream"


FONT = "/Font << /F1 << /Type /Font /Subtype /Type1 /BaseFont /Helvetica >> >>"


def pdf_page(content: str, annotations: str = "", more: list[str | bytes] | None = None) -> bytes:
    """Return a PDF file of one page; `more` are objects 5 and up, forms as /X5, /X6 ..."""
    more = more or []
    forms = " ".join(f"/X{number} {number} 0 R" for number in range(5, 5 + len(more)))
    return pdf_of(
        [
            "<< /Type /Catalog /Pages 2 0 R >>",
            "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R "
            f"/Resources << {FONT} /XObject << {forms} >> >> /Annots [{annotations}] >>",
            stream(content),
            *more,
        ]
    )


def shown(text: str, y: int = 700, before: str = "") -> str:
    """Return the operators that show a line."""
    return f"q BT /F1 12 Tf {before} 50 {y} Td ({text}) Tj ET Q\n"
