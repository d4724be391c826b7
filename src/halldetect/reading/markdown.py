"""The blocks of a Markdown text, with the place of every character in the raw text.

markdown-it-py finds the blocks and their mark-up. It returns line numbers for blocks but no
offsets for text, so each piece is searched in the raw text after the previous one. A text without
mark-up is a sequence of paragraphs.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from halldetect.reading.document import Block, Line, Span, TrackedText
from halldetect.reading.html_page import BREAKING, HtmlBlocks, table_areas, table_pieces, table_rows
from halldetect.reading.sentences import LINE_END, lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Line ends as markdown-it defines them.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
_LINE_START = re.compile(r"[ \t>]*")
_QUOTATION = re.compile(r"[^']*(?:\w'\w[^']*)*[\w.,!?…] ?'(?=[\s.,;:!?)]|$)")
_TAG_NAME = re.compile(r"</?([a-z][a-z0-9]*)\b", re.IGNORECASE)
_ATTRIBUTE = re.compile(r"\b(?:alt|title|content|label|aria-label)\s*=\s*(\"[^\"]*\"|'[^']*')")
_HTML_TAGS = frozenset(
    "a abbr address article aside audio b blockquote body br button caption center cite code col "
    "dd del details dfn div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head "
    "header hr html i iframe img input ins kbd label li link main mark meta nav ol option p pre q "
    "s samp script section select small source span strike strong style sub summary sup svg table "
    "tbody td textarea tfoot th thead time title tr tt u ul var video wbr think answer".split()
)


def read_blocks(text: str) -> list[Block]:
    """Return the blocks of a text in order; together they contain every word of it."""
    return _Reader(text).blocks()


@cache
def _parser() -> MarkdownIt:
    # Imported on first use to keep the import of the package fast.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    # Indented text in answers is not code, and link definitions would disappear.
    return parser.disable(["code", "reference", "html_block", "text_join"])


class _Reader:
    """Reads the tokens of one text."""

    def __init__(self, raw: str) -> None:
        self._raw = raw
        self._tables = table_areas(raw)
        parts, at = [], 0
        for area in self._tables:  # read apart; an empty line takes their place
            parts += [raw[at : area.start], "\n", " " * (len(area) - 2), "\n"]
            at = area.end
        self._text = text = "".join([*parts, raw[at:]])
        lengths = [len(match.group()) for match in _LINE.finditer(text)]
        self._starts = [0, *accumulate(lengths)]
        self._items: list[int] = []
        self._marks: list[Token] = []
        self._fresh = False
        self._count = 0
        self._quotes = 0
        self._html = HtmlBlocks()

    def blocks(self) -> list[Block]:
        """Return the blocks, and a paragraph for every line outside all blocks."""
        found: list[tuple[int, Block]] = []
        covered: set[int] = set()
        tokens = _parser().parse(self._text)
        at = 0
        while at < len(tokens):
            token = tokens[at]
            if token.type in ("list_item_open", "list_item_close"):
                self._take_item(token)
            elif token.type in ("blockquote_open", "blockquote_close"):
                self._quotes += token.nesting
            elif token.type == "table_open":
                end = next(i for i in range(at, len(tokens)) if tokens[i].type == "table_close")
                found += self._rows(tokens[at:end])
                covered.update(range(*_lines_of(token)))
                at, self._fresh = end, False
            elif token.type in ("inline", "fence"):
                first, last = _lines_of(token)
                heading = tokens[at - 1].type == "heading_open"
                found += [(first, block) for block in self._block(token, heading=heading)]
                covered.update(range(first, last))
                self._fresh = False
            at += 1
        for area in self._tables:
            line = bisect_right(self._starts, area.start) - 1
            found += [(line, block) for block in self._table(area)]
        found += self._uncovered(covered)
        return [block for _, block in sorted(found, key=lambda pair: pair[0])]

    def _table(self, area: Span) -> list[Block]:
        """Read an HTML table; text between its cells becomes paragraphs."""
        between: list[Block] = []
        rows: list[list[tuple[str, Line]]] = [[]]
        for tag, place in table_pieces(self._raw, area):
            (token,) = _parser().parseInline(place.cut(self._raw))
            read = _InlineReader(self._raw, place.start, place.end).read(token) or []
            if tag == "tr":
                rows.append([])
            elif tag:
                rows[-1].append((tag, _joined(read)))
            elif any(line.text.text.strip() or line.aside for line in read):
                between += self._html.split(Block("paragraph", tuple(read)))
        return between + table_rows(rows)

    def _take_item(self, token: Token) -> None:
        self._fresh = token.type == "list_item_open"
        if self._fresh:
            self._count += 1
            self._items.append(self._count)
            self._marks.append(token)
        else:
            self._items.pop()
            self._marks.pop()

    def _block(self, token: Token, *, heading: bool) -> list[Block]:
        first, last = _lines_of(token)
        code = token.type == "fence"
        read = self._code_lines(first, last) if code else self._inline(token, first, last)
        block = Block(
            "code" if code else "heading" if heading else "paragraph",
            tuple(read),
            tuple(self._items),
            self._fresh,
            self._number(self._marks[-1]) if self._fresh and self._marks else None,
            quoted=self._quotes > 0,
        )
        return [block] if code or heading else self._html.split(block)

    def _uncovered(self, covered: set[int]) -> Iterator[tuple[int, Block]]:
        for number in range(len(self._starts) - 1):
            raw = self._text[self._starts[number] : self._starts[number + 1]]
            if number not in covered and any(char.isalnum() for char in raw):
                yield number, Block("paragraph", tuple(self._raw_lines(number, number + 1)))

    def _raw_lines(self, first: int, last: int) -> Iterator[Line]:
        start, end = self._starts[first], self._starts[last]
        for span in lines(self._text[start:end]):
            yield Line(TrackedText.of(self._text, start + span.start, start + span.end))

    def _code_lines(self, first: int, last: int) -> Iterator[Line]:
        for line in self._raw_lines(first, last):
            content = line.text.stripped("`~").stripped()
            if content.text and (content.text == line.text.text or " " in content.text):
                yield Line(content)

    def _number(self, mark: Token) -> TrackedText | None:
        """Return the mark of a numbered item, with its place."""
        if not mark.info:
            return None
        start = self._text.find(mark.info + mark.markup, self._starts[_lines_of(mark)[0]])
        return TrackedText.of(self._text, start, start + len(mark.info + mark.markup))

    def _rows(self, tokens: Sequence[Token]) -> Iterator[tuple[int, Block]]:
        header: tuple[Line, ...] | None = None
        cells: list[Line] = []
        number = cursor = 0
        for token in tokens:
            if token.type == "tr_open":
                number = _lines_of(token)[0]
                cells, cursor = [], self._starts[number]
            elif token.type == "inline":
                _, last = _lines_of(token)
                start = self._text.find(token.content, cursor, self._starts[last])
                if start < 0 or not token.content:
                    content = TrackedText(token.content, (cursor,) * len(token.content))
                    cells.append(Line(content))
                    continue
                read = _InlineReader(self._text, start, self._starts[last]).read(token)
                cursor = start + len(token.content)
                cells.append(
                    read[0]
                    if read is not None and len(read) == 1
                    else Line(TrackedText.of(self._text, start, cursor))
                )
            elif token.type == "tr_close":
                row, items = tuple(cells), tuple(self._items)
                yield number, Block("row", row, items, False, None, header or (), self._quotes > 0)
                header = header or row

    def _inline(self, token: Token, first: int, last: int) -> list[Line]:
        if token.content:
            content = token.content.split("\n", 1)[0].strip()
            end = self._starts[first + 1]
            start = self._text.rfind(content, self._starts[first], end)
            if start >= 0:
                read = _InlineReader(self._text, start, self._starts[last]).read(token)
                if read is not None:
                    return read
        return list(self._raw_lines(first, last))


def _is_quotation(mark: str, inside: str) -> bool:
    """Return True for a quotation that Markdown parses as code: `` so '' and `so'.

    Double marks with spaces inside are not code. Of two single marks, the second begins another
    quotation if a space precedes it and an apostrophe has ended the first.

    Args:
        mark: One end of the code span.
        inside: The text between its ends.
    """
    if not inside.endswith(" "):
        return False
    if mark == "``":
        return inside.startswith(" ") and "`" not in inside
    return mark == "`" and _QUOTATION.match(inside) is not None


