"""Passages: the parts of documents to search and judge, and the search protocol."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences, trimmed

# In characters: a few sentences, which a verifier reads at once.
PASSAGE_CHARACTERS = 800
_PARAGRAPH_END = re.compile(r"\n\s*\n|\r\n\s*\r\n|\Z")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with the name of its document, its place there, and a title, which may be empty."""

    text: str
    document: str
    span: Span
    title: str = ""

    @property
    def name(self) -> str:
        """The document and the place in it, as shown in a report."""
        return f"{self.document}, characters {self.span.start}–{self.span.end}"

    @property
    def text_with_title(self) -> str:
        """The text to judge: under its title, which names its subject."""
        return f"{self.title}\n{self.text}" if self.title else self.text


class Knowledge(Protocol):
    """Anything that finds passages for claims."""

    @property
    def description(self) -> dict[str, Any]:
        """The name, digest and number of passages, for the report."""
        ...

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """Return for each claim at most `limit` passages about it, best first."""
        ...


def cut_passages(text: str) -> Iterator[Span]:
    """Yield the passages of a document: whole paragraphs, or whole sentences of long ones."""
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
    """Yield paragraphs, the sentences of long paragraphs, and parts of long sentences."""
    start = 0
    for found in _PARAGRAPH_END.finditer(text):
        paragraph = trimmed(text, start, found.start())
        start = found.end()
        if paragraph is None:
            continue
        if len(paragraph) <= PASSAGE_CHARACTERS:
            yield paragraph
            continue
        for sentence in sentences(paragraph.cut(text)):
            first, last = paragraph.start + sentence.start, paragraph.start + sentence.end
            for at in range(first, last, PASSAGE_CHARACTERS):
                part = trimmed(text, at, min(at + PASSAGE_CHARACTERS, last))
                if part is not None:
                    yield part
