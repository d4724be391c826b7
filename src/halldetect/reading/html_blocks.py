"""Block HTML in a text: tables row by row, headings, list items, paragraphs.

`text.markdown` gives the lines between the tags, each with the tags before it; here they become
blocks as those of markdown do.
"""

from __future__ import annotations

from dataclasses import replace

from halldetect.reading.blocks import Block, Line
from halldetect.reading.tracked import TrackedText

_TITLES = frozenset("h1 h2 h3 h4 h5 h6 caption summary".split())
_LISTS = frozenset(["ul", "ol"])
_CELLS = frozenset(["td", "th"])
# The numbers of list items are apart from those of markdown.
_FIRST_ITEM = 1_000_000


class HtmlBlocks:
    """Makes blocks of the lines of one text; what is open may go on in the next paragraph."""

    def __init__(self) -> None:
        self._table: _Table | None = None
        self._lists: list[int | None] = []
        self._items = _FIRST_ITEM
        self._title = False
        self._new_item = False
        self._template = Block("paragraph", ())

    def split(self, paragraph: Block) -> list[Block]:
        """The blocks that the lines of a paragraph are; the paragraph itself without block HTML.

        paragraph  as markdown has it
        """
        if not any(line.tags for line in paragraph.lines):
            # What was not closed ends here: a paragraph without tags is one as any other.
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
                    # A line that no tag sets off belongs to the paragraph before it.
                    found[-1] = replace(before, lines=before.lines + block.lines)
                else:
                    found.append(block)
        return found

    def rest(self) -> list[Block]:
        """The last row of a table that is not closed."""
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
            ended = [] if self._table is None else self._table.end()
            self._table = _Table(self._template) if opens else None
            return ended
        elif self._table is not None and name in ("tr", *_CELLS):
            self._table.take(name, opens=opens)
        return []

    def _block(self, line: Line) -> Block:
        kind = "heading" if self._title else "paragraph"
        own = tuple(item for item in self._lists if item is not None)
        first = self._new_item or (self._template.first and not own)
        self._new_item = False
        items = (*self._template.items, *own)
        number = None if own else self._template.number
        return replace(
            self._template, kind=kind, lines=(line,), items=items, first=first, number=number
        )


class _Table:
    """A table that is being read.

    template  what its rows have of the paragraph that they stand in
    """

    def __init__(self, template: Block) -> None:
        self._template = template
        self._rows: list[list[Line]] = []
        self._named: list[bool] = []
        self.in_cell = False

    def take(self, name: str, *, opens: bool) -> None:
        """Begin or end a row ("tr") or a cell ("td", "th")."""
        self.in_cell = name in _CELLS and opens
        if opens and (name == "tr" or not self._rows):
            self._rows.append([])
            self._named.append(True)
        if self.in_cell:
            self._rows[-1].append(Line(TrackedText("", ())))
            self._named[-1] = self._named[-1] and name == "th"

    def add(self, line: Line) -> None:
        """Add a line to the cell that is open."""
        cell = self._rows[-1][-1]
        if cell.text.text:
            text = TrackedText.joined([cell.text, TrackedText.added(" "), line.text])
            line = Line(text, cell.strong, (*cell.aside, *line.aside))
        self._rows[-1][-1] = line

    def end(self) -> list[Block]:
        """The rows as blocks.

        The first row is the header if all its cells are header cells, or if no row has any and
        there are more than two columns; a table of two columns has names and values.
        """
        filled = [
            (row, named)
            for row, named in zip(self._rows, self._named, strict=True)
            if any(cell.text.text for cell in row)
        ]
        if not filled:
            return []
        rows, named = [row for row, _ in filled], [name for _, name in filled]
        width = max(map(len, rows))
        header = tuple(rows[0])
        has_header = named[0] or (width > 2 and not any(named))
        if not has_header or len(rows) == 1:
            header = tuple(Line(TrackedText("", ())) for _ in range(width))
        found = []
        for at, row in enumerate(rows):
            own = () if at == 0 and has_header and len(rows) > 1 else header
            found.append(replace(self._template, kind="row", lines=tuple(row), header=own))
        return found
