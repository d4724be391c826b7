"""The blocks of a Markdown text, with the place of every character in the raw text.

markdown-it-py finds the blocks. It gives no offsets for the mark-up inside them, and some texts
take it quadratic time, so `_Scanner` reads that.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from html import unescape
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from halldetect.reading.document import Block, Line, Span, TrackedText
from halldetect.reading.html_page import STRUCK, html_as_markdown
from halldetect.reading.sentences import LINE_END, lines

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Line ends as markdown-it defines them.
_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n|$)")
_QUOTATION = re.compile(r"[^']*(?:\w'\w[^']*)*[\w.,!?…] ?'(?=[\s.,;:!?)]|$)")
_ATTRIBUTE = re.compile(r"\b(?:alt|title|content|label|aria-label)\s*=\s*(\"[^\"]*\"|'[^']*')")
_HTML_TAGS = frozenset(
    "a abbr address article aside audio b blockquote body br button caption center cite code col "
    "dd del details dfn div dl dt em figcaption figure font footer form h1 h2 h3 h4 h5 h6 head "
    "header hr html i iframe img input ins kbd label li link main mark meta nav ol option p pre q "
    "s samp script section select small source span strike strong style sub summary sup svg table "
    "tbody td textarea tfoot th thead time title tr tt u ul var video wbr think answer".split()
)
# A term and its definition after a colon form one line.
_PIECE = re.compile(
    r"(?P<newline>\\?(?:\r\n?|\n)[ \t]*(?P<defined>(?=: ))?)"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])|(?P<entity>&(?:#\w{1,8}|\w{2,31});)|(?P<ticks>`+)"
    r"|(?P<comment><!--)|<(?P<link>[a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[\w.+-]+@[\w.-]+)>"
    r"|</?(?P<tag>[a-z][a-z0-9]*)(?:[\s/][^<>]*)?>|(?P<run>\*{1,3}|_{1,3}|~~)"
    r"|(?P<open>!?\[)|(?P<close>\])",
    re.IGNORECASE,
)
_ADDRESS = re.compile(
    r"\]\(\s{0,9}(?P<inside>(?:<[^<>\n]{0,999}>|[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)"
    r"(?:\s{1,9}(?:\"[^\"]{0,999}\"|'[^']{0,999}'|\([^()]{0,999}\)))?)\s{0,9}\)"
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
    return parser.disable(["code", "reference", "html_block", "inline"])


class _Reader:
    """Reads the tokens of one text."""

    def __init__(self, raw: str) -> None:
        self._tracked = html_as_markdown(raw)
        self._text = self._tracked.text
        lengths = [len(match.group()) for match in _LINE.finditer(self._text)]
        self._starts = [0, *accumulate(lengths)]
        self._items: list[int] = []
        self._marks: list[Token] = []
        self._fresh = False
        self._count = 0
        self._quotes = 0

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
                found.append((first, self._block(token, heading=heading)))
                covered.update(range(first, last))
                self._fresh = False
            at += 1
        found += self._uncovered(covered)
        return [block for _, block in sorted(found, key=lambda pair: pair[0])]

    def _take_item(self, token: Token) -> None:
        self._fresh = token.type == "list_item_open"
        if self._fresh:
            self._count += 1
            self._items.append(self._count)
            self._marks.append(token)
        else:
            self._items.pop()
            self._marks.pop()

    def _block(self, token: Token, *, heading: bool) -> Block:
        first, last = _lines_of(token)
        code = token.type == "fence"
        read = self._code_lines(first, last) if code else self._inline(token, first, last)
        return Block(
            "code" if code else "heading" if heading else "paragraph",
            tuple(read),
            tuple(self._items),
            self._fresh,
            self._number(self._marks[-1]) if self._fresh and self._marks else None,
            quoted=self._quotes > 0,
        )

    def _uncovered(self, covered: set[int]) -> Iterator[tuple[int, Block]]:
        for number in range(len(self._starts) - 1):
            raw = self._text[self._starts[number] : self._starts[number + 1]]
            if number not in covered and any(char.isalnum() for char in raw):
                yield number, Block("paragraph", tuple(self._raw_lines(number, number + 1)))

    def _raw_lines(self, first: int, last: int) -> Iterator[Line]:
        start, end = self._starts[first], self._starts[last]
        for span in lines(self._text[start:end]):
            yield Line(self._tracked.cut(start + span.start, start + span.end))

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
        return self._tracked.cut(start, start + len(mark.info + mark.markup))

    def _rows(self, tokens: Sequence[Token]) -> Iterator[tuple[int, Block]]:
        header: tuple[Line, ...] | None = None
        cells: list[Line] = []
        number = cursor = 0
        for token in tokens:
            if token.type == "tr_open":
                number = _lines_of(token)[0]
                cells, cursor = [], self._starts[number]
            elif token.type == "inline":
                content = token.content.replace("|", "\\|")
                start = self._text.find(content, cursor, self._starts[number + 1])
                cursor = start + len(content)
                cells.append(joined(_LineReader(self._tracked.cut(start, cursor)).lines()))
            elif token.type == "tr_close":
                row, items = tuple(cells), tuple(self._items)
                yield number, Block("row", row, items, False, None, header or (), self._quotes > 0)
                header = header or row

    def _inline(self, token: Token, first: int, last: int) -> list[Line]:
        parts = []
        for number, line in enumerate(token.content.split("\n"), first):
            start, end = self._starts[number], self._starts[number + 1]
            content = line.strip()
            at = self._text.rfind(content, start, end)
            if at < 0:  # markdown-it has replaced a character
                return list(self._raw_lines(first, last))
            parts += [self._tracked.cut(at, at + len(content)), TrackedText.added("\n")]
        return _LineReader(TrackedText.joined(parts[:-1])).lines()


def _is_quotation(mark: str, inside: str) -> bool:
    """Return True for a quotation that Markdown parses as code: `` so '' and `so'.

    Double marks with spaces inside are not code. Of two single marks, the second begins another
    quotation if a space precedes it and an apostrophe has ended the first.
    """
    if not inside.endswith(" "):
        return False
    if mark == "``":
        return inside.startswith(" ") and "`" not in inside
    return mark == "`" and _QUOTATION.match(inside) is not None


