"""Passages: the parts of documents that are found and judged, and what can find them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences, trimmed

# In characters: a few sentences, which a verifier reads at once.
PASSAGE_CHARACTERS = 800
_PARAGRAPH_END = re.compile(r"\n\s*\n|\r\n\s*\r\n")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of a document.

    text      of the passage
    document  the name of the document
    span      its place in the document
    title     of the document; empty if it has none
    """

    text: str
    document: str
    span: Span
    title: str = ""

    @property
    def name(self) -> str:
        """The document and the place in it, as a report names it."""
        return f"{self.document}, characters {self.span.start}–{self.span.end}"

    @property
    def text_with_title(self) -> str:
        """The text as it is judged: under its title, which tells what it is about."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Knowledge(Protocol):
    """Anything that finds passages for claims."""

    @property
    def description(self) -> dict[str, Any]:
        """What a report records: name, digest, number of passages."""
        ...

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """For each claim the passages that are about it, best first; none if nothing is.

        claims  what to look for
        limit   the greatest number of passages per claim
        Raises CheckError on failure.
        """
        ...


class SearchIndex(Knowledge, Protocol):
    """An index of our own, which knows its documents."""

    def has_document(self, name: str) -> bool:
        """Whether there is a document of that name."""
        ...

    def close(self) -> None:
        """Close the file or connection."""
        ...


def cut_passages(text: str) -> Iterator[Span]:
    """The passages of a document: runs of whole paragraphs, or of sentences of a long one.

    text  of the document
    """
    run: Span | None = None
    for piece in _pieces(text):
        if run is not None and piece.end - run.start <= PASSAGE_CHARACTERS:
            run = Span(run.start, piece.end)
            continue
        if run is not None:
            yield run
        run = piece
    if run is not None:
        yield run


def _pieces(text: str) -> Iterator[Span]:
    """Paragraphs; the sentences of those that are too long; parts of those sentences."""
    start = 0
    for end, following in [
        *((m.start(), m.end()) for m in _PARAGRAPH_END.finditer(text)),
        (len(text), 0),
    ]:
        paragraph = trimmed(text, start, end)
        start = following
        if paragraph is None:
            continue
        if len(paragraph) <= PASSAGE_CHARACTERS:
            yield paragraph
            continue
        for sentence in sentences(paragraph.cut(text)):
            for at in range(sentence.start, sentence.end, PASSAGE_CHARACTERS):
                part = trimmed(
                    text,
                    paragraph.start + at,
                    paragraph.start + min(at + PASSAGE_CHARACTERS, sentence.end),
                )
                if part is not None:
                    yield part
