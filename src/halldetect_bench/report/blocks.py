"""A document of headings, paragraphs, lists, tables and charts, as Markdown or one HTML page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING

from halldetect.render.html_page import html_page, shared_style

if TYPE_CHECKING:
    from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Heading:
    """A title: level 1 of the document, level 2 of a section."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    """A text with `code` and **strong** words marked as in Markdown."""

    text: str


@dataclass(frozen=True, slots=True)
class Listing:
    """List items, each a text as in `Paragraph`."""

    items: Sequence[str]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the first `words` columns hold text, the others numbers; the page can sort it."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart with its caption, shown only on the page."""

    drawing: Markup
    caption: str


Block = Heading | Paragraph | Listing | Table | Chart


def markdown(blocks: Sequence[Block]) -> str:
    """Return the document as Markdown, without its charts."""
    return "\n\n".join(text for block in blocks if (text := _as_markdown(block))) + "\n"


def _as_markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return block.text
    if isinstance(block, Listing):
        return "\n".join(f"- {item}" for item in block.items)
    if isinstance(block, Table):
        lines = [block.titles, ["---"] * len(block.titles), *block.rows]
        cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        return "\n".join("| " + " | ".join(line) + " |" for line in cells)
    return ""


def page(blocks: Sequence[Block], title: str) -> str:
    """Return the document as one self-contained HTML file."""
    package = "halldetect_bench.report"

    def own(name: str) -> str:
        return (resources.files(package) / name).read_text("utf-8")

    return html_page(
        package,
        "blocks.html.jinja",
        title=title,
        style=shared_style() + own("blocks.css"),
        script=own("sort.js"),
        sections=[
            block.text for block in blocks if isinstance(block, Heading) and block.level == 2
        ],
        blocks=[(type(block).__name__, block) for block in blocks],
        anchor=_anchor,
        inline=_inline,
        cell=_cell,
    )


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _inline(text: str) -> Markup:
    """Return a paragraph's text with its marks as tags."""
    from markupsafe import Markup, escape

    marked = re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text)))
    marked = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", marked)
    return Markup(re.sub(r"[*]{2}([^*]+)[*]{2}", r"<strong>\1</strong>", marked))


def _cell(text: str) -> Markup:
    """Return a cell's text with an interval in small print."""
    from markupsafe import Markup, escape

    return Markup(re.sub(r" (\([^)]* to [^)]*\))$", r" <small>\1</small>", str(escape(text))))
