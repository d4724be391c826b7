"""A text in blocks and pieces, with the claims that mark it: for pages that are not interactive."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from halldetect.reading.document import Span
from halldetect.render.passages import segments
from halldetect.render.phrases import STATE_SYMBOL, STATES
from halldetect.render.text_layout import Block, text_layout
from halldetect.report import Status

_BLANK_LINES = re.compile(r"\s*\n\s*\n\s*")
_NUMBERED = re.compile(r"\d+[.)]")
# Characters kept on either side of a mark where a text is too long to be shown whole.
_AROUND = 120


@dataclass(frozen=True, slots=True)
class ClaimMark:
    """A stretch of a text that belongs to a claim.

    span    its place
    number  of the claim, from 1
    status  of the claim
    """

    span: Span
    number: int
    status: Status

    @property
    def symbol(self) -> str:
        """The symbol of the state."""
        return STATE_SYMBOL[self.status]


@dataclass(slots=True)
class Piece:
    """A stretch of a block.

    text    the text
    status  the worst state of the claims that it belongs to; None without one
    style   names of its Markdown marks, separated by spaces
    ending  the claims whose mark ends here
    """

    text: str
    status: str | None = None
    style: str = ""
    ending: list[ClaimMark] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class MarkedBlock:
    """A block as `text_layout` finds it, in pieces.

    kind     as of `Block`, or `omitted`
    level    as of `Block`
    quoted   as of `Block`
    bullet   whether it is an item without a number
    pieces   its text
    rows     the cells of a table, each as pieces
    omitted  characters that are left out here
    """

    kind: str
    level: int = 0
    quoted: bool = False
    bullet: bool = False
    pieces: tuple[Piece, ...] = ()
    rows: tuple[tuple[tuple[Piece, ...], ...], ...] = ()
    omitted: int = 0


def marked_text(text: str, marks: Sequence[ClaimMark], limit: int | None = None) -> MarkedText:
    """Return a text in blocks, each cut into pieces by its marks.

    Args:
        text: the text.
        marks: the stretches to mark, which may overlap.
        limit: of a text with more characters, only what lies around the marks is shown.
    """
    kept = [Span(0, len(text))]
    if limit is not None and len(text) > limit:
        kept = _excerpts(text, marks)
    return _Builder(text, marks, kept).build()


MarkedText = tuple[MarkedBlock, ...]


def _excerpts(text: str, marks: Sequence[ClaimMark]) -> list[Span]:
    """The stretches around the marks, widened to whole words and joined where they meet."""
    kept: list[Span] = []
    for mark in sorted(marks, key=lambda mark: mark.span.start):
        start = max(0, mark.span.start - _AROUND)
        start = 0 if start == 0 else max(text.rfind(" ", 0, start), text.rfind("\n", 0, start)) + 1
        end = min(len(text), mark.span.end + _AROUND)
        end = next((at for at in range(end, len(text)) if text[at].isspace()), len(text))
        if kept and start <= kept[-1].end:
            kept[-1] = Span(kept[-1].start, max(end, kept[-1].end))
        else:
            kept.append(Span(start, end))
    return kept


def _plain_blocks(text: str) -> Iterator[Block]:
    at = 0
    for gap in _BLANK_LINES.finditer(text):
        if gap.start() > at:
            yield Block("paragraph", at, gap.start())
        at = gap.end()
    if text[at:].strip():
        yield Block("paragraph", at, len(text))


class _Builder:
    def __init__(self, text: str, marks: Sequence[ClaimMark], kept: Sequence[Span]) -> None:
        self._text = text
        self._marks = marks
        self._kept = kept
        self._last: dict[int, Piece] = {}  # by place of the mark: its last visible piece
        self._by_start = sorted(range(len(marks)), key=lambda place: marks[place].span.start)
        self._starts = [marks[place].span.start for place in self._by_start]
        # Up to each mark, the greatest end: it never falls, so that it can be searched.
        self._ends = list(accumulate((marks[place].span.end for place in self._by_start), max))

    def build(self) -> MarkedText:
        layout = text_layout(self._text)
        blocks = layout if layout is not None else tuple(_plain_blocks(self._text))
        block_starts = [block.start for block in blocks]
        block_ends = [block.end for block in blocks]
        made: list[MarkedBlock] = []
        for at, kept in enumerate(self._kept):
            before = self._kept[at - 1].end if at else 0
            if kept.start > before:
                made.append(MarkedBlock("omitted", omitted=kept.start - before))
            first = bisect_right(block_ends, kept.start)
            last = bisect_left(block_starts, kept.end)
            made.extend(self._block(block, kept) for block in blocks[first:last])
        rest = len(self._text) - (self._kept[-1].end if self._kept else 0)
        if rest:
            made.append(MarkedBlock("omitted", omitted=rest))
        for place, piece in self._last.items():
            piece.ending.append(self._marks[place])
        return tuple(made)

    def _block(self, block: Block, kept: Span) -> MarkedBlock:
        if block.kind == "table":
            rows = tuple(
                tuple(tuple(self._pieces(cell, kept)) for cell in row) for row in block.rows
            )
            return MarkedBlock("table", quoted=block.quoted, rows=rows)
        numbered = _NUMBERED.match(self._text, block.start, block.end)
        return MarkedBlock(
            block.kind,
            block.level,
            block.quoted,
            block.kind == "item" and not numbered,
            tuple(self._pieces(block, kept)),
        )

    def _pieces(self, block: Block, kept: Span) -> Iterator[Piece]:
        start, end = max(block.start, kept.start), min(block.end, kept.end)
        if start >= end:
            return
        here = self._marks_between(start, end)
        spans = [self._marks[place].span for place in here]
        spans += [Span(mark.start, mark.end) for mark in block.marks]
        local = [Span(max(0, span.start - start), min(end, span.end) - start) for span in spans]
        for part in segments(end - start, local):
            styles = [block.marks[at - len(here)].kind for at in part.covers if at >= len(here)]
            if "syntax" in styles:
                continue
            claims = [here[at] for at in part.covers if at < len(here)]
            states = {self._marks[place].status for place in claims}
            piece = Piece(
                self._text[start + part.start : start + part.end],
                next((state.value for state in STATES if state in states), None),
                " ".join(dict.fromkeys(styles)),
            )
            for place in claims:
                self._last[place] = piece
            yield piece

    def _marks_between(self, start: int, end: int) -> list[int]:
        """The places of the marks that overlap a stretch, in their order."""
        first, last = bisect_right(self._ends, start), bisect_left(self._starts, end)
        places = self._by_start[first:last]
        return sorted(place for place in places if self._marks[place].span.end > start)
