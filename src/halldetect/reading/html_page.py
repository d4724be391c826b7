"""HTML: block tags inside a text, and the text of whole pages.

`markdown` returns the lines between the tags of a text, each with the tags before it; `HtmlBlocks`
turns them into blocks, like those of Markdown. `html_text` reads an HTML file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html import unescape
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
# Each part takes linear time, also where a tag, a comment or a quotation mark is never closed; the
# parser of the standard library takes quadratic time, or fails.
_TOKEN = re.compile(
    r"<!--(?:-?>|.*?(?:--!?>|\Z))|<[!?][^>]*(?:>|\Z)"
    r"|<(?P<end>/?)(?P<tag>[a-z][^\s/>]*)"
    r"(?P<attributes>(?:[^>=]++|=\s*+(?:\"[^\"]*+\"|'[^']*+')?+)*+)(?:>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_NAME_AND_VALUE = re.compile(r"([^\s/=]++)(?:\s*+=\s*+(\"[^\"]*+\"|'[^']*+'|\S++))?+")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
_RAW = {
    name: re.compile(rf"</{name}(?=[\s/>]|\Z)", re.IGNORECASE)
    for name in ("script", "style", "title", "textarea")
}
_STRUCK = frozenset(["del", "s", "strike"])
_SPOKEN = ("alt", "title", "aria-label", "placeholder")
_STYLE_RULE = re.compile(r"([.#][\w-]++)\s*+\{([^{}]*)")
_INVISIBLE = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|(?:font-size|opacity)\s*:\s*0++(?:\.0++)?+(?![.\d])",
    re.IGNORECASE,
)
_WHITE = re.compile(
    r"(?<![-\w])color\s*:\s*"
    r"(?:white|transparent|#fff(?:fff)?\b|rgba?\(\s*255\s*,\s*255\s*,\s*255)",
    re.IGNORECASE,
)
# How many open elements are searched for a background.
_NEAR = 20
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


def html_text(page: str, *, evidence: bool = False) -> tuple[str, str]:
    """Return the title and the text of an HTML page, one block per line.

    A table with header cells becomes a Markdown table, so that its rows are read with their
    headers. Other tables only define the layout.

    Args:
        page: The HTML.
        evidence: True for a source: what a reader does not see, or sees struck out, is left out.
            The text of a response has all of it, with the descriptions of images.
    """
    reader = _PageText(evidence)
    reader.read(page)
    lines = (" ".join(line.split()) for line in "".join(reader.parts).split("\n"))
    blocks = "\n\n".join(line for line in lines if line)
    # Only the rows of a table belong together.
    return " ".join("".join(reader.title).split()), blocks.replace("|\n\n|", "|\n|")


class _PageText:
    """Reads the tokens of a page; `parts` and `title` are the pieces of its text."""

    def __init__(self, evidence: bool) -> None:
        self.parts: list[str] = []
        self.title: list[str] = []
        self._evidence = evidence
        self._unseen: set[str] = set()  # selectors of a style sheet that hides them
        # Open elements: tag, whether it is invisible, whether it has a background.
        self._open: list[tuple[str, bool, bool]] = []
        self._counts: Counter[str | bool] = Counter()
        # The start of the innermost open table in the parts, and of its cells, by row.
        self._table: int | None = None
        self._rows: list[list[int]] = []
        self._has_header = False

    def read(self, page: str) -> None:
        """Read a whole page."""
        at = 0
        while (token := _TOKEN.search(page, at)) is not None:
            self._data(page[at : token.start()])
            at = token.end()
            tag = (token["tag"] or "").lower()
            if token["end"]:
                self._end(tag)
            elif tag:
                self._start(tag, token["attributes"])
                if tag in _RAW:
                    closing = _RAW[tag].search(page, at)
                    end = closing.start() if closing else len(page)
                    self._raw(tag, page[at:end])
                    at = end
        self._data(page[at:])

    def _raw(self, tag: str, text: str) -> None:
        if tag == "title":
            self.title.append(_unescaped(text))
        elif tag == "style":
            rules = (rule.groups() for rule in _STYLE_RULE.finditer(text))
            self._unseen |= {name for name, rule in rules if _INVISIBLE.search(rule)}
        elif tag == "textarea":
            self._data(text)

    def _start(self, tag: str, text: str) -> None:
        pairs = (match.groups("") for match in _NAME_AND_VALUE.finditer(text))
        attributes = {name.lower(): _unescaped(value.strip("\"'")) for name, value in pairs}
        if tag in _PAGE_BREAKING:
            self.parts.append("\n")
        if tag not in _VOID:
            style = attributes.get("style", "")
            background = "background" in style or "bgcolor" in attributes
            entry = (tag, self._is_unseen(tag, attributes, background=background), background)
            self._open.append(entry)
            self._counts[tag] += 1
            self._counts[entry[1]] += 1
        if tag == "table":  # an outer table only defines the layout
            self._table, self._rows, self._has_header = len(self.parts), [], False
        elif self._table is not None and tag == "tr":
            self._rows.append([])
        elif self._table is not None and tag in CELLS and self._rows:
            self._rows[-1].append(len(self.parts))
            self._has_header = self._has_header or tag == "th"
        if attributes and not self._evidence:
            self._spoken(tag, attributes)

    def _spoken(self, tag: str, attributes: dict[str, str]) -> None:
        """Add the texts of attributes that a browser shows or reads aloud."""
        said = [attributes[name] for name in _SPOKEN if name in attributes]
        if tag == "input" and attributes.get("type", "").lower() != "hidden":
            said.append(attributes.get("value", ""))
        if tag == "meta" and attributes.get("name", "").lower() == "description":
            said.append(attributes.get("content", ""))
        for words in said:
            if any(char.isalnum() for char in words):
                self.parts.append(f" ![{' '.join(words.split())}](image) ")

    def _is_unseen(self, tag: str, attributes: dict[str, str], *, background: bool) -> bool:
        """Return True if a browser shows nothing of an element."""
        if tag == "template":
            return True
        if not self._evidence:
            return False
        style = attributes.get("style", "")
        names = [f".{name}" for name in attributes.get("class", "").split()]
        white = _WHITE.search(style) or _WHITE.search(f"color:{attributes.get('color', '')}")
        behind = background or any(entry[2] for entry in self._open[-_NEAR:])
        return (
            tag in _STRUCK
            or tag == "noscript"
            or "hidden" in attributes
            or (tag == "dialog" and "open" not in attributes)
            or _INVISIBLE.search(style) is not None
            or (white is not None and not behind)
            or not self._unseen.isdisjoint([*names, f"#{attributes.get('id', '')}"])
        )

    def _end(self, tag: str) -> None:
        if self._counts[tag]:
            name = ""
            while name != tag:
                name, unseen, _ = self._open.pop()
                self._counts[name] -= 1
                self._counts[unseen] -= 1
        if tag == "table":
            self._end_table()
        if tag in _PAGE_BREAKING:
            self.parts.append("\n")

    def _data(self, text: str) -> None:
        if not text or self._counts[True]:
            return
        text = _unescaped(text).replace("\n", " ")
        if text.strip() and any(self._counts[tag] for tag in _STRUCK):
            text = f" ~~{text.strip()}~~ "
        self.parts.append(text)

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


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a reference of thousands of digits
        return text
