"""The blocks of a Markdown text as ranges of its characters, found line by line in linear time.

The rules are those of CommonMark with tables, but indented text is never code, because in answers
it is not, and neither link definitions nor HTML are blocks, because their words would disappear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, cast

from halldetect.reading.document import Span

_LINE = re.compile(r"([^\r\n]*)(?:\r\n?|\n|$)")
_SPACES = re.compile(r"[ \t]*")
_START = re.compile(
    r"(?P<quote>>)|(?P<fence>`{3,}+(?=[^`]*$)|~{3,}+)"
    r"|(?P<rule>([-*_])[ \t]*+(?:\4[ \t]*+){2,}+$)"
    r"|(?P<item>(?:[-+*]|(?P<number>\d{1,9})[.)])(?=[ \t]|$))|(?P<heading>#{1,6}(?=[ \t]|$))"
)
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*")
_HEADING_END = re.compile(r"(?:(?<=[ \t])#+)?[ \t]*$")
_BAR = re.compile(r"(?<!\\)\|")
_DELIMITERS = re.compile(
    r"(?=..)(?!-[ \t])\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*+\|?[ \t]*"
)
# Deeper quotes and lists are read as text. A list counts twice.
_MAX_LEVEL = 20


class Leaf(NamedTuple):
    """A paragraph, a heading, a run of code, or a "header" or "row" of a table.

    Attributes:
        kind: Which of these.
        parts: Its lines without quote marks, list marks and indentation; the cells of a row.
        items: Numbers of the enclosing list items, outermost first.
        fresh: True for the first block of its innermost list item.
        mark: The place of the number of that item; None if it has none.
        quoted: True inside a block quote.
    """

    kind: str
    parts: list[Span]
    items: tuple[int, ...]
    fresh: bool
    mark: Span | None
    quoted: bool


class _Container(NamedTuple):
    """An open block quote, or an open list item and the column of its content."""

    item: int = 0
    indent: int = 0
    outer: int = 0
    mark: Span | None = None
    empty_line: int = -1


class _Place(NamedTuple):
    """A place in a line behind the marks of `depth` containers."""

    depth: int
    at: int
    end: int
    column: int
    base: int = 0
    outer: int = 0

    @property
    def blank(self) -> bool:
        """True if nothing is left of the line."""
        return self.at >= self.end


def find_blocks(text: str) -> list[Leaf]:
    """Return the blocks of a text in order; together they contain every word of it."""
    return _Scanner(text).leaves()


class _Scanner:
    """Reads a text line by line; `_open` has the containers, `_leaf` the block that may go on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines = [match.span(1) for match in _LINE.finditer(text)]
        self._open: list[_Container] = []
        self._leaves: list[Leaf] = []
        self._leaf: str | None = None
        self._fence = ""
        self._columns = 0
        self._delimiters = -1
        self._items = 0
        self._fresh = False

    def leaves(self) -> list[Leaf]:
        """Return the blocks in order."""
        for number in range(len(self._lines)):
            if number == self._delimiters:
                continue
            place = self._enter(number)
            if not (self._goes_on(number, place) if self._leaf else place.blank):
                self._begin(number, place)
            elif place.blank:
                self._leave_at_blank(number, place.depth)
        return self._leaves

    # Containers

    def _place(self, depth: int, pos: int, end: int, base: int, outer: int, start: int) -> _Place:
        """Skip the indentation at `pos`, which is in column `start` of its container."""
        at = cast(re.Match[str], _SPACES.match(self._text, pos, end)).end()
        gap = self._text[pos:at]
        if "\t" in gap:
            before = " " * ((base + start) % 4)
            gap = (before + gap).expandtabs(4)[len(before) :]
        return _Place(depth, at, end, start + len(gap), base, outer)

    def _enter(self, number: int) -> _Place:
        """Return the place in a line behind the marks of all open containers that go on there."""
        place = self._place(0, *self._lines[number], 0, 0, 0)
        for container in self._open:
            if container.item:
                if not place.blank and place.column < container.indent:
                    break
                place = place._replace(depth=place.depth + 1, outer=container.indent)
            elif place.blank or self._text[place.at] != ">":
                break
            else:
                place = self._behind_quote(place)
        return place

    def _behind_quote(self, place: _Place) -> _Place:
        pos, base = place.at + 1, place.base + place.column + 1
        following = self._text[pos : min(pos + 1, place.end)]
        if following == " " or (following == "\t" and base % 4 == 3):
            pos += 1
        base += following in (" ", "\t") and bool(following)
        return self._place(place.depth + 1, pos, place.end, base, 0, 0)

    def _leave(self, depth: int) -> None:
        if any(container.item for container in self._open[depth:]):
            self._fresh = False
        del self._open[depth:]

    def _leave_at_blank(self, number: int, depth: int) -> None:
        """End quotes, and an item whose first two lines are empty."""
        self._leave(depth)
        if self._open and self._open[-1].empty_line == number - 1:
            self._leave(depth - 1)

    def _level(self) -> int:
        return sum(2 if container.item else 1 for container in self._open)

    # Leaves

    def _goes_on(self, number: int, place: _Place) -> bool:
        """Return True if a line belongs to the open leaf, or ends it and nothing more."""
        whole = place.depth == len(self._open)
        leaf, line = self._leaf, Span(place.at, place.end)
        if leaf == "code" and whole:
            self._leaves[-1].parts.append(Span(*self._lines[number]))
            rest = line.cut(self._text).rstrip(" \t")
            if len(rest) >= len(self._fence) and not rest.strip(self._fence[0]):
                self._leaf = None
            return True
        if leaf == "code" or place.blank:
            self._leaf = None
            return place.blank
        if leaf == "paragraph" and whole and place.column - place.outer > 3:
            self._leaves[-1].parts.append(line)
            return True
        if leaf == "paragraph" and whole and _UNDERLINE.fullmatch(self._text, place.at, place.end):
            self._leaves[-1] = self._leaves[-1]._replace(kind="heading")
            self._leaf = None
            return True
        if self._interrupts(number, place, whole):
            self._leaf = None
            return False
        if leaf == "row":
            self._leaf = "row" if whole else None
            if whole:
                self._add_row("row", line)
            return whole
        self._leaves[-1].parts.append(line)
        return True

    def _interrupts(self, number: int, place: _Place, whole: bool) -> bool:
        """Return True if a block begins that ends the open paragraph or table."""
        if self._leaf == "paragraph" and whole and self._table(number, place):
            return True
        start = _START.match(self._text, place.at, place.end)
        if start is None or start["item"] is None:
            return start is not None
        inner = self._open[-1] if self._open else None
        if not whole and inner and inner.item and place.column < inner.indent:
            return place.column - inner.outer < 4
        if not whole or self._leaf == "row":
            return True
        filled = self._text[start.end() : place.end].strip(" \t")
        return bool(filled) and int(start["number"] or 1) == 1

    def _begin(self, number: int, place: _Place) -> None:
        """Open the containers and the leaf that begin in a line."""
        self._leave(place.depth)
        while not place.blank:
            columns = self._table(number, place)
            start = _START.match(self._text, place.at, place.end) if not columns else None
            kind = start.lastgroup if start else None
            if kind in ("quote", "item") and self._level() >= _MAX_LEVEL:
                kind = None
            if start is None or kind is None:
                line = Span(place.at, place.end)
                if columns:
                    self._columns, self._delimiters = columns, number + 1
                    self._add_row("header", line)
                else:
                    self._add("paragraph", [line])
                return
            if kind == "quote":
                self._open.append(_Container())
                place = self._behind_quote(place)
            elif kind == "item":
                place = self._item(number, place, start)
            else:
                self._begin_leaf(number, kind, place, start)
                return

    def _begin_leaf(self, number: int, kind: str, place: _Place, start: re.Match[str]) -> None:
        if kind == "fence":
            self._fence = start["fence"]
            self._add("code", [Span(*self._lines[number])])
        elif kind == "heading":
            end = cast(re.Match[str], _HEADING_END.search(self._text, start.end(), place.end))
            self._add("heading", [Span(start.end(), end.start())])
            self._leaf = None

    def _item(self, number: int, place: _Place, start: re.Match[str]) -> _Place:
        """Open a list item; return the place behind its mark."""
        column = place.column + len(start[0])
        inside = self._place(place.depth + 1, start.end(), place.end, place.base, 0, column)
        gap = inside.column - column
        indent = column + (1 if inside.blank or gap > 4 else gap)
        self._items += 1
        mark = Span(*start.span()) if start["number"] else None
        empty = number if inside.blank else -1
        if mark and inside.blank:  # "1998." may be the end of a sentence
            self._leaves.append(Leaf("paragraph", [mark], (), False, None, False))
        self._open.append(_Container(self._items, indent, place.outer, mark, empty))
        self._fresh = True
        return inside._replace(outer=indent)

    def _add(self, kind: str, parts: list[Span]) -> None:
        items = [container for container in self._open if container.item]
        numbers = tuple(container.item for container in items)
        mark = items[-1].mark if self._fresh and items else None
        quoted = len(items) < len(self._open)
        self._leaves.append(Leaf(kind, parts, numbers, self._fresh, mark, quoted))
        self._leaf, self._fresh = kind, False

    # Tables

    def _table(self, number: int, place: _Place) -> int:
        """Return the number of columns of the table that begins in a line; 0 if none does."""
        if self._text.find("|", place.at, place.end) < 0 or number + 1 == len(self._lines):
            return 0
        below = self._enter(number + 1)
        line = self._text[below.at : below.end]
        if below.depth < len(self._open) or not _DELIMITERS.fullmatch(line):
            return 0
        columns = sum(bool(cell.strip(" \t")) for cell in line.split("|"))
        return columns if columns == len(list(self._cells(Span(place.at, place.end)))) else 0

    def _cells(self, line: Span) -> Iterator[Span]:
        end = line.start + len(line.cut(self._text).rstrip())
        at = line.start
        for bar in (*_BAR.finditer(self._text, at, end), None):
            stop = end if bar is None else bar.start()
            if line.start < stop and (bar or at < end):
                yield Span(at, stop)
            at = stop + 1

    def _add_row(self, kind: str, line: Span) -> None:
        cells = list(self._cells(line))[: self._columns]
        missing = [Span(line.end, line.end)] * (self._columns - len(cells))
        self._fresh = False
        self._add(kind, [*cells, *missing])
        self._leaf = "row"
