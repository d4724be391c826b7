"""The blocks of a Markdown text, with the place of every character in the raw text.

`markdown_blocks` finds the blocks, `_Scanner` the mark-up inside them, both in linear time.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from html import unescape
from typing import NamedTuple

from halldetect.reading.document import Block, Line, Span, TrackedText
from halldetect.reading.html_page import STRUCK, html_as_markdown
from halldetect.reading.markdown_blocks import find_blocks
from halldetect.reading.sentences import LINE_END, lines

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
    tracked = html_as_markdown(text)
    blocks: list[Block] = []
    header: tuple[Line, ...] = ()
    for leaf in find_blocks(tracked.text):
        kind = "row" if leaf.kind == "header" else leaf.kind
        header = header if leaf.kind == "row" else ()
        if kind == "row":
            read = [joined(_inline(tracked, [cell])) for cell in leaf.parts]
        else:
            read = (_code_lines if kind == "code" else _inline)(tracked, leaf.parts)
        number = None if leaf.mark is None else tracked.cut(leaf.mark.start, leaf.mark.end)
        blocks.append(Block(kind, tuple(read), leaf.items, leaf.fresh, number, header, leaf.quoted))
        header = header or (tuple(read) if leaf.kind == "header" else ())
    return blocks


def _code_lines(text: TrackedText, parts: Sequence[Span]) -> list[Line]:
    found = []
    start = parts[0].start
    for span in lines(text.text[start : parts[-1].end]):
        line = text.cut(start + span.start, start + span.end)
        content = line.stripped("`~").stripped()
        if content.text and (content.text == line.text or " " in content.text):
            found.append(Line(content))
    return found


def _inline(text: TrackedText, parts: Sequence[Span]) -> list[Line]:
    whole = text.cut(parts[0].start, parts[-1].end).stripped()
    if len(parts) > 1:
        pieces = [text.cut(part.start, part.end).stripped() for part in parts]
        if whole.text != "\n".join(piece.text for piece in pieces):
            apart = [item for piece in pieces for item in (TrackedText.added("\n"), piece)]
            whole = TrackedText.joined(apart[1:])
    if not (_PIECE.search(whole.text) or LINE_END.search(whole.text)):
        return [Line(whole)] if whole.text else []
    return _LineReader(whole).lines()


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
