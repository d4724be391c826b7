"""The texts that a command reads: arguments, standard input, files and web pages."""

from __future__ import annotations

import codecs
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from halldetect.errors import InputError
from halldetect.reading.html_page import ENDINGS as HTML_ENDINGS
from halldetect.reading.html_page import html_text
from halldetect.reading.office_files import read_pages

if TYPE_CHECKING:
    from halldetect.inputs import SourceDocument

# Longest first: the byte order mark of UTF-32 begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FILE_ENDING = re.compile(
    r"\.(txt|text|md|markdown|rst|json|jsonl|csv|tsv|html?|xml|ya?ml|log|tex|pdf|docx?|odt|rtf)$",
    re.IGNORECASE,
)
_ANY_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,4}$")
_WEB_ADDRESS = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
_MAX_NAME_LENGTH = 255


class TextArguments:
    """Reads arguments as text; standard input can be named once.

    Args:
        literal: whether every argument is the text itself.
        network: whether a web address may be fetched.
    """

    def __init__(self, *, literal: bool, network: bool = False) -> None:
        self._literal = literal
        self._network = network
        self._stdin_taken = False

    def read(self, argument: str, what: str) -> str:
        """Return the text of an argument: standard input for `-`, a file's text, or itself.

        Args:
            argument: as given on the command line.
            what: its role, for messages.
        """
        if self._literal or not argument.strip():  # Path("") would be the current folder
            return argument
        if argument == "-":
            return self._read_stdin(what)
        path = Path(argument)
        if _exists(path):
            return read_file(path, what)
        if _WEB_ADDRESS.fullmatch(argument):
            return "\n\n".join(self._fetch(argument, what))
        if looks_like_path(argument):
            raise InputError(f"{what}: no file {argument!r}; to check these very words, add --text")
        return argument

    def read_documents(
        self, argument: str, what: str, *, file: bool = False, name: str | None = None
    ) -> list[SourceDocument]:
        """Return the documents of an argument; each page of a PDF file is a numbered document.

        Args:
            argument: as given on the command line.
            what: its role, for messages.
            file: whether the argument must name a file.
            name: name of the documents; that of the file by default.
        """
        literal = self._literal and not file
        found = file_name(argument, literal=literal)
        if argument == "-" and not literal:
            pages = [self._read_stdin(what)]
        elif found is None and not literal and _WEB_ADDRESS.fullmatch(argument):
            found, pages = argument, self._fetch(argument, what)
        elif found is None and not file:
            pages = [self.read(argument, what)]
        else:
            pages = _read_pages(Path(argument), what)
        name = name or found
        if name is None:
            return list(pages)
        if len(pages) == 1:
            return [{"id": name, "text": pages[0]}]
        return [
            {"id": f"{name}, page {number}", "text": page}
            for number, page in enumerate(pages, start=1)
            if page
        ]

    def read_named(self, argument: str) -> list[SourceDocument]:
        """Return the documents of a --source, which is FILE or NAME=FILE."""
        name, equals, file = argument.partition("=")
        if not (equals and name and file) or _exists(Path(argument)):
            return self.read_documents(argument, "--source", file=True)
        return self.read_documents(file, "--source", file=True, name=name)

    def _fetch(self, address: str, what: str) -> list[str]:
        if not self._network:
            raise InputError(
                f"{what}: {address!r} is a web address; --allow-network fetches it, --text takes "
                "these very words"
            )
        from halldetect.cli.web import fetch

        page = fetch(address, what)
        return _pages(page.data, what, repr(address), html=page.is_html, encoding=page.encoding)

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
        return decode(data, what, "standard input")


def read_file(path: Path, what: str) -> str:
    """Return the text of a file, also of PDF, DOCX and HTML.

    Args:
        path: the file.
        what: its role, for messages.

    Raises:
        InputError: if it cannot be read.
    """
    return "\n\n".join(_read_pages(path, what))


def _read_pages(path: Path, what: str) -> list[str]:
    """Return the pages of a PDF file, or the text of any other file."""
    try:
        if path.is_dir():
            raise InputError(f"{what}: {str(path)!r} is a directory, not a file")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise InputError(f"{what}: no file {str(path)!r}") from error
    except PermissionError as error:
        raise InputError(f"{what}: no permission to read {str(path)!r}") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{what}: cannot read {str(path)!r}: {error}") from error
    return _pages(data, what, repr(str(path)), html=path.suffix.lower() in HTML_ENDINGS)


def _pages(
    data: bytes, what: str, name: str, *, html: bool, encoding: str | None = None
) -> list[str]:
    pages = read_pages(data, f"{what}: {name}")
    if pages is None:
        text = decode(data, what, name, encoding)
        pages = [html_text(text)[1]] if html else [text]
        if pages[0] or not text.strip():
            return pages
    if not any(pages):
        raise InputError(f"{what}: {name} has no text; a scan has to go through OCR first")
    return pages


def decode(data: bytes, what: str, name: str, encoding: str | None = None) -> str:
    """Decode UTF-8 or the encoding of a byte order mark; guess no other encoding.

    Args:
        data: the bytes.
        what: their role, for messages.
        name: where they come from, for messages.
        encoding: encoding from a server; a byte order mark takes precedence.
    """
    announced = (known for mark, known in _BYTE_ORDER_MARKS if data.startswith(mark))
    encoding = next(announced, encoding or "utf-8")
    if encoding == "utf-8" and b"\x00" in data:
        raise InputError(f"{what}: {name} is a binary file; extract its text first")
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{what}: {name} is not {encoding.removesuffix('-sig').upper()} text "
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


def file_name(argument: str, *, literal: bool) -> str | None:
    """Return the file name of an argument of `TextArguments`, or None.

    Args:
        argument: as given on the command line.
        literal: whether every argument is the text itself.
    """
    if literal or argument == "-" or not argument.strip():
        return None
    path = Path(argument)
    return path.name if _exists(path) else None


def _exists(path: Path) -> bool:
    try:
        path.stat()
    except PermissionError:
        return True  # reading the file reports the error
    except (OSError, ValueError):
        return False
    return True
