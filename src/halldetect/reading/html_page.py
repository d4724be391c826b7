"""HTML as Markdown: block tags inside a text, and the text of whole pages."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import cast

from halldetect.reading.document import TrackedText

ENDINGS = (".html", ".htm", ".xhtml")
_CELLS = frozenset(["td", "th"])
_TITLES = frozenset("h1 h2 h3 h4 h5 h6 caption summary".split())
_LISTS = frozenset(["ul", "ol"])
_BLOCKS = (
    _CELLS
    | _TITLES
    | _LISTS
    | frozenset(
        "p div li tr table hr dd dt blockquote section article thead tbody tfoot details "
        "figcaption address aside dl footer header main nav pre".split()
    )
)
# A tag outside code, and outside the row of a Markdown table.
_TAG = re.compile(
    r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*(?:\n(?![ ]{0,3}(?P=fence))[^\n]*)*|`[^`\n]{1,200}`"
    rf"|^[ ]{{0,3}}\|[^\n]*|<(?P<closing>/?)(?P<name>{'|'.join(sorted(_BLOCKS))})\b[^<>]*>",
    re.IGNORECASE | re.MULTILINE,
)
_BESIDE = re.compile(r"[ \t]*\n?[ \t]*")
_LINE_END_OR_BAR = re.compile(r"[\r\n]+|\|")
_UNSEEN = frozenset({"script", "style", "template", "noscript", "head"})
# A further tag of the same name ends these elements.
_IMPLIED_END = frozenset("p li tr td th dt dd option".split())
STRUCK = frozenset(["s", "del", "strike"])
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_NOT_SHOWN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)
# A tag that does not end. The standard parser takes quadratic time for many of them.
_UNENDED = re.compile(r"<(?![^<>]*>)")
_MANY = 50
# markdown-it reads deeper lists as text.
_MAX_DEPTH = 9


class _Writer:
    """Writes headings, list items and tables as Markdown.

    In a page only tables are marked, and a table without header cells only defines the layout.
    """

    def __init__(self, *, page: bool) -> None:
        self.parts: list[TrackedText] = []
        self._page = page
        self._depth = 0
        self._after_mark = False
        # The cells of the innermost open table, by row: the tag and the content.
        self._rows: list[list[tuple[str, list[TrackedText]]]] | None = None
        self._in_cell = False

    def text(self, text: TrackedText) -> None:
        """Write text between two tags."""
        if self._in_cell and self._rows:
            self._rows[-1][-1][1].extend([text] if text.text else [])
        elif text.text.strip():
            self._after_mark = False
            self.parts.append(text)

    def tag(self, name: str, *, closing: bool) -> None:
        """Write a block tag."""
        if name == "table":
            self.end_table(closed=closing)
            self._rows = None if closing else []
        elif self._rows is not None and name in _CELLS | {"tr"}:
            self._in_cell = name != "tr" and not closing
            if not closing and (name == "tr" or not self._rows):
                self._rows.append([])
            if self._in_cell:
                self._rows[-1].append((name, []))
        elif self._in_cell:
            self.text(TrackedText.added("\n"))
        else:
            self._break(name, closing=closing)

    def _break(self, name: str, *, closing: bool) -> None:
        self._depth = max(0, self._depth + (name in _LISTS) * (-1 if closing else 1))
        indent = "" if self._page else "  " * min(self._depth, _MAX_DEPTH)
        mark = ""
        if not closing and not self._page:
            mark = "# " if name in _TITLES else "- " if name == "li" else ""
        if not self._after_mark or mark:
            indent = indent[2:] if mark == "- " else indent
            self.parts.append(TrackedText.added(f"\n\n{indent}{mark}"))
        self._after_mark = bool(mark)

    def end_table(self, *, closed: bool) -> None:
        """Write the rows of the open table; those of an unfinished one as paragraphs."""
        rows = [row for row in self._rows or () if any(content for _, content in row)]
        headers = [all(tag == "th" for tag, _ in row) for row in rows]
        width = max(map(len, rows), default=0)
        if not closed or (self._page and not any(tag == "th" for row in rows for tag, _ in row)):
            for _, content in (cell for row in rows for cell in row):
                self.parts += [TrackedText.added("\n\n"), *content]
        elif rows:
            # Without any header cell, two columns are names and values.
            named = len(rows) > 1 and (headers[0] or (width > 2 and not any(headers)))
            lines = rows if named or self._page else [[], *rows]
            for at, row in enumerate(lines):
                self.parts.append(TrackedText.added("\n\n| " if at == 0 else "\n| "))
                for _, content in [*row, *[("td", [])] * (width - len(row))]:
                    self.parts += [*_one_line(content), TrackedText.added(" | ")]
                if at == 0:
                    self.parts.append(TrackedText.added("\n|" + "---|" * width))
        if self._rows is not None:
            self.parts.append(TrackedText.added("\n\n"))
        self._rows, self._in_cell = None, False


def _one_line(content: list[TrackedText]) -> list[TrackedText]:
    """Return a cell without line ends, and with its bars escaped."""
    cell = TrackedText.joined(content).stripped()
    parts, at = [], 0
    for match in _LINE_END_OR_BAR.finditer(cell.text):
        mark = "\\|" if match[0] == "|" else " "
        origins = (cell.origins[match.start()],) * len(mark)
        parts += [cell.cut(at, match.start()), TrackedText(mark, origins)]
        at = match.end()
    return [*parts, cell.cut(at)]


def html_as_markdown(text: str) -> TrackedText:
    """Return a text with its block tags written as Markdown."""
    writer = _Writer(page=False)
    at = 0
    for tag in _TAG.finditer(text):
        if tag["name"] is None:
            continue
        writer.text(_between(text, at, tag.start()))
        writer.tag(tag["name"].lower(), closing=bool(tag["closing"]))
        at = tag.end()
    if at == 0:
        return TrackedText.of(text, 0, len(text))
    writer.end_table(closed=False)
    return TrackedText.joined([*writer.parts, _between(text, at, len(text))])


def _between(text: str, start: int, end: int) -> TrackedText:
    """Return the text between two tags without the white space and line ends beside them."""
    if start > 0:
        start = cast(re.Match[str], _BESIDE.match(text, start, end)).end()
    return TrackedText.of(text, start, start + len(text[start:end].rstrip()))


def html_text(page: str) -> tuple[str, str]:
    """Return the title and the visible text of an HTML page, one block per line."""
    if page.count("<") > page.count(">") + _MANY:
        page = _UNENDED.sub("&lt;", page)
    parser = _PageParser()
    parser.feed(page)
    parser.close()
    parser.writer.end_table(closed=False)
    text = TrackedText.joined(parser.writer.parts).text
    lines = (" ".join(line.split()) for line in text.split("\n"))
    blocks = "\n\n".join(line for line in lines if line)
    # Only the rows of a table belong together.
    return " ".join("".join(parser.title).split()), blocks.replace("|\n\n|", "|\n|")


class _PageParser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.writer = _Writer(page=True)
        self.title: list[str] = []
        self._unseen: list[str] = []
        self._in_title = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._unseen.clear()
        elif tag in self._unseen[-1:] and tag in _IMPLIED_END:
            self._unseen.pop()
        given = dict(attrs)
        unseen = "hidden" in given or _NOT_SHOWN.search(given.get("style") or "")
        if tag not in _VOID and (unseen or tag in _UNSEEN or tag in self._unseen[-1:]):
            self._unseen.append(tag)
        self._in_title = tag == "title"
        self._tag(tag, closing=False)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._unseen:
            while self._unseen.pop() != tag:
                pass
        self._in_title = False
        self._tag(tag, closing=True)

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._unseen:
            self.writer.text(TrackedText.added(data.replace("\n", " ")))

    def _tag(self, tag: str, *, closing: bool) -> None:
        if tag == "br" or tag in _BLOCKS:
            self.writer.tag(tag, closing=closing)
        elif tag in STRUCK and not self._unseen:
            self.writer.text(TrackedText.added("~~"))
