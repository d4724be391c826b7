"""How a Markdown text is shown as people read it, with every offset still exact.

The text itself is not changed: a layout says which stretch of it is a heading, an item or a cell
of a table, and which punctuation a view may hide. Only punctuation is ever hidden; every letter
and digit of the text lies in a block.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# Longer texts are shown as they are: parsing them takes seconds.
MAX_LENGTH = 200_000
_MAX_INLINE = 20_000
# What a text must have somewhere before it is parsed at all.
_SIGNS = re.compile(
    r"^ {0,3}(?:#{1,6} |[-*+] |\d{1,9}[.)] |> ?\S|```|~~~|\|)"
    r"|\*\*\S|__\S|`\S|\]\(|^.*\|.*$\n[ |:-]+-",
    re.MULTILINE,
)
_LINE_END = re.compile(r"\r\n|\r|\n")
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)(.+?)(?<!`)\1(?!`)")
_LINK = re.compile(r"!?\[([^\[\]\n]*)\](\(\s*<?[^\s()<>]*>?(?:\s+\"[^\"\n]*\")?\s*\))")
_PAIRS = (
    ("strong", re.compile(r"(\*\*)(?=[^\s*])(.+?)(?<=[^\s*])\1")),
    ("strong", re.compile(r"(?<!\w)(__)(?=[^\s_])(.+?)(?<=[^\s_])\1(?!\w)")),
    ("deleted", re.compile(r"(~~)(?=\S)(.+?)(?<=\S)\1")),
    ("emphasis", re.compile(r"(?<![*\\\w])(\*)(?=[^\s*])([^*\n]+?)(?<=[^\s*])\1(?![*\w])")),
    ("emphasis", re.compile(r"(?<![\w_\\])(_)(?=[^\s_])([^_\n]+?)(?<=[^\s_])\1(?!\w)")),
)
_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
_WORD = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Mark:
    """A stretch inside a block.

    start, end  its place in the text
    kind        `syntax` (punctuation that may be hidden), `strong`, `emphasis`, `deleted`,
                `code`, `link` or `address`
    """

    start: int
    end: int
    kind: str


@dataclass(frozen=True, slots=True)
class Block:
    """A stretch of a text that is shown as one block.

    kind        `paragraph`, `heading`, `item`, `code`, `rule` or `table`
    start, end  its place in the text
    level       of a heading, or how deep a list is nested; 0 elsewhere
    quoted      whether it is inside a quotation
    marks       its marks, which may overlap
    rows        the cells of a table, row by row; the first row is its head
    """

    kind: str
    start: int
    end: int
    level: int = 0
    quoted: bool = False
    marks: tuple[Mark, ...] = ()
    rows: tuple[tuple[Block, ...], ...] = ()

    def to_list(self) -> list[Any]:
        """Return the block as a JSON array, in the order of its fields."""
        marks = [[mark.start, mark.end, mark.kind] for mark in self.marks]
        rows = [[cell.to_list() for cell in row] for row in self.rows]
        return [self.kind, self.start, self.end, self.level, self.quoted, marks, rows]


def text_layout(text: str) -> tuple[Block, ...] | None:
    """Return the blocks of a Markdown text in their order; None where it is plain text.

    Args:
        text: any text.
    """
    if len(text) > MAX_LENGTH or not _SIGNS.search(text):
        return None
    blocks = _complete(text, sorted(_Reader(text).blocks(), key=lambda block: block.start))
    if all(block.kind == "paragraph" and not block.marks for block in blocks):
        return None
    return tuple(blocks)


def readable_text(text: str, layout: Sequence[Block] | None, start: int, end: int) -> str:
    """Return a stretch of a text on one line, without the punctuation of Markdown.

    Args:
        text: the text.
        layout: its layout; None for plain text.
        start: where the stretch begins.
        end: where it ends.
    """
    if layout is None:
        return " ".join(text[start:end].split())
    parts = []
    for block in layout:
        for leaf in [cell for row in block.rows for cell in row] or [block]:
            at, stop = max(start, leaf.start), min(end, leaf.end)
            shown = ""
            for mark in sorted(leaf.marks, key=lambda mark: mark.start):
                if mark.kind == "syntax" and mark.end > at and mark.start < stop:
                    shown += text[at : max(at, mark.start)]
                    at = mark.end
            if shown := " ".join((shown + text[at : max(at, stop)]).split()):
                parts.append(shown)
    return " · ".join(parts)


def _complete(text: str, blocks: list[Block]) -> list[Block]:
    """Return the blocks without overlaps, and with a paragraph for every word they leave out.

    The parser swallows definitions of link targets, for one.
    """
    kept: list[Block] = []
    at = 0
    end = Block("end", len(text), len(text))
    for block in (*blocks, end):
        if block.start < at:
            continue
        if _WORD.search(text, at, block.start):
            kept.append(_stripped(text, at, block.start))
        kept.append(block)
        at = block.end
    if kept[-1] is not end:  # blocks beyond the end never occur, but a hole would lose words
        raise AssertionError("a block reaches beyond the text")
    return kept[:-1]


def _stripped(text: str, start: int, end: int) -> Block:
    piece = text[start:end]
    start += len(piece) - len(piece.lstrip())
    return Block("paragraph", start, start + len(piece.strip()))


class _Reader:
    """Finds the blocks of a text with markdown-it, and where they are in the text."""

    def __init__(self, text: str) -> None:
        # The parser reads a NUL as this character, too.
        self._text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
        ends = [(match.start(), match.end()) for match in _LINE_END.finditer(text)]
        starts = [0, *(end for _, end in ends)]
        stops = [*(start for start, _ in ends), len(text)]
        self._lines = list(zip(starts, stops, strict=True))

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, without overlaps."""
        tokens = _parser().parse(self._text)
        depth = quotes = 0
        first = ""  # what the next paragraph of a list item begins with
        at = 0
        while at < len(tokens):
            token = tokens[at]
            kind = token.type
            if kind in ("bullet_list_open", "ordered_list_open"):
                depth += 1
            elif kind in ("bullet_list_close", "ordered_list_close"):
                depth -= 1
            elif kind == "list_item_open":
                first = f"{token.info}{token.markup}" if token.info else "bullet"
            elif kind in ("blockquote_open", "blockquote_close"):
                quotes += 1 if kind == "blockquote_open" else -1
            elif kind == "table_open":
                close = _closing(tokens, at)
                yield replace(self._table(tokens[at:close]), quoted=quotes > 0)
                at = close
            elif kind == "inline" and token.map:
                heading = tokens[at - 1].type == "heading_open"
                block = self._inline(token, "heading" if heading else "paragraph")
                if heading:
                    block = replace(block, level=int(tokens[at - 1].tag[1]))
                elif depth:
                    block = replace(block, level=depth)
                    if first:
                        block = self._item(block, first)
                first = ""
                yield replace(block, quoted=quotes > 0)
            elif kind == "fence" and token.map:
                yield replace(self._fence(token), quoted=quotes > 0)
            elif kind == "hr" and token.map:
                start, end = self._lines[token.map[0]]
                yield Block("rule", start, end)
            at += 1

    def _inline(self, token: Token, kind: str) -> Block:
        """The stretch of an inline token: its content, with what quotations repeat per line."""
        assert token.map is not None
        start = end = -1
        hidden = []
        for number, line in enumerate(token.content.split("\n"), start=token.map[0]):
            line_start, line_end = self._lines[min(number, len(self._lines) - 1)]
            found = self._text.rfind(line.strip(), line_start, line_end)
            found = line_start if found < 0 else found
            if start < 0:
                start = found
            elif ">" in self._text[line_start:found]:
                hidden.append(Mark(line_start, found, "syntax"))
            end = found + len(line.strip())
        marks = (*hidden, *_inline_marks(self._text, start, end))
        return Block(kind, start, end, marks=marks)

    def _item(self, block: Block, marker: str) -> Block:
        """An item; a number stays part of its text, a bullet does not."""
        if marker == "bullet":
            return replace(block, kind="item")
        start = self._text.rfind(marker.rstrip(".)"), 0, block.start)
        return replace(block, kind="item", start=block.start if start < 0 else start)

    def _fence(self, token: Token) -> Block:
        assert token.map is not None
        line, stop = token.map
        count = token.content.count("\n")
        first, last = line + 1, line + count
        start = self._lines[min(first, stop - 1)][0] if count else self._lines[line][1]
        end = self._lines[min(last, len(self._lines) - 1)][1] if count else start
        if not token.info.strip():
            return Block("code", start, max(start, end))
        named = self._text.rfind(token.info.strip(), *self._lines[line])
        label = Mark(named, named + len(token.info.strip()), "address")
        return Block("code", named, max(label.end, end), marks=(label,))

    def _table(self, tokens: Sequence[Token]) -> Block:
        rows: list[list[Block]] = []
        at = line_end = 0
        for token in tokens:
            if token.type == "tr_open" and token.map:
                rows.append([])
                at, line_end = self._lines[token.map[0]]
            elif token.type == "tr_close" and _WORD.search(self._text, at, line_end):
                # The parser drops cells for which the head has no column.
                rows[-1].append(_stripped(self._text, at, line_end))
            elif token.type == "inline":
                raw = token.content.strip().replace("|", "\\|")
                for content in (token.content.strip(), raw):
                    found = self._text.find(content, at, line_end)
                    if found >= 0:
                        break
                else:
                    content, found = "", at
                at = found + len(content)
                marks = tuple(_inline_marks(self._text, found, at))
                rows[-1].append(Block("paragraph", found, at, marks=marks))
        assert tokens[0].map is not None
        first, stop = tokens[0].map
        start, end = self._lines[first][0], self._lines[min(stop, len(self._lines)) - 1][1]
        return Block("table", start, end, rows=tuple(map(tuple, rows)))


