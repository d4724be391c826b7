"""A response during its repair: its sentences, unchanged, changed or removed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from halldetect.reading.document import Document, Span
from halldetect.repair.outcome import Method
from halldetect.report import Evidence

# Marks of lists, quotations and headings at the start of a line.
_LINE_MARK = re.compile(r"\s*(?:(?:[-*+•‣▪◦●○>]|#{1,6}|\(?\d{1,3}[.)]|\[[ xX]\])\s+)*")
# Citation numbers after a full stop.
_CITATIONS = re.compile(r"(?<=[.!?])(?:\s?\[\^?\d{1,3}(?:\s?[,;–-]\s?\d{1,3})*\])+\s*$")
_LINE_END = re.compile(r"\r\n|[\n\r\u2028\u2029]")
_BLANK_LINE = re.compile(rf"[ \t]*(?:{_LINE_END.pattern})")
_HEADING = re.compile(r"\s*(#{1,6})\s")
_BOLD = re.compile(r"[^\w*]*(?:\*\*[^*]+\*\*|__[^_]+__)[:.]?")
# A bold line ranks below all headings.
_BOLD_LEVEL = 7
_ITEM = re.compile(r"(?:[-*+•‣▪◦●○]|\(?\d{1,3}[.)])\s")
_TABLE_RULE = re.compile(r"(?=.*\|)[\s:|-]*-[\s:|-]*")


@dataclass(slots=True)
class Sentence:
    """One sentence of the response.

    Attributes:
        span: Its place in the response.
        before: The original text.
        after: The current text; None once it is removed.
        method: The method of the last change.
        why: The reason for the change or removal.
        evidence: The decisive passage of the source.
        unclear: True if the original may stay: not supported, but not past the threshold.
        tried: Texts that did not pass.
    """

    span: Span
    before: str
    after: str | None
    method: Method | None = None
    why: str | None = None
    evidence: Evidence | None = None
    unclear: bool = False
    tried: set[str] = field(default_factory=set)

    def change(self, text: str, method: Method) -> None:
        """Replace the text."""
        self.after, self.method = text, method
        self.tried.add(text)

    def remove(self, why: str | None = None) -> None:
        """Remove the sentence."""
        self.after, self.method = None, None
        self.why = why or self.why

    def give_up(self) -> None:
        """Restore the sentence if the original may stay, otherwise remove it."""
        self.after, self.method = (self.before if self.unclear else None), None


class Revision:
    """The sentences of a response, and the text they currently form.

    Args:
        response: The response with its sentences.
    """

    def __init__(self, response: Document) -> None:
        self.response = response
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
        """Return the current text, and the place of each sentence; None if it was removed.

        White space around a removed sentence closes up; a line without a sentence is removed.
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

    def remove_introductions(self) -> None:
        """Remove headings, labels, lead-ins and table heads whose content was removed."""
        places = list(_places(self.response, self.sentences))
        for at in reversed(range(len(places))):
            introduced = self.sentences[at + 1 : at + 1 + len(_introduced(places, at))]
            left = any(sentence.after is not None for sentence in introduced)
            if introduced and not left and self.sentences[at].after is not None:
                self.sentences[at].remove("what it introduces was removed")


def _joined(before: str, after: str, *, first: bool, last: bool) -> str:
    """Return the gap that remains when the sentence between two gaps is removed."""
    opens_line = first or _LINE_END.search(before) is not None
    ends_line = _LINE_END.search(after)
    if opens_line and ends_line is not None:  # the line is removed with its mark
        *_, opening = [0, *(match.end() for match in _LINE_END.finditer(before))]
        above, below = before[:opening], after[ends_line.end() :]
        blank = _BLANK_LINE.match(below)
        if blank is not None and (first or len(_LINE_END.findall(above)) > 1):
            below = below[blank.end() :]  # one blank line is enough
        return above + below
    if opens_line and last:
        return "" if first else _LINE_END.split(before)[0]
    return before + after.lstrip() if opens_line else before.rstrip() + after


def split_marks(sentence: str) -> tuple[str, str, str]:
    """Split a sentence into list, quotation or heading mark, words, and final citations."""
    mark = _LINE_MARK.match(sentence)
    start = 0 if mark is None or mark.end() == len(sentence) else mark.end()
    citations = _CITATIONS.search(sentence, start)
    end = len(sentence) if citations is None else citations.start()
    return sentence[:start], sentence[start:end], sentence[end:]


@dataclass(frozen=True, slots=True)
class _Place:
    """The layout of a sentence.

    Attributes:
        text: The sentence.
        line: The start of its line.
        indent: Its offset in the line.
        level: The level of a title; 0 for other text.
        item: True if it begins a list item.
        paragraph: True if it follows a blank line.
    """

    text: str
    line: int
    indent: int
    level: int
    item: bool
    paragraph: bool


def _places(response: Document, sentences: Sequence[Sentence]) -> Iterator[_Place]:
    end = 0
    for sentence in sentences:
        start, text = sentence.span.start, sentence.before
        gap = response.text[end:start]
        line = response.text.rfind("\n", 0, start) + 1
        heading = _HEADING.match(text)
        level = len(heading[1]) if heading else _BOLD_LEVEL if _BOLD.fullmatch(text) else 0
        item = (not end or "\n" in gap) and _ITEM.match(text) is not None
        yield _Place(text, line, start - line, level, item, gap.count("\n") > 1)
        end = sentence.span.end


def _introduced(places: Sequence[_Place], at: int) -> list[_Place]:
    """Return the sentences that one introduces; none if it makes a statement of its own."""
    place, following = places[at], places[at + 1 :]
    if not following:
        return []
    first = following[0]
    if first.line == place.line:  # "**Price.** It costs 5 euros."
        same_line = takewhile(lambda other: other.line == place.line, following)
        return list(same_line) if place.level else []
    if place.level:
        return list(takewhile(lambda other: not 0 < other.level <= place.level, following))
    rules = [_TABLE_RULE.fullmatch(other.text) is not None for other in (place, first)]
    if rules[0] or ("|" in place.text and rules[1]):
        return list(takewhile(lambda other: "|" in other.text, following))
    if not place.text.rstrip(" *_").endswith(":") or first.level:
        return []
    if place.item:  # an item with a list of its own
        return list(takewhile(lambda other: other.indent > place.indent, following))
    if first.item:
        return list(takewhile(lambda other: other.item or other.indent > 0, following))
    return [first, *takewhile(lambda other: not other.paragraph, following[1:])]
