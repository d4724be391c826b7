"""The texts that a command reads: arguments, standard input, files and web pages."""

from __future__ import annotations

import codecs
import re
import sys
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from halldetect.errors import CheckError, InputError
from halldetect.reading.html_page import ENDINGS as HTML_ENDINGS
from halldetect.reading.html_page import html_text
from halldetect.reading.office_files import read_pages

if TYPE_CHECKING:
    from halldetect.inputs import SourceDocument

# Longest first: the byte order mark of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_FILE_ENDING = re.compile(
    r"\.(txt|text|md|markdown|rst|json|jsonl|csv|tsv|html?|xml|ya?ml|log|tex|pdf|docx?|odt|rtf)$",
    re.IGNORECASE,
)
_ANY_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_WEB_ADDRESS = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
_MAX_NAME_LENGTH = 255
_FETCH_SECONDS = 30.0
_MAX_FETCHED = 20_000_000


class TextArguments:
    """Reads arguments as text: `-` is standard input, once; a file; or the text itself.

    Args:
        literal: whether every argument is the text itself.
        network: whether a web address may be fetched.
    """

    def __init__(self, *, literal: bool = False, network: bool = False) -> None:
        self._literal = literal
        self._network = network
        self._stdin_taken = False

    def read(self, argument: str, what: str, *, file: bool = False) -> str:
        """Return the text of an argument; `what` is its role, for messages.

        With `file`, the argument must name a file.
        """
        return "\n\n".join(self._read(argument, what, file=file)[1])

    def read_documents(
        self, argument: str, what: str, *, file: bool = False, name: str | None = None
    ) -> list[SourceDocument]:
        """Return the documents of an argument; each page of a PDF file is a numbered document.

        With `file`, the argument must name a file. `name` replaces the name of the file.
        """
        found, pages = self._read(argument, what, file=file)
        name = name or found
        if name is None:
            return list(pages)
        if len(pages) == 1:
            return [{"id": name, "text": pages[0]}]
        numbered = enumerate(pages, start=1)
        return [{"id": f"{name}, page {at}", "text": page} for at, page in numbered if page]

    def read_named(self, argument: str) -> list[SourceDocument]:
        """Return the documents of a --source, which is FILE or NAME=FILE."""
        name, equals, file = argument.partition("=")
        if not (equals and name and file) or _exists(Path(argument)):
            return self.read_documents(argument, "--source", file=True)
        return self.read_documents(file, "--source", file=True, name=name)

    def _read(
        self, argument: str, what: str, *, file: bool = False
    ) -> tuple[str | None, list[str]]:
        """Return the name of the file or web page, if it is one, and the pages of the text."""
        if not file and (self._literal or not argument.strip()):
            return None, [argument]  # Path("") would be the current folder
        if argument == "-":
            return None, [self._read_stdin(what)]
        path = Path(argument)
        if _exists(path):
            return path.name, _file_pages(path, what)
        if _WEB_ADDRESS.fullmatch(argument):
            return argument, self._fetch(argument, what)
        if file:
            raise no_file(path, what)
        if looks_like_path(argument):
            raise no_file(path, what, "; to check these very words, add --text")
        return None, [argument]

    def _read_stdin(self, what: str) -> str:
        if self._stdin_taken:
            raise InputError(f"{what}: standard input (-) can be read only once")
        self._stdin_taken = True
        if sys.stdin is None:
            raise InputError(f"{what}: standard input is closed")
        try:
            data = sys.stdin.buffer.read()
        except OSError as error:
            raise InputError(f"{what}: standard input cannot be read: {error.strerror}") from error
        return _decode(data, f"{what}: standard input")

    def _fetch(self, address: str, what: str) -> list[str]:
        """Fetch a page of at most 20 MB; fail after 30 seconds without data."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        from halldetect import __version__
        from halldetect.models.store import offline

        place = f"{what}: {address!r}"
        if not self._network:
            advice = "--allow-network fetches it, --text takes these very words"
            raise InputError(f"{place} is a web address; {advice}")
        if offline():
            raise InputError(f"{place}: HALLDETECT_OFFLINE forbids fetching it")
        request = Request(address, headers={"User-Agent": f"halldetect/{__version__}"})
        try:
            with urlopen(request, timeout=_FETCH_SECONDS) as answer:  # redirects stay on http(s)
                data = answer.read(_MAX_FETCHED + 1)
                headers = answer.headers
        except HTTPError as error:
            raise CheckError(f"{place} answered with status {error.code}") from error
        except (OSError, HTTPException, ValueError) as error:
            raise CheckError(f"{place} cannot be fetched: {error}") from error
        if len(data) > _MAX_FETCHED:
            raise CheckError(f"{place} is larger than {_MAX_FETCHED:,} bytes")
        html = headers.get_content_type() in ("text/html", "application/xhtml+xml")
        return _pages(data, place, html=html, encoding=headers.get_content_charset())


def read_file(path: Path, what: str) -> str:
    """Return the text of a file, also of PDF, DOCX and HTML; `what` is its role, for messages."""
    return "\n\n".join(_file_pages(path, what))


def _file_pages(path: Path, what: str) -> list[str]:
    """Return the pages of a PDF file, or the text of any other file."""
    try:
        if path.is_dir():
            raise InputError(f"{what}: {str(path)!r} is a directory, not a file")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise no_file(path, what) from error
    except PermissionError as error:
        raise InputError(f"{what}: no permission to read {str(path)!r}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{what}: cannot read {str(path)!r}: {error}") from error
    return _pages(data, f"{what}: {str(path)!r}", html=path.suffix.lower() in HTML_ENDINGS)


def _pages(data: bytes, place: str, *, html: bool, encoding: str | None = None) -> list[str]:
    pages = read_pages(data, place)
    if pages is None:
        text = _decode(data, place, encoding)
        pages = [html_text(text)[1]] if html else [text]
        if pages[0] or not text.strip():
            return pages
    if not any(pages):
        raise InputError(f"{place} has no text; a scan has to go through OCR first")
    return pages


def _decode(data: bytes, place: str, encoding: str | None = None) -> str:
    """Decode UTF-8, or the encoding of a byte order mark, else that of a server."""
    try:
        encoding = codecs.lookup(encoding or "utf-8").name
        "".encode(encoding)
    except LookupError:  # unknown, or not an encoding of text
        encoding = "utf-8"
    announced = (known for mark, known in _BYTE_ORDER_MARKS.items() if data.startswith(mark))
    encoding = next(announced, encoding)
    if encoding == "utf-8" and b"\x00" in data:
        raise InputError(f"{place} is a binary file; extract its text first")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{place} is not {encoding.removesuffix('-sig').upper()} text "
            f"(byte {error.start}); convert it first, for example with iconv -t UTF-8"
        ) from error


def looks_like_path(argument: str) -> bool:
    """Return True if an argument looks like a file name, though no such file exists."""
    if not argument or len(argument) > _MAX_NAME_LENGTH or "\n" in argument:
        return False
    if argument.startswith(("./", "../", "~/", "/")) or _FILE_ENDING.search(argument):
        return True
    if any(char.isspace() for char in argument):
        return False
    return "/" in argument or "\\" in argument or bool(_ANY_ENDING.search(argument))


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


def existing_file(argument: str, *, literal: bool) -> Path | None:
    """Return the file that an argument names; None for other texts, and all if `literal`."""
    if literal or argument == "-" or not argument.strip():
        return None
    return Path(argument) if _exists(Path(argument)) else None


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except PermissionError:
        return True  # reading the file reports the error
    except (OSError, ValueError):
        return False
    return True
