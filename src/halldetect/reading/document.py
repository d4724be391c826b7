"""Spans of characters, and a text with its sentences."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from halldetect.reading.units import Unit


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

    `text.sources.read_source` makes one of a source, `text.reading.read_response` one of a
    response. A check makes one per source document and one of the response, and every step uses
    those.

    text       as it was given
    sentences  the spans of its sentences, in order
    units      of a response: what it says, as it is judged
    readings   of a source: how each sentence is read; None where as it stands; empty where all are
    """

    text: str
    sentences: tuple[Span, ...]
    units: tuple[Unit, ...] = ()
    readings: tuple[str | None, ...] = ()

    def readable(self, span: Span) -> str:
        """The text of a span as a verifier reads it.

        A sentence that the span holds whole is read as its reading; what stands between two
        sentences and is more than white space is a line end.
        """
        if not any(self.readings):
            return span.cut(self.text)
        first = bisect_right(self.sentences, span.start, key=lambda sentence: sentence.end)
        parts: list[str] = []
        at = span.start
        for sentence, reading in zip(self.sentences[first:], self.readings[first:], strict=True):
            if sentence.start >= span.end:
                break
            start, end = max(sentence.start, span.start), min(sentence.end, span.end)
            whole = start == sentence.start and end == sentence.end
            gap = self.text[at:start]
            if gap.strip() or (reading is not None and not gap):
                gap = "\n"
            parts += [gap, reading if reading is not None and whole else self.text[start:end]]
            at = end
        return "".join(parts).strip()

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
