"""A text in the blocks and pieces that a page shows, with the claims that cover each piece.

In a Markdown text the blocks are headings, items and table cells, and punctuation is left out.
Letters and digits are never left out.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from halldetect.reading.document import INSERTED, Line, Span, TrackedText
from halldetect.reading.markdown import read_blocks
from halldetect.render.phrases import STATE_SYMBOL, STATES
from halldetect.report import Status

# Longer texts are shown raw: parsing them takes seconds.
MAX_LENGTH = 200_000
# Blocks of longer texts are laid out by the browser only when they come near the screen.
_LONG_TEXT = 30_000
_PART_CHARACTERS = 3_000
_MARKDOWN = re.compile(
    r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,9}[.)] |> ?\S|```|~~~|\|)"
    r"|\*\*\S|__\S|`\S|\]\(|^.*\|.*$\n[ |:-]+-",
    re.MULTILINE,
)
_HTML = re.compile(
    r"</?(?!(?:br|b|i|u|em|strong|su[bp]|code|s|del|mark|span|a)\b)[a-z][a-z0-9]*(?:[\s/][^<>]*)?>",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W_]")
_NUMBERED = re.compile(r"\d+[.)]")
_LINE = re.compile(r"[^\r\n]+")
_BAR = re.compile(r"(?<!\\)\|")
_CELL_SYNTAX = re.compile(r"\*\*|__|~~|`+|\\(?=\|)")


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
        style: `strong`, `address` or empty.
    """

    text: str
    status: Status | None
    numbers: tuple[int, ...]
    begins: bool
    ending: list[tuple[int, Status, str]]
    style: str = ""


class ShownBlock(NamedTuple):
    """A block of a text for a page: its class names, and its pieces or the cells of its rows."""

    names: str
    heading: int
    pieces: list[Piece]
    rows: list[list[list[Piece]]]


class Mark(NamedTuple):
    """A part of a block; `kind` is `syntax` (left out), `strong` or `address`."""

    start: int
    end: int
    kind: str


