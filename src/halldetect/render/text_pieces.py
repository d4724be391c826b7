"""A text in the pieces that a page shows, with the claims that cover each piece."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from halldetect.reading.document import Span, place_of
from halldetect.report import ClaimReport, Status
from halldetect.report.phrases import STATE_SYMBOL, STATES, wrong_line

# A place with wrong words, and a line about them.
WordMark = tuple[Span, str]
# The browser lays out the parts of longer texts only when they come near the screen.
_LONG_TEXT = 30_000
# A part ends after a line, else after a space, else anywhere.
_PART = re.compile(r".{750,3000}\n|.{750,3000}\s|.{1,3000}", re.DOTALL)


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
    text: str,
    marks: Iterable[ClaimMark],
    wrong: Iterable[WordMark] = (),
    place: Span | None = None,
) -> Iterator[list[Piece]]:
    """Yield a text, or one place of it, in pieces; a long one in several lists.

    It is cut where a mark begins or ends.
    """
    place = place or Span(0, len(text))
    stops = [place.end]
    if len(place) > _LONG_TEXT:
        stops = [part.end() for part in _PART.finditer(text, place.start, place.end)]
    notes: list[WordMark] = [(Span(place.start, place.start), "")]
    for span, note in sorted(wrong, key=lambda mark: (mark[0].start, -mark[0].end)):
        if notes[-1][0].end <= span.start < span.end <= place.end:
            notes.append((span, note))
    starts: dict[int, list[ClaimMark]] = {}
    ends: dict[int, list[ClaimMark]] = {}
    for mark in marks:
        start, end = max(mark.span.start, place.start), min(mark.span.end, place.end)
        if start < end:
            starts.setdefault(start, []).append(mark)
            ends.setdefault(end, []).append(mark)
    borders = {at for span, _ in notes for at in (span.start, span.end)}
    edges = iter(pairwise(sorted({*stops, *starts, *ends, *borders})))
    open_marks: dict[int, ClaimMark] = {}
    for stop in stops:
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
