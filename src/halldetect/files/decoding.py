"""Turn the bytes of a file into text: plain text in any encoding, HTML, PDF and DOCX."""

from __future__ import annotations

from contextlib import suppress
from difflib import get_close_matches
from json import detect_encoding
from pathlib import Path

from halldetect.errors import InputError
from halldetect.files.office_files import read_pages
from halldetect.reading.html_page import ENDINGS as HTML_ENDINGS
from halldetect.reading.html_page import html_text

_MARKED_ENCODINGS = ("utf-8-sig", "utf-16", "utf-32")  # by a byte order mark
# Bytes with at least this share of ASCII are read as Latin-1.
_MIN_ASCII = 0.8


def read_file(path: Path, what: str) -> str:
    """Return the text of a file, also of PDF, DOCX and HTML; `what` is its role, for messages."""
    return "\n\n".join(file_pages(path, what, evidence=False))


def read_bytes(data: bytes, name: str, *, evidence: bool = False) -> str:
    """Return the text of a file whose contents are known; its name tells HTML from text."""
    return "\n\n".join(_pages(data, Path(name), repr(name), evidence))


def file_pages(path: Path, what: str, evidence: bool) -> list[str]:
    """Return the pages of a PDF file, or the text of any other file."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise no_file(path, what) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise InputError(f"{what}: cannot read {str(path)!r}: {why}") from error
    return _pages(data, path, f"{what}: {str(path)!r}", evidence)


def _pages(data: bytes, path: Path, place: str, evidence: bool) -> list[str]:
    pages = read_pages(data, place, evidence=evidence)
    if pages is None:
        text = decode(data, place)
        is_html = path.suffix.lower() in HTML_ENDINGS
        title, body = html_text(text, evidence=evidence) if is_html else ("", text)
        pages = [f"# {title}\n\n{body}" if title and not evidence else body]
        if pages[0] or not text.strip():
            return pages
    if not any(pages):
        raise InputError(f"{place} has no text; a scan has to go through OCR first")
    return pages


def decode(data: bytes, place: str) -> str:
    """Decode UTF-8, or the encoding of a byte order mark.

    Text that is almost all ASCII but not UTF-8 is Latin-1 as Windows writes it.
    """
    marked = detect_encoding(data)
    encoding = marked if marked in _MARKED_ENCODINGS else "utf-8"
    if encoding == "utf-8" and b"\x00" in data:
        raise InputError(f"{place} is a binary file; extract its text first")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        ascii_bytes = len(data.translate(None, bytes(range(128, 256))))
        if encoding == "utf-8" and ascii_bytes >= _MIN_ASCII * len(data):
            with suppress(UnicodeDecodeError):
                return data.decode("cp1252")
        raise InputError(
            f"{place} is not {encoding.removesuffix('-sig').upper()} text "
            f"(byte {error.start}); convert it first, for example with iconv -t UTF-8"
        ) from error


def no_file(path: Path, what: str = "", advice: str = "") -> InputError:
    """Return the error for a file that does not exist; it names a file with a similar name."""
    try:
        others = sorted(path.parent.iterdir(), key=lambda item: item.suffix == path.suffix)
    except (OSError, ValueError):
        others = []
    names = {item.stem: str(item) for item in others}
    for near in get_close_matches(path.stem, names, n=1):
        advice = f"; did you mean {names[near]!r}?"
    return InputError(f"{f'{what}: ' if what else ''}no file {str(path)!r}{advice}")
