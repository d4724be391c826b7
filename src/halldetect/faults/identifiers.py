"""Identifiers that no text has, letter by letter.

Identifiers are names of functions, files and flags, error codes, product and order numbers, URLs
and addresses. Unlike words, they have no synonyms: one that no text has in any spelling was
invented.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from halldetect.faults.fault import Fault
from halldetect.reading.document import Span
from halldetect.reading.reader import Reading
from halldetect.report import ClaimReport, ErrorKind

Place = tuple[int, Span]  # a document, and a span in it

_FILE = (
    "py|js|ts|json|ya?ml|toml|txt|csv|md|sh|ini|cfg|conf|log|xml|html?|pdf|docx?|xlsx?|zip|exe|sql"
)
_IDENTIFIER = re.compile(
    r"https?://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+|\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    rf"|(?<![\w/])(?:~?/)?(?:\.?[\w-]+/)*[\w-]+\.(?:{_FILE})\b(?!\.\w)|\b10\.\d{{4,}}/[^\s)\]]+"
    r"|(?<![\w-])--[a-z][\w-]+|\b[a-z_]\w*(?:\.\w+)*\(\)|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z]+(?:_[A-Z0-9]+)+\b"
    # Neither "COVID-19" nor "100GB".
    r"|\b(?![A-Z]+-?\d{1,2}\b|\d+[A-Z]{1,3}\b)(?=[A-Z-]*\d[A-Z-]*\d)(?=[\d-]*[A-Z])[A-Z\d][A-Z\d-]{4,}\b"
    r"|\b[A-Z]{1,6}-?\d{3,}[A-Z0-9]*(?:-[A-Z0-9]+)*\b|\b0x[0-9a-fA-F]{2,}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|(?:#|(?i:\b(?:number|order|ticket|invoice|account|reference|case|code|id|no\.?)(?: is|:)? ))"
    r"(?P<number>\d{5,})(?![\w.,]\d|\w)"
)
_AROUND = re.compile(r"^(?:https?://)?(?:www\.)?|/?(?:\(\))?$", re.IGNORECASE)
_NOT_ALNUM = re.compile(r"[\W_]+")


class InventedIdentifiers:
    """Finds identifiers that neither source, question, document names nor tool calls have.

    Never finds one that is written with other separators or letter case, and no ordinary word.
    """

    def __init__(self, reading: Reading) -> None:
        texts = (document.text for document in reading.documents)
        pair = reading.pair
        self._texts = (*texts, *pair.document_names, reading.question, *pair.tool_calls)

    def faults(self, claim: ClaimReport, at: int) -> Iterator[Fault]:
        """Yield the identifiers of a claim that no text has."""
        for name in invented(claim.text, self._texts):
            yield Fault(ErrorKind.IDENTIFIER, name, certain=True)


def identifiers(text: str) -> list[str]:
    """Return the identifiers of a text, in order, without the punctuation after them."""
    found = ((match["number"] or match[0]).rstrip(".,;:!?") for match in _IDENTIFIER.finditer(text))
    return list(dict.fromkeys(found))


def invented(claim: str, texts: Sequence[str]) -> list[str]:
    """Return the identifiers of a claim that no text has in any spelling."""
    return [name for name in identifiers(claim) if find_spelled(name, texts) is None]


def find_spelled(name: str, texts: Sequence[str]) -> Place | None:
    """Return the place of a name with any separators: "AT48 3200" is "AT48-3200"."""
    letters = _squeezed(_AROUND.sub("", name))
    pattern: re.Pattern[str] | None = None
    for at, text in enumerate(texts):
        if letters not in _squeezed(text):
            continue
        if pattern is None:
            spelled = r"[\W_]*".join(map(re.escape, letters))
            pattern = re.compile(rf"(?<![a-z0-9]){spelled}s?(?![a-z0-9])", re.IGNORECASE)
        if found := pattern.search(text):
            return at, Span(*found.span())
    return None


@lru_cache(maxsize=512)
def _squeezed(text: str) -> str:
    return _NOT_ALNUM.sub("", text).lower()
