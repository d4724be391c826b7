"""Texts and their parts: spans, texts with known origins, blocks, units, documents."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import NamedTuple

INSERTED = -1
_MARK_UP = re.compile(r"[\s*_`]+")


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """A half-open range of characters in a text."""

    start: int
    end: int

    def cut(self, text: str) -> str:
        """Return the part of the text in this range."""
        return text[self.start : self.end]

    def overlaps(self, other: Span) -> bool:
        """Return True if the two ranges share a character."""
        return self.start < other.end and other.start < self.end

    def __len__(self) -> int:
        return self.end - self.start


def place_of(words: str, text: str) -> Span | None:
    """Return the first place of words in a text; it may have mark-up between them.

    Whole words come before parts of words: "six" alone before the one in "sixteen".
    """
    pieces = filter(None, _MARK_UP.split(words))
    pattern = rf"{_MARK_UP.pattern}+".join(map(re.escape, pieces))  # possessive
    if not pattern:
        return None
    whole = re.search(rf"(?i)(?<!\w)(?:{pattern})(?!\w)", text)
    found = whole or re.search(f"(?i){pattern}", text)
    return None if found is None else Span(*found.span())


class TrackedText(NamedTuple):
    """A text made from a raw text by leaving out, replacing or adding characters.

    Attributes:
        text: The characters.
        origins: The index in the raw text of each character; `INSERTED` for an added one.
    """

    text: str
    origins: Sequence[int]

    @classmethod
    def of(cls, raw: str, start: int, end: int) -> TrackedText:
        """Return a range of a raw text, unchanged."""
        return cls(raw[start:end], range(start, end))

    @classmethod
    def added(cls, text: str) -> TrackedText:
        """Return a text that has no origin in the raw text."""
        return cls(text, (INSERTED,) * len(text))

    @classmethod
    def joined(cls, parts: Iterable[TrackedText]) -> TrackedText:
        """Join the parts."""
        kept = [part for part in parts if part.text]
        if len(kept) == 1:
            return kept[0]
        text = "".join([part.text for part in kept])
        ranges = [part.origins for part in kept if isinstance(part.origins, range)]
        if len(ranges) == len(kept) > 0 and all(a.stop == b.start for a, b in pairwise(ranges)):
            return cls(text, range(ranges[0].start, ranges[-1].stop))
        return cls(text, tuple(chain.from_iterable([part.origins for part in kept])))

    def cut(self, start: int, end: int | None = None) -> TrackedText:
        """Return the range of characters from `start` to `end`."""
        end = len(self.text) if end is None else end
        if start == 0 and end == len(self.text):
            return self
        return TrackedText(self.text[start:end], self.origins[start:end])

    def stripped(self, characters: str | None = None) -> TrackedText:
        """Strip white space, or any of `characters`, from both ends."""
        content = self.text.strip(characters)
        if len(content) == len(self.text):
            return self
        start = len(self.text) - len(self.text.lstrip(characters)) if content else 0
        return self.cut(start, start + len(content))

    def edited(self, changes: Iterable[tuple[int, int, str]]) -> TrackedText:
        """Replace ranges, which are in order and do not overlap, by new texts.

        A new text gets the origin of the first replaced character, if one is replaced.
        """
        parts, at = [], 0
        for start, end, text in changes:
            origin = self.origins[start] if end > start else INSERTED
            parts += [self.cut(at, start), TrackedText(text, (origin,) * len(text))]
            at = end
        return TrackedText.joined([*parts, self.cut(at)]) if parts else self

    def capitalized(self) -> TrackedText:
        """Capitalize the first character."""
        first = self.text[:1].upper()
        if first == self.text[:1] or len(first) != 1:
            return self
        return TrackedText(first + self.text[1:], self.origins)

    def raw_span(self, span: Span | None = None) -> Span | None:
        """Return the smallest range of the raw text with all characters of a span.

        None if no character of the span, by default all of this text, comes from the raw text.
        """
        runs = (self if span is None else self.cut(span.start, span.end)).raw_runs()
        return Span(min(runs)[0], max(end for _, end in runs)) if runs else None

    def raw_runs(self) -> list[tuple[int, int]]:
        """Return the ranges of the raw text that the characters come from, in their order."""
        if isinstance(self.origins, range):
            return [(self.origins.start, self.origins.stop)] if self.origins else []
        known = [origin for origin in self.origins if origin != INSERTED]
        breaks = [at for at in range(1, len(known)) if known[at] != known[at - 1] + 1]
        ends = zip([0, *breaks], [*breaks, len(known)], strict=True)
        return [(known[start], known[end - 1] + 1) for start, end in ends if end > start]


class Line(NamedTuple):
    """A line of a block without its mark-up.

    Attributes:
        text: The words.
        strong: The bold ranges.
        aside: Text in the mark-up: link addresses and titles, comments, attributes.
        struck: True if the whole line is struck out; struck words inside a line are left out.
    """

    text: TrackedText
    strong: tuple[Span, ...] = ()
    aside: tuple[TrackedText, ...] = ()
    struck: bool = False

    @property
    def bold(self) -> bool:
        """True if the whole line is bold."""
        words = self.text.text.strip()
        return bool(words) and any(
            span.cut(self.text.text).strip().rstrip(":") == words.rstrip(":")
            for span in self.strong
        )


class Block(NamedTuple):
    """A paragraph, heading, table row or run of code.

    Attributes:
        kind: "paragraph", "heading", "row" or "code".
        lines: The lines; the cells of a row.
        items: Numbers of the enclosing list items, outermost first; empty outside lists.
        first: True for the first block of its innermost list item.
        number: The mark of that item ("3.") if it is numbered.
        header: The header cells of a row.
    """

    kind: str
    lines: tuple[Line, ...]
    items: tuple[int, ...] = ()
    first: bool = False
    number: TrackedText | None = None
    header: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """A mark that cites a source; the label is "1" or "Smith 2020", without brackets."""

    label: str
    span: Span


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, list item, table cell, heading or label of a response.

    Attributes:
        tracked: The text to judge: without marks, citations and openers, with the lead-in or
            headers it needs.
        span: Its own words in the raw text, without lead-in and headers.
        lead_in: The heading, lead-in or headers before it, if any.
        citations: The marks found in it.
        problem: Why it cannot be judged; None if it can.
        reason: Why it is not judged, such as "a courtesy"; None if it is.
    """

    tracked: TrackedText
    span: Span
    lead_in: str | None = None
    citations: tuple[Citation, ...] = ()
    problem: str | None = None
    reason: str | None = None

    @property
    def text(self) -> str:
        """The text to judge."""
        return self.tracked.text

    @property
    def asserts(self) -> bool:
        """True if it can be true or false."""
        return self.reason is None

    @property
    def abstains(self) -> bool:
        """True if it only declines to answer."""
        return self.reason == "an abstention"


