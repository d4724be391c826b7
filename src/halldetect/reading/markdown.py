"""The blocks of a Markdown text, with the place of every character in the raw text.

pyromark (pulldown-cmark) finds the mark-up and its places. Unlike in CommonMark, indented text is
not code, a block of HTML has mark-up, and a link definition is text.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

from halldetect.reading.document import INSERTED, Block, Line, Span, TrackedText
from halldetect.reading.html_page import BLOCKS, STRUCK, html_as_markdown
from halldetect.reading.sentences import lines

_ATTRIBUTE = re.compile(r"\b(?:alt|title|content|label|aria-label)\s*=\s*(\"[^\"]*\"|'[^']*')")
_HTML_TAGS = BLOCKS | frozenset(
    "a abbr audio b body br button center cite code col del dfn em figure font form head html i "
    "iframe img input ins kbd label link mark meta option q s samp script select small source span "
    "strike strong style sub sup svg textarea time title tt u var video wbr think answer".split()
)
_TAG = re.compile(r"</?([a-z][a-z0-9]*)", re.IGNORECASE)
_INLINE = frozenset(["Emphasis", "Strong", "Strikethrough", "Link", "Image"])
_NUMBER = re.compile(r"\s*(\d+[.)])")
_INDENTED = re.compile(r"(?:\A|[\r\n]) *(?: {4}|\t)")
_LINE_START = re.compile(
    r"(?:\A|(?<=[\r\n]))(?P<indent>[ \t]*+)(?P<mark>(?:[-+*]|\d{1,9}[.)])[ \t]{1,4})?+(?=\S)"
)
# A mark before these turns them into text: blocks of HTML, link definitions, and quotes and lists
# nested too deep, for which the parser takes quadratic time.
_HIDING = re.compile(
    r"(?:\A|[\r\n])(?:[ \t]*+(?:>|(?:[*+-]|\d{1,9}[.)])(?=\s))){0,20}+[ \t]*+"
    r"(?=[<\[>]|(?:[*+-]|\d{1,9}[.)])\s)"
)
_MARK = "\x02"
_EMPTY = Line(TrackedText("", ()))


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a text in order; together they contain every word of it."""
    tracked = html_as_markdown(text)
    try:
        return _Reader(_prepared(tracked)).blocks()
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the parser failed
            raise
        found = (tracked.cut(span.start, span.end) for span in lines(tracked.text))
        return [Block("paragraph", tuple(map(Line, found)))]


def _prepared(tracked: TrackedText) -> TrackedText:
    """Return a text in which no line is indented code, a block of HTML or a link definition."""
    if _INDENTED.search(tracked.text):
        tracked = tracked.edited(_outdents(tracked.text))
    hiding = map(re.Match.end, _HIDING.finditer(tracked.text))
    return tracked.edited((at, at, _MARK) for at in hiding)


