"""The layout of a Markdown text for display, with exact offsets.

The text stays unchanged: a layout says which part of it is a heading, an item or a table cell, and
which punctuation a view may hide. Letters and digits are never hidden.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from halldetect.reading.document import INSERTED, Line, TrackedText
from halldetect.reading.markdown import read_blocks

# Longer texts are shown raw: parsing them takes seconds.
MAX_LENGTH = 200_000
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
_LINE = re.compile(r"[^\r\n]+")
_BAR = re.compile(r"(?<!\\)\|")
_CELL_SYNTAX = re.compile(r"\*\*|__|~~|`+|\\(?=\|)")


class Mark(NamedTuple):
    """A part of a block; `kind` is `syntax` (may be hidden), `strong` or `address`."""

    start: int
    end: int
    kind: str


class Block(NamedTuple):
    """A part of a text that is shown as one block; its JSON form is an array of its fields.

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
