"""Identifiers that no text has, letter by letter.

Identifiers are names of functions, files and flags, error codes, product and order numbers, URLs
and addresses. Unlike words, they have no synonyms: one that no text has in any spelling was
invented.
"""

from __future__ import annotations

import re
from bisect import bisect_left
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
# Every part is possessive or bounded, so that a row of dashes takes linear time.
_IDENTIFIER = re.compile(
    r"https?://[^\s<>\"')\]]+|\bwww\.[^\s<>\"')\]]+|\b[\w.+-]{1,64}+@[\w-]++(?:\.[\w-]++)++"
    rf"|(?<![\w/-])(?:~?/)?(?:\.?[\w-]++/)*+[\w-]++\.(?:{_FILE})\b(?!\.\w)"
    r"|\b10\.\d{4,}/[^\s)\]]+|(?<![\w-])--[a-z][\w-]+|\b[a-z_]\w*+(?:\.\w++){0,8}+\(\)"
    r"|\b[a-z]+(?:_[a-z0-9]+)+\b|\b[A-Z]+(?:_[A-Z0-9]+)+\b"
    # Neither "COVID-19" nor "100GB".
    r"|\b(?![A-Z]+-?\d{1,2}\b|\d+[A-Z]{1,3}\b)(?=[A-Z-]{0,40}+\d[A-Z-]{0,40}+\d)"
    r"(?=[\d-]{0,40}+[A-Z])[A-Z\d][A-Z\d-]{4,}\b"
    r"|\b[A-Z]{1,6}-?\d{3}[A-Z0-9]*(?:-[A-Z0-9]+)*\b|\b0x[0-9a-fA-F]{2,}\b"
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"
    r"|(?:#|(?i:\b(?:number|order|ticket|invoice|account|reference|case|code|id|no\.?)(?: is|:)? ))"
    r"(?P<number>\d{5,})(?![\w.,]\d|\w)"
)
_AROUND = re.compile(r"^(?:https?://)?(?:www\.)?|/?(?:\(\))?$", re.IGNORECASE)
_NOT_ALNUM = re.compile(r"[\W_]+")
_ALNUM = re.compile(r"[^\W_]")
_WORD_START = re.compile(r"(?<![A-Za-z0-9])[^\W_]")
_NAME_END = re.compile(r"s?(?![a-z0-9])", re.IGNORECASE)


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
    for at, text in enumerate(texts):
        if span := _spelled_at(letters, text):
            return at, span
    return None


def _spelled_at(letters: str, text: str) -> Span | None:
    """Return the first place of letters, from the start of a word to the end of one."""
    squeezed = _squeezed(text)
    first = squeezed.find(letters)
    if first < 0 or not letters:
        return None if letters else Span(0, 0)
    places = _places(text)
    for word in _WORD_START.finditer(text, places[first]):
        at = bisect_left(places, word.start())
        if squeezed.startswith(letters, at):
            end = _NAME_END.match(text, places[at + len(letters) - 1] + 1)
            if end is not None:
                return Span(word.start(), end.end())
    return None


@lru_cache(maxsize=512)
def _squeezed(text: str) -> str:
    # The capital of the dotted i is the only letter whose small form has two characters.
    return _NOT_ALNUM.sub("", text.replace("İ", "I")).lower()


@lru_cache(maxsize=16)
def _places(text: str) -> list[int]:
    """Return the place in a text of each letter of its squeezed form."""
    return [letter.start() for letter in _ALNUM.finditer(text)]