@dataclass(frozen=True, slots=True)
class UncheckedPart:
    """A part of a response that was not judged.

    `reason` is its kind, such as "code" or "a question". `asserting` is True if it may tell
    something that the source does not say.
    """

    text: str
    span: Span
    reason: str
    asserting: bool


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its sentences, read once per check and shared by all steps.

    Attributes:
        text: The raw text.
        sentences: The spans of the sentences of a source, in order.
        units: The pieces of a response to judge; see `response.read_response`.
        readings: The form of each sentence of a source that the verifier reads, None if that is
            the raw text; empty if no sentence has one. See `sources.read_source`.
    """

    text: str
    sentences: tuple[Span, ...]
    units: tuple[Unit, ...] = ()
    readings: tuple[str | None, ...] = ()

    def readable(self, span: Span) -> str:
        """Return the text of a span as a verifier reads it.

        Each sentence that lies fully in the span is replaced by its reading. Text between two
        sentences becomes a line end. Sentences of one value or turn have its label once.
        """
        if not any(self.readings):
            return span.cut(self.text)
        first = bisect_right(self.sentences, span.start, key=lambda sentence: sentence.end)
        parts: list[str] = []
        at, label = span.start, ""
        for sentence, reading in zip(self.sentences[first:], self.readings[first:], strict=True):
            if sentence.start >= span.end:
                break
            start, end = max(sentence.start, span.start), min(sentence.end, span.end)
            whole = start == sentence.start and end == sentence.end
            said = reading if reading is not None and whole else self.text[start:end]
            gap = self.text[at:start].replace(r"\n", "\n")  # a line end inside a JSON string
            before, (label, colon, rest) = label, said.partition(": ")
            if reading is not None and colon and label == before and gap.isspace():
                said = rest
            elif gap.strip() or (reading is not None and not gap):
                gap = "\n"
            parts += [gap, said]
            at = end
        return "".join(parts).strip()

    def sentences_in(self, span: Span) -> tuple[Span, ...]:
        """Return the sentences that overlap a span, cut to the span."""
        if len(span) == 0:
            return ()
        first = bisect_right(self.sentences, span.start, key=lambda sentence: sentence.end)
        last = bisect_left(self.sentences, span.end, key=lambda sentence: sentence.start)
        return tuple(
            Span(max(sentence.start, span.start), min(sentence.end, span.end))
            for sentence in self.sentences[first:last]
        )
