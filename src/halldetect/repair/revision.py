"""A response while it is repaired: its sentences, each as it stands, changed or removed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from halldetect.reading.document import Document, Span
from halldetect.repair.outcome import Method
from halldetect.report import Evidence

# What may stand before the words of a line: the marks of lists, quotations and headings.
_LINE_MARK = re.compile(r"\s*(?:(?:[-*+•‣▪◦●○>]|#{1,6}|\(?\d{1,3}[.)]|\[[ xX]\])\s+)*")
# Numbers of sources behind a full stop.
_CITATIONS = re.compile(r"(?<=[.!?])(?:\s?\[\^?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\])+\s*$")
_LINE_END = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_BLANK_LINE = re.compile(rf"[ \t]*(?:{_LINE_END.pattern})")


@dataclass(slots=True)
class Sentence:
    """One sentence of the response.

    span      its place in the response
    before    as it was
    after     as it is now; None once it is removed
    method    how it was changed last
    why       why it is changed or removed
    evidence  the window of the source that decided
    optional  whether it may stay as it was: it is unclear, but not past the threshold
    tried     texts that did not pass
    """

    span: Span
    before: str
    after: str | None
    method: Method | None = None
    why: str | None = None
    evidence: Evidence | None = None
    optional: bool = False
    tried: set[str] = field(default_factory=set)

    @property
    def removed(self) -> bool:
        """Whether it is removed."""
        return self.after is None

    def change(self, text: str, method: Method) -> None:
        """Put another text in its place."""
        self.after, self.method = text, method
        self.tried.add(text)

    def remove(self) -> None:
        """Take it out."""
        self.after, self.method = None, None

    def give_up(self) -> None:
        """Nothing better was found: put it back as it was if that is allowed, else take it out."""
        self.after, self.method = (self.before if self.optional else None), None


class Revision:
    """The sentences of a response and the text that they make at present.

    Args:
        response: the response with its sentences.
    """

    def __init__(self, response: Document) -> None:
        self.sentences = [
            Sentence(span, span.cut(response.text), span.cut(response.text))
            for span in response.sentences
        ]
        edges = [0, *(edge for span in response.sentences for edge in (span.start, span.end))]
        edges.append(len(response.text))
        self._gaps = [
            response.text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)
        ]

    def compose(self) -> tuple[str, list[Span | None]]:
        """The text as it is now, and the place of each sentence in it; None where removed.

        White space around a removed sentence closes up; a line without a sentence goes.
        """
        gap = self._gaps[0]
        parts: list[str] = []
        places: list[Span | None] = []
        length = 0
        for sentence, following in zip(self.sentences, self._gaps[1:], strict=True):
            if sentence.after is None:
                gap = _joined(gap, following, first=not parts, last=following is self._gaps[-1])
                places.append(None)
                continue
            parts += [gap, sentence.after]
            length += len(gap)
            places.append(Span(length, length + len(sentence.after)))
            length += len(sentence.after)
            gap = following
        if not parts:
            return "", places
        return "".join([*parts, gap]), places


def _joined(before: str, after: str, *, first: bool, last: bool) -> str:
    """The gap that is left when the sentence between two gaps is removed."""
    opens_line = first or _LINE_END.search(before) is not None
    ends_line = _LINE_END.search(after)
    if opens_line and ends_line is not None:  # the line goes, with its mark
        *_, opening = [0, *(match.end() for match in _LINE_END.finditer(before))]
        above, below = before[:opening], after[ends_line.end() :]
        blank = _BLANK_LINE.match(below)
        if blank is not None and (first or len(_LINE_END.findall(above)) > 1):
            below = below[blank.end() :]  # one blank line is enough
        return above + below
    if opens_line and last:
        return "" if first else _LINE_END.split(before)[0]
    if opens_line:
        return before + after.lstrip()
    return before.rstrip() + after


def split_marks(sentence: str) -> tuple[str, str, str]:
    """The mark of a list, a quotation or a heading, the sentence, and the citations behind it."""
    mark = _LINE_MARK.match(sentence)
    start = 0 if mark is None or mark.end() == len(sentence) else mark.end()
    citations = _CITATIONS.search(sentence, start)
    end = len(sentence) if citations is None else citations.start()
    return sentence[:start], sentence[start:end], sentence[end:]