def _outdents(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield changes that indent lines at most three columns further than their list item."""
    levels = [(0, 0)]  # the columns where the items begin: before and after
    for line in _LINE_START.finditer(text):
        column = len(line["indent"].expandtabs(4))
        while column < levels[-1][0]:
            levels.pop()
        before, after = levels[-1]
        after += min(column - before, 3)
        if after < column:
            yield line.start("indent"), line.end("indent"), " " * after
        if line["mark"]:
            levels.append((column + len(line["mark"]), after + len(line["mark"])))


def _events(text: str) -> Iterator[tuple[str, Any, int, int]]:
    """Yield the kind and the value of each event of the parser, and its place."""
    # Imported on first use to keep the import of the package fast.
    import numpy as np
    import pyromark

    encoded = text.encode("utf-8", "replace")
    places: Sequence[int] = range(len(text) + 1)
    if not text.isascii():  # the parser counts bytes
        starts = (np.frombuffer(encoded, np.uint8) & 0xC0) != 0x80
        places = array("q", [*(np.cumsum(starts) - starts), len(text)])
    options = pyromark.Options.ENABLE_TABLES | pyromark.Options.ENABLE_STRIKETHROUGH
    for event, place in pyromark.events_with_range(encoded.decode(), options=options):
        kind, value = (event, "") if isinstance(event, str) else next(iter(event.items()))
        yield kind, value, places[place["start"]], places[place["end"]]


class _Reader:
    """Reads the events of one text."""

    def __init__(self, tracked: TrackedText) -> None:
        self._tracked = tracked
        self._inside = _LineReader(tracked)
        self._blocks: list[Block] = []
        self._items: list[int] = []
        self._numbers: list[TrackedText | None] = []
        self._fresh = False
        self._count = 0
        self._cells: list[Line] = []
        self._header: tuple[Line, ...] = ()
        self._code: list[Line] | None = None

    def blocks(self) -> list[Block]:
        """Return the blocks."""
        for kind, value, start, end in _events(self._tracked.text):
            if kind not in ("Start", "End"):
                if self._code is None:
                    self._inside.take(kind, value, start, end)
                else:
                    self._code += self._raw_lines(start, end)
                continue
            tag = value if isinstance(value, str) else next(iter(value))
            if tag in _INLINE:
                self._inside.take(tag if kind == "Start" else f"/{tag}", value, start, end)
            elif tag == "TableCell":
                if kind == "End":
                    found = self._inside.lines()
                    self._cells.append(joined(found) if found else _EMPTY)
            else:
                if found := self._inside.lines():
                    heading = tag == "Heading" and kind == "End"
                    self._add("heading" if heading else "paragraph", found)
                if kind == "Start":
                    self._open(tag, value, start, end)
                else:
                    self._close(tag)
        return self._blocks

    def _open(self, tag: str, value: Any, start: int, end: int) -> None:
        if tag == "Item":
            self._count += 1
            self._items.append(self._count)
            number = _NUMBER.match(self._tracked.text, start, end)
            self._numbers.append(None if number is None else self._tracked.cut(*number.span(1)))
            self._fresh = True
        elif tag == "Table":
            self._header = ()
        elif tag == "CodeBlock" and "Fenced" in value[tag]:
            fence = next(self._raw_lines(start, end)).text.stripped("`~").stripped()
            self._code = [Line(fence)] if " " in fence.text else []

    def _close(self, tag: str) -> None:
        if tag == "Item":
            self._items.pop()
            number = self._numbers.pop()
            alone, self._fresh = self._fresh, False
            if alone and number is not None:
                self._add("paragraph", [Line(number)])  # "42."
        elif tag in ("TableHead", "TableRow"):
            while len(self._cells) > 1 and self._cells[-1] is _EMPTY:
                self._cells.pop()  # the parser fills short rows
            self._add("row", self._cells, self._header[: len(self._cells)])
            self._header = self._header or tuple(self._cells)
            self._cells = []
        elif tag == "CodeBlock" and self._code is not None:
            self._add("code", self._code)
            self._code = None

    def _add(self, kind: str, found: Sequence[Line], header: tuple[Line, ...] = ()) -> None:
        first = self._fresh and kind != "row"
        number = self._numbers[-1] if first else None
        self._blocks.append(Block(kind, tuple(found), tuple(self._items), first, number, header))
        self._fresh = False

    def _raw_lines(self, start: int, end: int) -> Iterator[Line]:
        for span in lines(self._tracked.text[start:end]):
            line = self._tracked.cut(start + span.start, start + span.end)
            yield Line(_without_mark(line))


def _without_mark(text: TrackedText) -> TrackedText:
    if _MARK not in text.text:
        return text
    marks = (at for at, origin in enumerate(text.origins) if origin == INSERTED)
    return text.edited((at, at + 1, "") for at in marks if text.text[at] == _MARK)


def joined(lines: Sequence[Line]) -> Line:
    """Join lines with spaces."""
    if len(lines) == 1:
        return lines[0]
    parts = [part for line in lines for part in (TrackedText.added(" "), line.text)][1:]
    aside = tuple(item for line in lines for item in line.aside)
    return Line(TrackedText.joined(parts), lines[0].strong, aside, lines[0].struck)


class _LineReader:
    """Builds the lines of a block from the events inside it."""

    def __init__(self, tracked: TrackedText) -> None:
        self._tracked = tracked
        self._lines: list[Line] = []
        self._parts: list[TrackedText] = []
        self._length = 0
        self._at = 0
        self._line_ended = False
        self._strong: list[Span] = []
        self._aside: list[TrackedText] = []
        self._opened: int | None = None
        self._struck: list[TrackedText] = []
        self._struck_from: int | None = None

    def lines(self) -> list[Line]:
        """Return the lines of the events since the last call, without their mark-up."""
        if not (self._parts or self._lines or self._struck or self._aside):
            return []
        self._break()
        found, self._lines = self._lines, []
        self._opened, self._line_ended = None, False
        return found

    def take(self, kind: str, value: Any, start: int, end: int) -> None:
        """Read an event: text, the start of mark-up, or its end after "/"."""
        # A term and its definition after a colon form one line.
        if self._line_ended and not self._tracked.text.startswith(": ", start):
            self._break()
        self._line_ended = kind in ("SoftBreak", "HardBreak")
        at, self._at = self._at, start + 1 if kind in _INLINE else end
        if kind == "Text":
            part = self._tracked.cut(start, end)
            if len(value) < end - start:  # an entity
                part = part.edited([(0, end - start, value)])
            self._append(_without_mark(part))
        elif kind == "Strong":
            self._opened = self._length
        elif kind == "/Strong" and self._opened is not None:
            self._strong.append(Span(self._opened, self._length))
            self._opened = None
        elif kind == "Code":
            self._code(self._tracked.cut(start, end))
        elif kind == "InlineHtml":
            self._html(self._tracked.cut(start, end))
        elif kind in ("Strikethrough", "/Strikethrough"):
            self._strike(opens=kind[0] != "/")
        elif kind in ("/Link", "/Image"):
            address = self._tracked.text.find("](", at, end)
            inside = self._tracked.cut(address + 2, end - 1).stripped()
            self._aside += [inside] if address >= 0 and inside.text else []
        elif kind == "Html":
            self._append(self._tracked.cut(start, end))

    def _append(self, part: TrackedText) -> None:
        self._parts.append(part)
        self._length += len(part.text)

    def _code(self, code: TrackedText) -> None:
        """Leave out the marks around code."""
        inside = code.text.strip("`")
        ticks = (len(code.text) - len(inside)) // 2
        if "\n" not in inside:
            ticks += inside[:1] == inside[-1:] == " " and bool(inside.strip())
        self._append(code.cut(ticks, len(code.text) - ticks))

    def _strike(self, *, opens: bool) -> None:
        """Set aside the text since the opening strike mark."""
        if opens:
            self._struck_from = len(self._parts)
        elif self._struck_from is not None:
            struck = self._parts[self._struck_from :]
            del self._parts[self._struck_from :]
            self._length -= sum(len(part.text) for part in struck)
            self._struck += struck
            self._struck_from = None

    def _html(self, html: TrackedText) -> None:
        tag = _TAG.match(html.text)
        name = "" if tag is None else tag[1].lower()
        if html.text.startswith("<!--"):
            self._aside.append(html.cut(4, len(html.text) - 3).stripped())
        elif name not in _HTML_TAGS:
            self._append(html)
        for attribute in _ATTRIBUTE.finditer(html.text) if name in _HTML_TAGS else ():
            self._aside.append(html.cut(attribute.start(1) + 1, attribute.end(1) - 1))
        if name in STRUCK:
            self._strike(opens=not html.text.startswith("</"))
        if name == "br":
            self._break()

    def _break(self) -> None:
        struck = bool(self._struck) and not any(part.text.strip(" .!") for part in self._parts)
        whole = TrackedText.joined(self._struck if struck else self._parts)
        self._struck, self._struck_from = [], None
        for place in [*lines(whole.text)] or [Span(0, 0)]:
            strong = [
                Span(max(span.start - place.start, 0), min(span.end, place.end) - place.start)
                for span in self._strong
                if span.overlaps(place)
            ]
            line = whole.cut(place.start, place.end)
            if line.text.strip() or self._aside:
                self._lines.append(Line(line, tuple(strong), tuple(self._aside), struck))
                self._aside = []
        self._parts, self._strong, self._length = [], [], 0
        self._opened = None if self._opened is None else 0
