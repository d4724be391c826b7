"""Spans of characters, and a text with its sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass


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
    """A text and the spans of its sentences, in order.

    `halldetect.text.sentences.read_document` makes one of a text. A check makes one per source
    document and one of the response, and every step uses those.
    """

    text: str
    sentences: tuple[Span, ...]

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