def joined(lines: Sequence[Line]) -> Line:
    """Join lines with spaces."""
    if len(lines) == 1:
        return lines[0]
    parts = [part for line in lines for part in (TrackedText.added(" "), line.text)][1:]
    strong, struck = (lines[0].strong, lines[0].struck) if lines else ((), False)
    aside = tuple(item for line in lines for item in line.aside)
    return Line(TrackedText.joined(parts), strong, aside, struck)


def _lines_of(token: Any) -> tuple[int, int]:
    first, last = token.map
    return first, last


class _Event(NamedTuple):
    """A range of a text that is not shown as it is; `text` is shown instead."""

    start: int
    end: int
    kind: str
    text: str = ""


class _Scanner:
    """Finds the mark-up inside a block in linear time."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._events: list[_Event] = []
        self._runs: dict[str, list[Span]] = {}
        self._brackets: list[Span] = []
        self._ticks: dict[int, list[int]] | None = None

    def events(self) -> list[_Event]:
        """Return the mark-up in order."""
        at = 0
        while (piece := _PIECE.search(self._text, at)) is not None:
            at = self._take(piece, piece.lastgroup or "")
        return sorted(self._events)

    def _take(self, piece: re.Match[str], kind: str) -> int:
        """Read a piece of mark-up; return the place after it."""
        start, end = piece.span()
        if kind == "newline":
            self._add(start, end, "newline" if piece["defined"] is None else "hidden")
        elif kind == "escaped":
            self._add(start, end, "shown", piece[kind])
        elif kind == "entity" and len(unescape(piece[0])) == 1:
            self._add(start, end, "shown", unescape(piece[0]))
        elif kind == "ticks":
            return self._code(start, end)
        elif kind == "comment":
            closing = self._text.find("-->", end)
            end = len(self._text) if closing < 0 else closing + 3
            if closing >= 0:
                self._add(start, end, "comment")
        elif kind == "link":
            self._add(start, start + 1)
            self._add(end - 1, end)
        elif kind == "tag" and piece[kind].lower() in _HTML_TAGS:
            self._add(start, end, "tag", piece[kind].lower())
        elif kind == "run":
            self._emphasis(start, end)
        elif kind == "open":
            self._brackets.append(Span(start, end))
        elif kind == "close" and self._brackets:
            opened = self._brackets.pop()
            address = _ADDRESS.match(self._text, start)
            if address is not None:
                self._add(opened.start, opened.end)
                end = address.end()
                self._add(start, end, "address", address["inside"])
        return end

    def _add(self, start: int, end: int, kind: str = "hidden", text: str = "") -> None:
        self._events.append(_Event(start, end, kind, text))

    def _code(self, start: int, end: int) -> int:
        """Hide the marks around code; return the place after it."""
        if self._ticks is None:
            self._ticks = {}
            for run in re.finditer("`+", self._text):
                self._ticks.setdefault(len(run[0]), []).append(run.start())
        known = self._ticks.get(end - start, [])
        after = bisect_left(known, end)
        closing = known[after] if after < len(known) else -1
        if closing < 0 or self._text.find("\n", end, closing) >= 0:
            return end
        inside = self._text[end:closing]
        if not _is_quotation(self._text[start:end], inside):
            space = inside[:1] == inside[-1:] == " " and bool(inside.strip())
            self._add(start, end + space)
            self._add(closing - space, closing + end - start)
        return closing + end - start

    def _emphasis(self, start: int, end: int) -> None:
        """Pair a run of marks with the last equal run that may open emphasis."""
        mark = self._text[start:end]
        before, after = self._text[start - 1 : start] or " ", self._text[end : end + 1] or " "
        inside_word = before.isalnum() and after.isalnum()
        if inside_word and mark[0] == "_":
            return
        runs = self._runs.setdefault(mark, [])
        opens = not after.isspace() and (after.isalnum() or not before.isalnum())
        if runs and not before.isspace() and (before.isalnum() or not after.isalnum()):
            opened = runs.pop()
            kind = "struck" if mark == "~~" else "strong" if len(mark) > 1 else "hidden"
            self._add(opened.start, opened.end, kind)
            self._add(start, end, kind if kind == "hidden" else f"/{kind}")
            for others in self._runs.values():
                while others and others[-1].start > opened.start:
                    others.pop()
        elif opens:
            runs.append(Span(start, end))


class _LineReader:
    """Builds the lines of a block from its text and mark-up."""

    def __init__(self, text: TrackedText) -> None:
        self._text = text
        self._lines: list[Line] = []
        self._parts: list[TrackedText] = []
        self._length = 0
        self._strong: list[Span] = []
        self._aside: list[TrackedText] = []
        self._opened: int | None = None
        self._struck: list[TrackedText] = []
        self._struck_from: int | None = None

    def lines(self) -> list[Line]:
        """Return the lines without their mark-up."""
        if not (_PIECE.search(self._text.text) or LINE_END.search(self._text.text)):
            return [Line(self._text)] if self._text.text.strip() else []
        at = 0
        for event in _Scanner(self._text.text).events():
            self._append(self._text.cut(at, event.start))
            at = event.end
            self._take(event)
        self._append(self._text.cut(at))
        self._break()
        return self._lines

    def _take(self, event: _Event) -> None:
        kind, place = event.kind, self._text.cut(event.start, event.end)
        if kind == "newline":
            self._break()
        elif kind == "shown":
            self._append(place.replaced(Span(0, len(place.text)), event.text))
        elif kind == "strong":
            self._opened = self._length
        elif kind == "/strong" and self._opened is not None:
            self._strong.append(Span(self._opened, self._length))
            self._opened = None
        elif kind in ("struck", "/struck"):
            self._strike(opens=kind == "struck")
        elif kind == "comment":
            self._aside.append(place.cut(4, len(place.text) - 3).stripped())
        elif kind == "address" and event.text.strip():
            start = place.text.index(event.text)
            self._aside.append(place.cut(start, start + len(event.text)).stripped())
        elif kind == "tag":
            self._tag(place, event.text)

    def _append(self, part: TrackedText) -> None:
        self._parts.append(part)
        self._length += len(part.text)

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

    def _tag(self, tag: TrackedText, name: str) -> None:
        closing = tag.text.startswith("</")
        for attribute in _ATTRIBUTE.finditer(tag.text):
            self._aside.append(tag.cut(attribute.start(1) + 1, attribute.end(1) - 1))
        if name in STRUCK:
            self._strike(opens=not closing)
        if name == "br":
            self._break()

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
                self._lines.append(Line(line, strong, tuple(self._aside), struck))
                self._aside = []
            start = following
        self._parts, self._strong, self._length = [], [], 0
        self._opened = None if self._opened is None else 0
