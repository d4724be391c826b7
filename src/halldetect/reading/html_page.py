"""HTML: block tags inside a text, and the text of whole pages.

`markdown` returns the lines between the tags of a text, each with the tags before it; `HtmlBlocks`
turns them into blocks, like those of Markdown. `html_text` reads an HTML file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

from halldetect.reading.document import Block, Line, Span, TrackedText

ENDINGS = (".html", ".htm", ".xhtml")
CELLS = frozenset(["td", "th"])
# Tags that end a line.
BREAKING = frozenset(
    "br p div li tr td th h1 h2 h3 h4 h5 h6 ul ol table hr dd dt blockquote section article "
    "thead tbody tfoot caption summary details figcaption".split()
)
_PAGE_BREAKING = BREAKING | frozenset("address aside dl footer header main nav pre".split())
_TITLES = frozenset("h1 h2 h3 h4 h5 h6 caption summary".split())
_LISTS = frozenset(["ul", "ol"])
_TABLE = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)
_CELL = re.compile(r"<(/?)(tr|td|th)\b[^<>]*>", re.IGNORECASE)
_HIDDEN = frozenset({"script", "style", "template", "noscript", "head"})
# A tag that does not end. The standard parser takes quadratic time for many of them.
_UNENDED = re.compile(r"<(?![^<>]*>)")
_MANY = 50
# Keeps the numbers of HTML list items apart from those of Markdown.
_FIRST_ITEM = 1_000_000


def table_areas(text: str) -> list[Span]:
    """Return the closed tables of a text; of nested tables, the innermost."""
    found, start = [], None
    for tag in _TABLE.finditer(text):
        if tag[1] and start is not None:
            found.append(Span(start, tag.end()))
        start = None if tag[1] else tag.start()
    return found


def table_pieces(text: str, area: Span) -> Iterator[tuple[str, Span]]:
    """Yield "tr" for the start of a row, "td" or "th" for a cell, "" for text between cells."""
    at, name = area.start, ""
    for tag in _CELL.finditer(text, area.start, area.end):
        yield name, Span(at, tag.start())
        at, name = tag.end(), "" if tag[1] else tag[2].lower()
        if name == "tr":
            yield name, Span(at, at)
            name = ""
    yield name, Span(at, area.end)


def table_rows(rows: Sequence[Sequence[tuple[str, Line]]]) -> list[Block]:
    """Return the rows of a table, given as cells with their tags.

    The first row is the header if all its cells are header cells. Without any header cell, it is
    the header if the table has more than two columns; two columns are names and values.
    """
    filled = [row for row in rows if any(cell.text.text for _, cell in row)]
    named = [all(tag == "th" for tag, _ in row) for row in filled]
    width = max(map(len, filled), default=0)
    has_header = len(filled) > 1 and (named[0] or (width > 2 and not any(named)))
    cells = [tuple(cell for _, cell in row) for row in filled]
    header = cells[0] if has_header else (Line(TrackedText("", ())),) * width
    return [
        Block("row", row, header=() if at == 0 and has_header else header)
        for at, row in enumerate(cells)
    ]


class HtmlBlocks:
    """Splits paragraphs at block tags; an open list may be closed in a later paragraph."""

    def __init__(self) -> None:
        self._lists: list[int | None] = []
        self._items = _FIRST_ITEM

    def split(self, paragraph: Block) -> list[Block]:
        """Return the headings, list items and paragraphs of a Markdown paragraph."""
        if not any(line.tags for line in paragraph.lines):
            self._lists = []  # a paragraph without tags closes every open tag
            return [paragraph]
        found: list[Block] = []
        kind, first = "paragraph", paragraph.first
        for line in paragraph.lines:
            for tag in line.tags:
                kind = "heading" if tag in _TITLES else "paragraph"
                if tag in _LISTS:
                    self._lists.append(None)
                elif tag.lstrip("/") in _LISTS:
                    del self._lists[-1:]
                elif tag == "li":
                    self._items += 1
                    self._lists[-1:] = [self._items]
                    first = True
            if not (line.text.text.strip() or line.aside):
                continue
            if found and not line.tags and found[-1].kind == "paragraph":
                # A line without a preceding tag belongs to the same paragraph.
                found[-1] = replace(found[-1], lines=(*found[-1].lines, line))
                continue
            own = tuple(item for item in self._lists if item is not None)
            items, number = (*paragraph.items, *own), None if own else paragraph.number
            block = replace(paragraph, kind=kind, lines=(line,), items=items, number=number)
            found.append(replace(block, first=first))
            first = paragraph.first and not own
        return found


def html_text(page: str) -> tuple[str, str]:
    """Return the title and the text of an HTML page, one block per line.

    A table with header cells becomes a Markdown table, so that its rows are read with their
    headers. Other tables only define the layout.
    """
    if page.count("<") > page.count(">") + _MANY:
        page = _UNENDED.sub("&lt;", page)
    parser = _PageText()
    parser.feed(page)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    blocks = "\n\n".join(line for line in lines if line)
    # Only the rows of a table belong together.
    return " ".join("".join(parser.title).split()), blocks.replace("|\n\n|", "|\n|")


class _PageText(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._hidden: list[str] = []
        self._in_title = False
        # The start of the innermost open table in the parts, and of its cells, by row.
        self._table: int | None = None
        self._rows: list[list[int]] = []
        self._has_header = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._hidden.clear()
        if tag in _HIDDEN:
            self._hidden.append(tag)
        self._in_title = tag == "title"
        if tag in _PAGE_BREAKING:
            self.parts.append("\n")
        if tag == "table":  # an outer table only defines the layout
            self._table, self._rows, self._has_header = len(self.parts), [], False
        elif self._table is not None and tag == "tr":
            self._rows.append([])
        elif self._table is not None and tag in CELLS and self._rows:
            self._rows[-1].append(len(self.parts))
            self._has_header = self._has_header or tag == "th"

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        self._in_title = False
        if tag == "table":
            self._end_table()
        if tag in _PAGE_BREAKING:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._hidden:
            self.parts.append(data.replace("\n", " "))

    def _end_table(self) -> None:
        start, rows = self._table, [row for row in self._rows if row]
        self._table = None
        if start is None or not rows or not self._has_header:
            return
        bounds = [*(at for row in rows for at in row), len(self.parts)]
        cells = iter(
            " ".join("".join(self.parts[begin:end]).split()).replace("|", "/")
            for begin, end in pairwise(bounds)
        )
        lines = [f"| {' | '.join(next(cells) for _ in row)} |" for row in rows]
        lines.insert(1, f"|{'---|' * len(rows[0])}")
        caption = self.parts[start : bounds[0]]
        self.parts[start:] = [*caption, "\n", "\n".join(lines)]
