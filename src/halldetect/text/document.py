"""Spans of characters, and a text with its sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halldetect.text.units import Unit


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of characters of some text."""

    start: int
    end: int

    def cut(self, text: str) -> str:
        """The part of the text in this range."""
        return text[self.start : self.end]

    def __len__(self) -> int:
        return self.end - self.start


@dataclass(frozen=True, slots=True)
class Document:
    """A text and what it consists of.

    `text.sentences.read_document` makes one of a source, `text.reading.read_response` one of a
    response. A check makes one per source document and one of the response, and every step uses
    those.

    text       as it was given
    sentences  the spans of its sentences, in order
    units      of a response: what it says, as it is judged
    """

    text: str
    sentences: tuple[Span, ...]
    units: tuple[Unit, ...] = ()

    def sentences_in(self, span: Span) -> tuple[Span, ...]:
        """The sentences that a span covers in whole or part, without what lies outside it."""
        if len(span) == 0:
            return ()
        first = bisect_right(self.sentences, span.start, key=lambda sentence: sentence.end)
        last = bisect_left(self.sentences, span.end, key=lambda sentence: sentence.start)
        return tuple(
            Span(max(sentence.start, span.start), min(sentence.end, span.end))
            for sentence in self.sentences[first:last]
        )
