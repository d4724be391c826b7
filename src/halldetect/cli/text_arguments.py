"""The texts that a command reads: arguments, standard input and files."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

from halldetect.errors import InputError
from halldetect.files.decoding import decode, file_pages, no_file
from halldetect.inputs import SourceDocument

# A path from a folder, a known ending, or without spaces a folder or any ending.
_PATH = re.compile(
    r"(?:\.{0,2}|~)/.*|.*\.(?:txt|text|md|markdown|rst|json|jsonl|csv|tsv|html?|xml|ya?ml|log|tex|pdf"
    r"|docx?|odt|rtf)|\S*[/\\]\S*|\S*\.[a-z][a-z0-9]{0,4}",
    re.IGNORECASE,
)
_WEB_ADDRESS = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
_MAX_NAME_LENGTH = 255


class TextArguments:
    """Reads arguments as text: `-` is standard input, once; a file; or the text itself.

    If `literal`, every argument is the text itself.
    """

    def __init__(self, *, literal: bool = False) -> None:
        self._literal = literal
        self._stdin_taken = False

    def read(self, argument: str, what: str, *, file: bool = False) -> str:
        """Return the text of an argument; `what` is its role, for messages.

        With `file`, the argument must name a file.
        """
        return "\n\n".join(self._read(argument, what, file=file)[1])

    def read_documents(
        self, argument: str, what: str, *, file: bool = False, name: str = ""
    ) -> list[SourceDocument]:
        """Return the documents of an argument; each page of a PDF file is a numbered document.

        With `file`, the argument must name a file. `name` replaces the name of the file.
        """
        found, pages = self._read(argument, what, file=file, evidence=True)
        if not (name := name or found):
            return list(pages)
        if len(pages) == 1:
            return [{"id": name, "text": pages[0]}]
        numbered = enumerate(pages, start=1)
        return [{"id": f"{name}, page {at}", "text": page} for at, page in numbered if page]

    def read_sources(self, texts: Sequence[str], named: Sequence[str]) -> list[SourceDocument]:
        """Return the documents of arguments, then of each --source, which is [NAME=]FILE."""
        documents = [found for text in texts for found in self.read_documents(text, "source")]
        for argument in named:
            name, equals, file = argument.partition("=")
            if not (equals and name and file) or existing_file(argument):
                name, file = "", argument
            documents += self.read_documents(file, "source", file=True, name=name)
        return documents

    def _read(
        self, argument: str, what: str, *, file: bool = False, evidence: bool = False
    ) -> tuple[str, list[str]]:
        """Return the name of the file, empty for other texts, and the pages of the text.

        With `evidence`, text that a reader of a file does not see is left out.
        """
        if not file and (self._literal or not argument.strip()):
            return "", [argument]  # Path("") would be the current folder
        if argument == "-":
            return "", [self._read_stdin(what)]
        if (path := existing_file(argument)) is not None:
            return path.name, file_pages(path, what, evidence)
        if _WEB_ADDRESS.fullmatch(argument):
            advice = "save the page to a file, or add --text to check these very words"
            raise InputError(f"{what}: {argument!r} is a web address; {advice}")
        if file:
            raise no_file(Path(argument), what)
        if looks_like_path(argument):
            raise no_file(Path(argument), what, "; to check these very words, add --text")
        return "", [argument]

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
        return decode(data, f"{what}: standard input")


def looks_like_path(argument: str) -> bool:
    """Return True if an argument looks like a file name, though no such file exists."""
    return len(argument) <= _MAX_NAME_LENGTH and _PATH.fullmatch(argument) is not None


def require_existing(paths: Iterable[Path]) -> None:
    """Raise InputError for a file or folder that does not exist."""
    for path in paths:
        if not path.exists():
            raise no_file(path)


def existing_file(argument: str, *, literal: bool = False) -> Path | None:
    """Return the file that an argument names; None for other texts, and all if `literal`."""
    if literal or argument == "-" or not argument.strip():
        return None
    return Path(argument) if os.path.exists(argument) else None  # noqa: PTH110 (takes any text)
