"""The text of PDF and DOCX files, page by page if the file has pages."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

from halldetect.errors import InputError, MissingExtra

# A small file can unpack to a huge one, and parsing takes many times its size.
MAX_UNPACKED = 50_000_000
_HYPHENATED = re.compile(r"(?<=[a-z])[-\u00ad]\n(?=[a-z])")
# A long line without a sentence end continues on the next line.
_WRAPPED = re.compile(r"(?<=[^\n]{40})(?<![.!?:;])[ \t]*\n(?=[^\n•‣▪◦●○*-]\S)")
_HEADING = re.compile(r"(?:Heading|Title)\s*(\d?)")


def read_pages(data: bytes, name: str) -> list[str] | None:
    """Return the text of each page of a PDF file, or of a DOCX file as one; None for other data.

    Raises:
        InputError: If the file is damaged.
        MissingExtra: If the library that reads it is not installed.
    """
    if data.startswith(b"%PDF-"):
        return pdf_pages(data, name)
    if data.startswith(b"PK\x03\x04") and _is_docx(data):
        return [docx_text(data, name)]
    return None


def pdf_pages(data: bytes, name: str) -> list[str]:
    """Return the text of each page of a PDF file, with wrapped lines joined."""
    try:
        import pypdf
    except ImportError as error:
        raise MissingExtra(f"the PDF file {name}", "documents") from error
    try:
        pages = [page.extract_text() or "" for page in pypdf.PdfReader(io.BytesIO(data)).pages]
    except Exception as error:  # damaged files raise almost anything
        raise _damaged(name, "PDF", error) from error
    return [_WRAPPED.sub(" ", _HYPHENATED.sub("", page)).strip() for page in pages]


def docx_text(data: bytes, name: str) -> str:
    """Return the text of a DOCX file as Markdown: headings, list items, tables row by row."""
    try:
        import docx
        from docx.table import Table
    except ImportError as error:
        raise MissingExtra(f"the DOCX file {name}", "documents") from error
    try:
        blocks = [
            _table(item) if isinstance(item, Table) else _paragraph(item)
            for item in docx.Document(io.BytesIO(data)).iter_inner_content()
        ]
    except Exception as error:
        raise _damaged(name, "DOCX", error) from error
    return "\n\n".join(block for block in blocks if block)


def _is_docx(data: bytes) -> bool:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(item.file_size for item in archive.infolist())
            return "word/document.xml" in archive.namelist() and unpacked <= MAX_UNPACKED
    except (zipfile.BadZipFile, OSError):
        return False


def _paragraph(item: Any) -> str:
    text = " ".join(item.text.split())
    style = "" if item.style is None else str(item.style.name)
    heading = _HEADING.match(style)
    if not text:
        return ""
    if heading is not None:
        return f"{'#' * min(int(heading[1] or 1), 6)} {text}"
    return f"- {text}" if style.startswith("List") else text


def _table(item: Any) -> str:
    rows = [
        "| "
        + " | ".join(" ".join(cell.text.split()).replace("|", "/") for cell in row.cells)
        + " |"
        for row in item.rows
    ]
    if rows:
        rows.insert(1, "|" + "---|" * len(item.columns))
    return "\n".join(rows)


def _damaged(name: str, kind: str, error: Exception) -> InputError:
    why = f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
    return InputError(f"{name} cannot be read as {kind} ({why})")