class Block(NamedTuple):
    """A part of a text that is shown as one block.

    Attributes:
        kind: `paragraph`, `heading`, `item`, `code` or `table`.
        start, end: its place in the text.
        level: level of a heading or depth of a list; else 0.
        quoted: True inside a block quote.
        marks: its marks, which may overlap.
        rows: the cells of a table by row, the header first.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    quoted: bool = False
    marks: tuple[Mark, ...] = ()
    rows: tuple[tuple[Block, ...], ...] = ()


def shown_blocks(text: str, marks: Iterable[ClaimMark]) -> tuple[bool, list[ShownBlock]]:
    """Return the blocks of a text with their pieces, and True if it is shown as Markdown."""
    layout = text_layout(text)
    late = " late" if len(text) > _LONG_TEXT else ""
    blocks = layout or tuple(_parts(text, _PART_CHARACTERS if late else len(text)))
    cells = [cell for block in blocks for row in (block.rows or ((block,),)) for cell in row]
    cut = iter(_pieces(text, marks, cells))
    shown = []
    for block in blocks:
        kind = "table" if block.rows else f"{block.kind} depth-{min(block.level, 6)}"
        names = f"block md-{kind}{late}{' quoted' if block.quoted else ''}"
        if block.kind == "item" and not _NUMBERED.match(text, block.start):
            names += " bullet"
        heading = min(6, block.level + 3) if block.kind == "heading" else 0
        rows = [[next(cut) for _ in row] for row in block.rows]
        shown.append(ShownBlock(names, heading, [] if rows else next(cut), rows))
    return layout is not None, shown


def pieces(text: str, marks: Iterable[ClaimMark]) -> list[Piece]:
    """Cut a text wherever one of the marks, which may overlap, begins or ends."""
    (found,) = _pieces(text, marks, [Block("part", 0, len(text))])
    return found


def _pieces(text: str, marks: Iterable[ClaimMark], blocks: Sequence[Block]) -> list[list[Piece]]:
    """Return the pieces of each block; the blocks are in order."""
    inside = [mark for mark in marks if 0 <= mark.span.start < min(mark.span.end, len(text))]
    edges = sorted({edge for mark in inside for edge in (mark.span.start, mark.span.end)})
    claims = _Sweep((mark.span.start, mark.span.end, mark) for mark in inside)
    styles = _Sweep(mark for block in blocks for mark in block.marks)
    seen: set[int] = set()
    found: list[list[Piece]] = []
    for block in blocks:
        cuts = {edge for mark in block.marks for edge in mark[:2]}
        cuts.update(edges[bisect_left(edges, block.start) : bisect_left(edges, block.end)])
        inner = (edge for edge in cuts if block.start < edge < block.end)
        found.append([])
        for start, end in pairwise(sorted({block.start, block.end, *inner})):
            kinds = styles.at(start)
            if "syntax" in kinds:
                continue
            here = claims.at(start)
            numbers = tuple(sorted(mark.number for mark in here))
            states = {mark.status for mark in here}
            worst = next((state for state in STATES if state in states), None)
            begins = not seen.issuperset(numbers)
            seen.update(numbers)
            style = max(kinds, default="")
            found[-1].append(Piece(text[start:end], worst, numbers, begins, [], style))
    last = {mark.number: mark.status for mark in inside}
    for piece in (piece for block in reversed(found) for piece in reversed(block)):
        for number in piece.numbers:
            if state := last.pop(number, None):
                piece.ending.append((number, state, STATE_SYMBOL[state]))
    return found


class _Sweep:
    """The values of (start, end, value) that cover a place; the places only grow."""

    def __init__(self, ranges: Iterable[tuple[int, int, Any]]) -> None:
        self._waiting = sorted(ranges, key=lambda item: item[0], reverse=True)
        self._open: list[tuple[int, int, Any]] = []

    def at(self, place: int) -> list[Any]:
        """Return the values that cover a place."""
        while self._waiting and self._waiting[-1][0] <= place:
            self._open.append(self._waiting.pop())
        self._open = [item for item in self._open if item[1] > place]
        return [value for _, _, value in self._open]


def _parts(text: str, size: int) -> Iterator[Block]:
    """Yield a text in parts, ended at a line, else at a space, else anywhere."""
    start = 0
    while len(text) - start > size:
        end = text.rfind("\n", start, start + size) + 1
        if end <= start + size // 4:
            end = text.rfind(" ", start, start + size) + 1
        end = end if end > start else start + size
        yield Block("part", start, end)
        start = end
    yield Block("part", start, len(text))


def text_layout(text: str) -> tuple[Block, ...] | None:
    """Return the blocks of a Markdown text in order; None for plain text and for HTML."""
    if len(text) > MAX_LENGTH or not _MARKDOWN.search(text) or _HTML.search(text):
        return None
    blocks = tuple(_complete(text, sorted(_blocks(text), key=lambda block: block.start)))
    if all(block.kind == "paragraph" and not block.marks for block in blocks):
        return None
    return blocks


def _blocks(text: str) -> Iterator[Block]:
    rows: list[tuple[Block, ...]] = []
    quoted = False
    for block in read_blocks(text):
        if rows and (block.kind != "row" or not block.header):
            yield _table(rows, quoted)
            rows = []
        if block.kind == "row":
            quoted = block.quoted
            if row := _row(text, block.lines):
                rows.append(row)
            continue
        leaf = _leaf(text, block.kind, block.lines, block.number)
        if leaf is None:
            continue
        if block.kind == "heading":
            start = text.rfind("\n", 0, leaf.start) + 1
            level = text[start : leaf.start].count("#") or 1
            leaf = leaf._replace(level=level)
        elif block.items:
            kind = "item" if block.first and block.kind == "paragraph" else leaf.kind
            leaf = leaf._replace(kind=kind, level=len(block.items))
        yield leaf._replace(quoted=block.quoted)
    if rows:
        yield _table(rows, quoted)


def _table(rows: Sequence[tuple[Block, ...]], quoted: bool) -> Block:
    return Block("table", rows[0][0].start, rows[-1][-1].end, quoted=quoted, rows=tuple(rows))


def _row(text: str, cells: Iterable[Line]) -> tuple[Block, ...]:
    """Return the cells of a table row, including cells without a header."""
    places = [at for cell in cells for at in cell.text.origins if at != INSERTED]
    if not places:
        return ()
    start = max(text.rfind("\n", 0, places[0]), text.rfind("\r", 0, places[0])) + 1
    line = _LINE.match(text, start)
    if line is None:
        return ()
    bars = [bar.start() for bar in _BAR.finditer(text, start, line.end())]
    row = []
    for before, after in pairwise([start - 1, *bars, line.end()]):
        cell = text[before + 1 : after].lstrip(" \t>")
        at = after - len(cell)
        end = at + len(cell.rstrip())
        marks = [Mark(*mark.span(), "syntax") for mark in _CELL_SYNTAX.finditer(text, at, end)]
        row.append(Block("paragraph", at, end, marks=tuple(marks)))
    first, last = text[row[0].start : row[0].end], text[row[-1].start : row[-1].end]
    return tuple(row[0 if first else 1 : len(row) if last else -1])


def _leaf(
    text: str, kind: str, lines: Sequence[Line], number: TrackedText | None = None
) -> Block | None:
    """Return a block of lines; punctuation between their characters is marked as syntax."""
    marks: list[Mark] = []
    shown = set(number.origins if number else ())
    for line in lines:
        origins = [
            # The origin of an escaped character is its backslash.
            at + 1 if at != INSERTED and text[at] == "\\" != char else at
            for at, char in zip(line.text.origins, line.text.text, strict=True)
        ]
        shown.update(origins)
        for span in line.strong:
            if known := [at for at in origins[span.start : span.end] if at != INSERTED]:
                marks.append(Mark(min(known), max(known) + 1, "strong"))
        for aside in line.aside:
            if place := aside.raw_span():
                shown.update(range(place.start, place.end))
                marks.append(Mark(place.start, place.end, "address"))
    places = sorted(shown - {INSERTED})
    if not places:
        return None
    gaps = ((at + 1, after) for at, after in pairwise(places))
    for start, end in gaps:
        if start < end and not _WORD.search(text, start, end):
            for part in _LINE.finditer(text, start, end):
                if part[0].strip():
                    marks.append(Mark(part.start(), part.end(), "syntax"))
    return Block(kind, places[0], places[-1] + 1, marks=tuple(sorted(marks)))


def _complete(text: str, blocks: Iterable[Block]) -> Iterator[Block]:
    """Yield the blocks without overlaps, and a paragraph for words outside all blocks."""
    at = 0
    for block in (*blocks, Block("end", len(text), len(text))):
        if block.start < at:
            continue
        if missed := _words(text, at, block.start):
            yield missed
        if block.kind != "end":
            yield block
        at = block.end


def _words(text: str, start: int, end: int) -> Block | None:
    """Return the part of a text as a paragraph; None if it has no words."""
    if not _WORD.search(text, start, end):
        return None
    part = text[start:end].lstrip(" \t\r\n`~|")
    start = end - len(part)
    return Block("paragraph", start, start + len(part.rstrip(" \t\r\n`~|")))
