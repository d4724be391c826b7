"""A response during its repair: its sentences, unchanged, changed or removed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

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
_TABLE_RULE = re.compile(r"(?=.*\|)[\s:|-]*-[\s:|-]*")
# The ranks of a bold line, and of a label, a lead-in or a table head; headings come first.
_BOLD_RANK = 7
_LABEL_RANK = 8


@dataclass(slots=True)
class Sentence:
    """One sentence of the response; `why` is the reason for its last change or removal."""

    span: Span
    before: str
    after: str | None  # None once it is removed
    method: Method | None = None
    why: str | None = None
    evidence: Evidence | None = None
    tried: set[str] = field(default_factory=set)  # texts that did not pass

    def change(self, text: str, method: Method) -> None:
        """Replace the text."""
        self.after, self.method = text, method
        self.tried.add(text)

    def remove(self, why: str | None = None) -> None:
        """Remove the sentence."""
        self.after, self.method = None, None
        self.why = why or self.why


class Revision:
    """The sentences of a response, and the text they currently form."""

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
        text = ""
        places: list[Span | None] = []
        for sentence, following in zip(self.sentences, self._gaps[1:], strict=True):
            if sentence.after is None:
                gap = _joined(gap, following, first=not text, last=following is self._gaps[-1])
                places.append(None)
                continue
            text += gap
            places.append(Span(len(text), len(text) + len(sentence.after)))
            text += sentence.after
            gap = following
        return text + gap if text else "", places

    def remove_introductions(self) -> None:
        """Remove headings, labels, lead-ins and table heads whose content was removed."""
        ranks = [self._rank(at) for at in range(len(self.sentences))]
        left: int | None = None  # the next sentence that is left
        for at in reversed(range(len(self.sentences))):
            sentence, rank = self.sentences[at], ranks[at]
            if sentence.after is None:
                continue
            if rank is not None and at + 1 < len(ranks) and left != at + 1:
                other = 0 if left is None else ranks[left]
                ends = left is not None and self._gaps[left].count("\n") > 1
                if (other is not None and other <= rank) or (rank == _LABEL_RANK and ends):
                    sentence.remove("what it introduces was removed")
                    continue
            left = at

    def _rank(self, at: int) -> int | None:
        """Return the rank of a sentence that introduces others; None for any other."""
        text = self.sentences[at].before
        following = self.sentences[at + 1].before if at + 1 < len(self.sentences) else ""
        if heading := _HEADING.match(text):
            return len(heading[1])
        if _BOLD.fullmatch(text):  # "**Price.** It costs 5 euros." has a label
            return _BOLD_RANK if "\n" in self._gaps[at + 1] else _LABEL_RANK
        head = _TABLE_RULE.fullmatch(text) or ("|" in text and _TABLE_RULE.fullmatch(following))
        return _LABEL_RANK if head or text.rstrip(" *_").endswith(":") else None


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
