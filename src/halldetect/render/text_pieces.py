"""A text in the pieces that a page shows, with the claims that cover each piece."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from halldetect.reading.document import Span, place_of
from halldetect.render.phrases import STATE_SYMBOL, STATES, wrong_line
from halldetect.report import ClaimReport, Status

# A place with wrong words, and a line about them.
WordMark = tuple[Span, str]
# The browser lays out the parts of longer texts only when they come near the screen.
_LONG_TEXT = 30_000
_PART_CHARACTERS = 3_000


class ClaimMark(NamedTuple):
    """A place in a text that belongs to a claim."""

    span: Span
    number: int
    status: Status


class Piece(NamedTuple):
    """A part of a text that the same claims cover, and the worst state of them.

    Attributes:
        numbers: the claims that cover it.
        begins: True if one of them begins here.
        ending: number, state and symbol of each claim that ends here.
        note: what is wrong with these words; empty if nothing was found.
    """

    text: str
    status: Status | None
    numbers: tuple[int, ...]
    begins: bool
    ending: list[tuple[int, Status, str]]
    note: str = ""


def claim_pieces(claim: ClaimReport) -> list[Piece]:
    """Return the text of a claim with its wrong words marked."""
    wrong = [
        (place, wrong_line(item, named=False))
        for item in claim.wrong
        if (place := place_of(item.words, claim.text))
    ]
    return [piece for part in parts(claim.text, (), wrong) for piece in part]


def parts(
    text: str, marks: Iterable[ClaimMark], wrong: Iterable[WordMark] = ()
) -> Iterator[list[Piece]]:
    """Yield a text in pieces, cut where a mark begins or ends; a long text in several lists."""
    cuts = [0, *_ends(text, _PART_CHARACTERS if len(text) > _LONG_TEXT else len(text))]
    notes: list[WordMark] = [(Span(0, 0), "")]
    for span, note in sorted(wrong, key=lambda mark: (mark[0].start, -mark[0].end)):
        if notes[-1][0].end <= span.start < span.end <= len(text):
            notes.append((span, note))
    starts: dict[int, list[ClaimMark]] = {}
    ends: dict[int, list[ClaimMark]] = {}
    for mark in marks:
        end = min(mark.span.end, len(text))
        if 0 <= mark.span.start < end:
            starts.setdefault(mark.span.start, []).append(mark)
            ends.setdefault(end, []).append(mark)
    borders = {place for span, _ in notes for place in (span.start, span.end)}
    edges = iter(pairwise(sorted({*cuts, *starts, *ends, *borders})))
    open_marks: dict[int, ClaimMark] = {}
    for stop in cuts[1:]:
        found: list[Piece] = []
        for start, end in edges:
            for mark in ends.get(start, ()):
                del open_marks[mark.number]
            open_marks |= {mark.number: mark for mark in starts.get(start, ())}
            states = {mark.status for mark in open_marks.values()}
            worst = next((state for state in STATES if state in states), None)
            ending = [(at, status, STATE_SYMBOL[status]) for _, at, status in ends.get(end, ())]
            numbers = tuple(sorted(open_marks))
            words, note = notes[bisect(notes, start, key=lambda mark: mark[0].start) - 1]
            note = note if start < words.end else ""
            found.append(Piece(text[start:end], worst, numbers, start in starts, ending, note))
            if end == stop:
                break
        yield found


def _ends(text: str, size: int) -> Iterator[int]:
    """Yield the ends of the parts: after a line, else after a space, else anywhere."""
    start = 0
    while len(text) - start > size:
        end = text.rfind("\n", start, start + size) + 1
        if end <= start + size // 4:
            end = text.rfind(" ", start, start + size) + 1
        start = end if end > start else start + size
        yield start
    yield len(text)