def _inline_marks(text: str, start: int, end: int) -> Iterator[Mark]:
    if end - start > _MAX_INLINE:
        return
    taken = bytearray(end - start)  # characters that later patterns may not use as delimiters

    def free(*stretches: tuple[int, int]) -> bool:
        return not any(any(taken[low - start : high - start]) for low, high in stretches)

    for match in _CODE.finditer(text, start, end):
        yield Mark(match.start(2), match.end(2), "code")
        yield from _delimiters(match)
        taken[match.start() - start : match.end() - start] = b"\1" * len(match[0])
    for match in _LINK.finditer(text, start, end):
        opening, closing = (match.start(), match.start(1)), (match.end(1), match.start(2))
        if free(opening, closing):
            yield Mark(*opening, "syntax")
            yield Mark(*closing, "syntax")
            yield Mark(match.start(1), match.end(1), "link")
            yield Mark(match.start(2), match.end(2), "address")
            for low, high in (opening, (match.end(1), match.end())):
                taken[low - start : high - start] = b"\1" * (high - low)
    for kind, pattern in _PAIRS:
        for match in pattern.finditer(text, start, end):
            sides = (match.start(), match.start(2)), (match.end(2), match.end())
            if free(*sides):
                yield Mark(match.start(2), match.end(2), kind)
                yield from _delimiters(match)
                for low, high in sides:
                    taken[low - start : high - start] = b"\1" * (high - low)
    for match in _ESCAPE.finditer(text, start, end):
        if free(match.span()):
            yield Mark(match.start(), match.end(), "syntax")


def _delimiters(match: re.Match[str]) -> Iterator[Mark]:
    yield Mark(match.start(), match.start(2), "syntax")
    yield Mark(match.end(2), match.end(), "syntax")


def _closing(tokens: Sequence[Token], at: int) -> int:
    level = tokens[at].level
    kind = tokens[at].type.replace("_open", "_close")
    for place in range(at + 1, len(tokens)):
        if tokens[place].type == kind and tokens[place].level == level:
            return place
    return len(tokens)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    # Indented text is seldom code in a source; inline marks are found by their place instead.
    parser.disable(["code", "html_block", "reference"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
