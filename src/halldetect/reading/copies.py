"""Find statements that the source makes word for word.

Such a statement needs no verifier. Letter case, typographic quotation marks and dashes, entities,
white space and the final full stop are ignored.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from html import unescape
from itertools import accumulate

from halldetect.reading.document import Document, Span
from halldetect.reading.words import count_words

# Shorter sentences, such as "Yes." or "Not included.", have no meaning without their context.
MIN_WORDS = 3
_SIGNS = {"'": "‘’‚‛", '"': "“”„‟«»", "-": "‐‑‒–—―−"}
_PLAIN = str.maketrans({sign: plain for plain, signs in _SIGNS.items() for sign in signs})
_END = ".,;:! 。、।॥؟۔،؛"


class Copies:
    """The sentences of some documents in a form that can be compared."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._documents = [(document, *_read(document)) for document in documents]

    def find(self, statement: str) -> tuple[int, Span] | None:
        """Return the document and the sentences that equal a statement; None without any."""
        wanted = _plain(statement).rstrip(_END)
        if count_words(wanted) < MIN_WORDS:
            return None
        for index, (document, text, starts, ends) in enumerate(self._documents):
            for first, start in enumerate(starts):
                last = ends.get(start + len(wanted))
                if last is not None and text.startswith(wanted, start):
                    sentences = document.sentences
                    return index, Span(sentences[first].start, sentences[last].end)
        return None


def _read(document: Document) -> tuple[str, list[int], dict[int, int]]:
    """Return the plain text of a document and its sentences by their start and end in it."""
    parts = [_plain(span.cut(document.text)) for span in document.sentences]
    starts = [0, *accumulate(len(part) + 1 for part in parts)][: len(parts)]
    ends = {
        start + len(part.rstrip(_END)): at
        for at, (start, part) in enumerate(zip(starts, parts, strict=True))
    }
    return " ".join(parts), starts, ends


def _plain(text: str) -> str:
    if "&" in text or not text.isascii():
        text = unicodedata.normalize("NFKC", unescape(text)).translate(_PLAIN)
    return " ".join(text.casefold().split())
