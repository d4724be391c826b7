"""HTML: block tags inside a text, and the text of whole pages.

`markdown` returns the lines between the tags of a text, each with the tags before it; `HtmlBlocks`
turns them into blocks, like those of Markdown. `html_text` reads an HTML file.
"""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

from halldetect.reading.blocks import Block, Line
from halldetect.reading.document import TrackedText

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
_HIDDEN = frozenset({"script", "style", "template", "noscript", "head"})
# A tag that does not end. The standard parser takes quadratic time for many of them.
_UNENDED = re.compile(r"<(?![^<>]*>)")
_MANY = 50
# Keeps the numbers of HTML list items apart from those of Markdown.
_FIRST_ITEM = 1_000_000


class HtmlBlocks:
    """Turns the lines of a text into blocks; an open tag may be closed in a later paragraph."""

    def __init__(self) -> None:
        self._table: _Table | None = None
        self._lists: list[int | None] = []
        self._items = _FIRST_ITEM
        self._title = False
        self._new_item = False
        self._template = Block("paragraph", ())

    def split(self, paragraph: Block) -> list[Block]:
        """Split a paragraph of Markdown at its block tags, if it has any."""
        if not any(line.tags for line in paragraph.lines):
            # A paragraph without tags closes every open tag.
            ended = self.rest()
            self._table, self._lists, self._title = None, [], False
            return [*ended, paragraph]
        self._template = paragraph
        found: list[Block] = []
        for line in paragraph.lines:
            for tag in line.tags:
                found += self._take(tag)
            if self._table is not None and self._table.in_cell:
                self._table.add(line)
            elif line.text.text.strip() or line.aside:
                block = self._block(line)
                before = found[-1] if found and not line.tags else None
                if before is not None and before.kind == block.kind == "paragraph":
                    # A line without a preceding tag belongs to the same paragraph.
                    found[-1] = replace(before, lines=before.lines + block.lines)
                else:
                    found.append(block)
        return found

    def rest(self) -> list[Block]:
        """Return the rows of an unclosed table."""
        return [] if self._table is None else self._table.end()

    def _take(self, tag: str) -> list[Block]:
        name, opens = tag.lstrip("/"), not tag.startswith("/")
        if name in _TITLES:
            self._title = opens
        elif name in _LISTS and opens:
            self._lists.append(None)
        elif name in _LISTS:
            del self._lists[-1:]
        elif name == "li" and opens:
            self._items += 1
            self._lists[-1:] = [self._items]
            self._new_item = True
        elif name == "table":
            ended = self.rest()
            self._table = _Table(self._template) if opens else None
            return ended
        elif self._table is not None and name in ("tr", *CELLS):
            self._table.take(name, opens=opens)
        return []

    def _block(self, line: Line) -> Block:
        own = tuple(item for item in self._lists if item is not None)
        first = self._new_item or (self._template.first and not own)
        self._new_item = False
        return replace(
            self._template,
            kind="heading" if self._title else "paragraph",
            lines=(line,),
            items=(*self._template.items, *own),
            first=first,
            number=None if own else self._template.number,
        )


class _Table:
    """A table under construction; `template` is the paragraph around it."""

    def __init__(self, template: Block) -> None:
        self._template = template
        self._rows: list[list[list[Line]]] = []
        self._named: list[bool] = []
        self.in_cell = False

    def take(self, name: str, *, opens: bool) -> None:
        """Begin or end a row ("tr") or a cell ("td", "th")."""
        self.in_cell = name in CELLS and opens
        if opens and (name == "tr" or not self._rows):
            self._rows.append([])
            self._named.append(True)
        if self.in_cell:
            self._rows[-1].append([])
            self._named[-1] = self._named[-1] and name == "th"

    def add(self, line: Line) -> None:
        """Add a line to the open cell."""
        self._rows[-1][-1].append(line)

    def end(self) -> list[Block]:
        """Return the rows as blocks.

        The first row is the header if all its cells are header cells. Without any header cell, it
        is the header if the table has more than two columns; two columns are names and values.
        """
        joined = [tuple(map(_cell, row)) for row in self._rows]
        filled = [at for at, row in enumerate(joined) if any(cell.text.text for cell in row)]
        if not filled:
            return []
        rows, named = [joined[at] for at in filled], [self._named[at] for at in filled]
        width = max(map(len, rows))
        has_header = len(rows) > 1 and (named[0] or (width > 2 and not any(named)))
        header = rows[0] if has_header else (_cell([]),) * width
        return [
            replace(
                self._template,
                kind="row",
                lines=row,
                header=() if at == 0 and has_header else header,
            )
            for at, row in enumerate(rows)
        ]


def _cell(lines: list[Line]) -> Line:
    """Join the lines of a cell."""
    parts = [part for line in lines for part in (TrackedText.added(" "), line.text)][1:]
    strong = lines[0].strong if lines else ()
    aside = tuple(item for line in lines for item in line.aside)
    return Line(TrackedText.joined(parts), strong, aside)


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
