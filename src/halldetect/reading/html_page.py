"""The text of HTML pages: one block per line, data tables as Markdown tables."""

from __future__ import annotations

from html.parser import HTMLParser
from itertools import pairwise

ENDINGS = (".html", ".htm", ".xhtml")
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption footer h1 h2 h3 h4 h5 h6 header "
    "hr li main nav ol p pre section table td th tr ul".split()
)
_HIDDEN = frozenset({"script", "style", "template", "noscript", "head"})


def html_text(page: str) -> tuple[str, str]:
    """The title and the text of an HTML page.

    A table with header cells becomes a Markdown table, so that its rows are read with their
    headers; other tables only lay out the page.

    Args:
        page: the page.
    """
    parser = _PageText()
    parser.feed(page)
    parser.close()
    lines = (" ".join(line.split()) for line in "".join(parser.parts).split("\n"))
    blocks = "\n\n".join(line for line in lines if line)
    # The rows of a table are the only lines that belong together.
    return " ".join("".join(parser.title).split()), blocks.replace("|\n\n|", "|\n|")


class _PageText(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: list[str] = []
        self.title: list[str] = []
        self._hidden: list[str] = []
        self._in_title = False
        # Where the innermost open table begins in the parts, and where its cells do, by row.
        self._table: int | None = None
        self._rows: list[list[int]] = []
        self._has_header = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "body":
            self._hidden.clear()
        if tag in _HIDDEN:
            self._hidden.append(tag)
        self._in_title = tag == "title"
        if tag in _BLOCKS:
            self.parts.append("\n")
        self._take_table_tag(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag in self._hidden:
            while self._hidden.pop() != tag:
                pass
        self._in_title = False
        if tag == "table":
            self._end_table()
        if tag in _BLOCKS:
            self.parts.append("\n")

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title.append(data)
        elif not self._hidden:
            self.parts.append(data.replace("\n", " "))

    def _take_table_tag(self, tag: str) -> None:
        if tag == "table":  # one around another only lays out the page
            self._table, self._rows, self._has_header = len(self.parts), [], False
        elif self._table is not None and tag == "tr":
            self._rows.append([])
        elif self._table is not None and tag in ("td", "th") and self._rows:
            self._rows[-1].append(len(self.parts))
            self._has_header = self._has_header or tag == "th"

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