def _joined(lines: Sequence[Line]) -> Line:
    """Join the lines of a cell."""
    parts = [part for line in lines for part in (TrackedText.added(" "), line.text)][1:]
    aside = tuple(item for line in lines for item in line.aside)
    return Line(TrackedText.joined(parts), lines[0].strong if lines else (), aside)


def _lines_of(token: Any) -> tuple[int, int]:
    first, last = token.map
    return first, last


class _InlineReader:
    """Reads the pieces of an inline token along the raw text."""

    def __init__(self, text: str, start: int, end: int) -> None:
        self._text = text
        self._at = start
        self._end = end
        self._lines: list[Line] = []
        self._parts: list[TrackedText] = []
        self._length = 0
        self._strong: list[Span] = []
        self._aside: list[TrackedText] = []
        self._opened: int | None = None
        self._struck: list[TrackedText] = []
        self._struck_from: int | None = None
        self._tags: list[str] = []

    def read(self, token: Token) -> list[Line] | None:
        """Return the lines; None if a piece is not found in the raw text."""
        for child in token.children or ():
            if not self._take(child):
                return None
        self._break()
        if self._tags:  # tags closed at the end
            self._add(Line(TrackedText("", ())))
        return self._lines

    def _take(self, token: Token) -> bool:
        kind = token.type
        if kind in ("softbreak", "hardbreak"):
            ending = re.compile(r"[ \t]*\\?(?:\r\n?|\n)").match(self._text, self._at)
            if ending is None:
                return False
            prefix = _LINE_START.match(self._text, ending.end())
            assert prefix is not None
            self._at = prefix.end()
            # A term and its definition after a colon form one line.
            if not self._text.startswith(": ", self._at):
                self._break()
            return True
        if kind == "text_special":
            return self._place(token.markup, token.content)
        if kind == "text":
            return self._place(token.content)
        if kind == "code_inline":
            return self._skip(token.markup) and self._code(token)
        if kind == "html_inline":
            return self._tag(token.content)
        if kind == "image":
            self._skip("![")
            return self._place(token.content) and self._address(token.attrs.get("title"))
        if kind == "link_open":
            return self._skip("<" if token.markup == "autolink" else "[")
        if kind == "link_close":
            return self._skip(">") if token.markup == "autolink" else self._address(None)
        if kind in ("s_open", "s_close"):
            self._strike(opens=kind == "s_open")
        elif kind == "strong_open":
            self._opened = self._length
        elif kind == "strong_close" and self._opened is not None:
            self._strong.append(Span(self._opened, self._length))
            self._opened = None
        return self._skip(token.markup)

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

    def _place(self, raw: str, shown: str | None = None) -> bool:
        if not raw:
            return True
        found = self._text.find(raw, self._at, self._end)
        if found < 0:
            return False
        part = TrackedText.of(self._text, found, found + len(raw))
        if shown is not None and shown != raw:
            part = part.replaced(Span(0, len(raw)), shown)
        self._append(part)
        self._at = found + len(raw)
        return True

    def _append(self, part: TrackedText) -> None:
        self._parts.append(part)
        self._length += len(part.text)

    def _skip(self, mark: str) -> bool:
        found = self._text.find(mark, self._at, self._end)
        if found < 0:
            return False
        self._at = found + len(mark)
        return True

    def _code(self, token: Token) -> bool:
        mark, content = token.markup, token.content
        start = self._text.find(content, self._at, self._end)
        if start < 0:  # markdown-it replaces line ends with spaces
            return False
        end = self._text.find(mark, start + len(content), self._end)
        if _is_quotation(mark, self._text[self._at : end]):
            self._at -= len(mark)
            return self._place(self._text[self._at : end + len(mark)])
        return self._place(content) and self._skip(mark)

    def _address(self, title: Any) -> bool:
        """Read the address and the title after the text of a link."""
        match = re.compile(r"\]\(\s*").match(self._text, self._at)
        if match is None:
            return False
        depth, at = 1, match.end()
        while at < self._end and depth:
            char = self._text[at]
            at += 2 if char == "\\" else 1
            depth += (char == "(") - (char == ")")
        inside = TrackedText.of(self._text, match.end(), at - 1).stripped()
        self._at = at
        if inside.text:
            self._aside.append(inside)
        return True

    def _tag(self, content: str) -> bool:
        found = self._text.find(content, self._at, self._end)
        if found < 0:
            return False
        self._at = found + len(content)
        if content.startswith("<!--"):
            self._aside.append(TrackedText.of(self._text, found + 4, self._at - 3).stripped())
            return True
        name = _TAG_NAME.match(content)
        if name is None or name[1].lower() not in _HTML_TAGS:
            self._append(TrackedText.of(self._text, found, self._at))
            return True
        for attribute in _ATTRIBUTE.finditer(content):
            start, end = attribute.span(1)
            self._aside.append(TrackedText.of(self._text, found + start + 1, found + end - 1))
        if name[1].lower() in ("s", "del", "strike"):
            self._strike(opens=not content.startswith("</"))
        if name[1].lower() in BREAKING:
            self._break()
            self._tags.append(f"{'/' if content.startswith('</') else ''}{name[1].lower()}")
        return True

    def _add(self, line: Line) -> None:
        self._lines.append(replace(line, tags=tuple(self._tags)))
        self._tags = []

    def _break(self) -> None:
        struck = not any(part.text.strip(" .!") for part in self._parts) and bool(self._struck)
        whole = TrackedText.joined(self._struck if struck else self._parts)
        self._struck, self._struck_from = [], None
        start = 0
        for end, following in [
            *((match.start(), match.end()) for match in LINE_END.finditer(whole.text)),
            (len(whole.text), len(whole.text)),
        ]:
            line = whole.cut(start, end)
            strong = tuple(
                Span(max(span.start, start) - start, min(span.end, end) - start)
                for span in self._strong
                if span.start < end and start < span.end
            )
            if line.text.strip() or self._aside:
                self._add(Line(line, strong, tuple(self._aside), struck))
                self._aside = []
            start = following
        self._parts, self._strong, self._length = [], [], 0
        self._opened = None if self._opened is None else 0
