"""HTML as Markdown: block tags inside a text, and the text of whole pages."""

from __future__ import annotations

import re
from collections import Counter
from html import unescape
from typing import cast

from halldetect.reading.document import TrackedText

ENDINGS = (".html", ".htm", ".xhtml")
_CELLS = frozenset(["td", "th"])
_TITLES = frozenset("h1 h2 h3 h4 h5 h6 caption summary".split())
_LISTS = frozenset(["ul", "ol"])
BLOCKS = frozenset(
    "td th h1 h2 h3 h4 h5 h6 caption summary ul ol p div li tr table hr dd dt blockquote section "
    "article thead tbody tfoot details figcaption address aside dl footer header main nav "
    "pre".split()
)
# A tag outside code, and outside the row of a Markdown table.
_TAG = re.compile(
    r"^[ ]{0,3}(?P<fence>`{3,}|~{3,})[^\n]*(?:\n(?![ ]{0,3}(?P=fence))[^\n]*)*|`[^`\n]{1,200}`"
    rf"|^[ ]{{0,3}}\|[^\n]*|<(?P<closing>/?)(?P<name>{'|'.join(sorted(BLOCKS))})\b[^<>]*>",
    re.IGNORECASE | re.MULTILINE,
)
_BESIDE = re.compile(r"[ \t]*\n?[ \t]*")
_LINE_END_OR_BAR = re.compile(r"[\r\n]+|\|")
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
STRUCK = frozenset(["del", "s", "strike"])
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
# Deeper lists become flat: the work grows with the indentation.
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
                    self.parts += [_one_line(content), TrackedText.added(" | ")]
                if at == 0:
                    self.parts.append(TrackedText.added("\n|" + "---|" * width))
        if self._rows is not None:
            self.parts.append(TrackedText.added("\n\n"))
        self._rows, self._in_cell = None, False


def _one_line(content: list[TrackedText]) -> TrackedText:
    """Return a cell without line ends, and with its bars escaped."""
    cell = TrackedText.joined(content).stripped()
    found = _LINE_END_OR_BAR.finditer(cell.text)
    return cell.edited((*match.span(), "\\|" if match[0] == "|" else " ") for match in found)


def html_as_markdown(text: str) -> TrackedText:
    """Return a text with its block tags written as Markdown."""
    writer = _Writer(page=False)
    at = 0
    for tag in _TAG.finditer(text) if "<" in text else ():
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
    text = TrackedText.joined(reader.writer.parts).text
    lines = (" ".join(line.split()) for line in text.split("\n"))
    blocks = "\n\n".join(line for line in lines if line)
    # Only the rows of a table belong together.
    return " ".join("".join(reader.title).split()), blocks.replace("|\n\n|", "|\n|")


class _PageText:
    """Reads the tokens of a page into `writer`; `title` has the pieces of its title."""

    def __init__(self, evidence: bool) -> None:
        self.writer = _Writer(page=True)
        self.title: list[str] = []
        self._evidence = evidence
        self._unseen: set[str] = set()  # selectors of a style sheet that hides them
        # Open elements: tag, whether it is invisible, whether it has a background.
        self._open: list[tuple[str, bool, bool]] = []
        self._counts: Counter[str | bool] = Counter()

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
        self.writer.end_table(closed=False)

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
        self._block(tag, closing=False)
        if tag not in _VOID:
            style = attributes.get("style", "")
            background = "background" in style or "bgcolor" in attributes
            entry = (tag, self._is_unseen(tag, attributes, background=background), background)
            self._open.append(entry)
            self._counts[tag] += 1
            self._counts[entry[1]] += 1
        if attributes and not self._evidence:
            self._spoken(tag, attributes)

    def _spoken(self, tag: str, attributes: dict[str, str]) -> None:
        """Add the texts of attributes that a browser shows or reads aloud."""
        said = [attributes[name] for name in _SPOKEN if name in attributes]
        if tag == "input" and attributes.get("type", "").lower() != "hidden":
            said.append(attributes.get("value", ""))
        for words in said:
            if any(char.isalnum() for char in words):
                self.writer.text(TrackedText.added(f" ![{' '.join(words.split())}](image) "))

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
            tag in STRUCK
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
        self._block(tag, closing=True)

    def _data(self, text: str) -> None:
        if not text or self._counts[True]:
            return
        text = _unescaped(text).replace("\n", " ")
        if text.strip() and any(self._counts[tag] for tag in STRUCK):
            text = f" ~~{text.strip()}~~ "
        self.writer.text(TrackedText.added(text))

    def _block(self, tag: str, *, closing: bool) -> None:
        if tag == "br" or tag in BLOCKS:
            self.writer.tag(tag, closing=closing)


def _unescaped(text: str) -> str:
    try:
        return unescape(text)
    except ValueError:  # a reference of thousands of digits
        return text
