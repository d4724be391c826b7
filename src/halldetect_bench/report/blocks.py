"""A document as headings, paragraphs and tables, and its forms: Markdown and one HTML page."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Heading:
    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Paragraph:
    text: str


@dataclass(frozen=True, slots=True)
class Table:
    """The first `words` columns hold words, all others numbers."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: int = 1


@dataclass(frozen=True, slots=True)
class Drawing:
    """An SVG file; only the page shows it."""

    file: Path
    text: str


Block = Heading | Paragraph | Table | Drawing


def markdown(blocks: Sequence[Block]) -> str:
    return "\n\n".join(text for block in blocks if (text := _as_markdown(block))) + "\n"


def _as_markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Paragraph):
        return block.text
    if isinstance(block, Table):
        lines = [block.titles, ["---"] * len(block.titles), *block.rows]
        cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
        return "\n".join("| " + " | ".join(line) + " |" for line in cells)
    return ""


def page(blocks: Sequence[Block], title: str) -> str:
    """One HTML file that needs no other."""
    headings = [block.text for block in blocks if isinstance(block, Heading) and block.level == 2]
    links = "".join(f'<a href="#{_anchor(text)}">{html.escape(text)}</a>' for text in headings)
    body = "\n".join(_as_html(block) for block in blocks)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style></head>\n"
        f"<body><nav>{links}</nav>\n<main>\n{body}\n</main></body></html>\n"
    )


def _as_html(block: Block) -> str:
    if isinstance(block, Heading):
        mark = f"h{block.level}"
        return f'<{mark} id="{_anchor(block.text)}">{html.escape(block.text)}</{mark}>'
    if isinstance(block, Paragraph):
        text = html.escape(block.text)
        text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
        text = re.sub(r"[*]{2}([^*]+)[*]{2}", r"<strong>\1</strong>", text)
        return f"<p>{text}</p>"
    if isinstance(block, Drawing):
        svg = block.file.read_text(encoding="utf-8")
        # Identifiers repeat from drawing to drawing: inside an image they cannot clash.
        data = svg[svg.index("<svg") :].encode("utf-8")
        return (
            f'<figure><img alt="{html.escape(block.text)}" '
            f'src="data:image/svg+xml;base64,{_base64(data)}">'
            f"<figcaption>{html.escape(block.text)}</figcaption></figure>"
        )
    head = "".join(
        f"<th{'' if place < block.words else ' class=n'}>{html.escape(title)}</th>"
        for place, title in enumerate(block.titles)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(
            f"<td{'' if place < block.words else ' class=n'}>{_cell(cell)}</td>"
            for place, cell in enumerate(row)
        )
        + "</tr>"
        for row in block.rows
    )
    return (
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>\n{rows}\n</tbody></table></div>"
    )


def _cell(text: str) -> str:
    """The interval in brackets is set small."""
    return re.sub(r" (\[[^\]]*\])$", r" <small>\1</small>", html.escape(text))


def _anchor(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _base64(data: bytes) -> str:
    from base64 import b64encode

    return b64encode(data).decode("ascii")


_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881 }
body { font: 15px/1.5 system-ui, sans-serif; margin: 0; display: grid;
  grid-template-columns: 15rem minmax(0, 1fr) }
nav { position: sticky; top: 0; align-self: start; max-height: 100vh; overflow: auto;
  padding: 1.5rem 1rem; box-sizing: border-box; font-size: 13px }
nav a { display: block; padding: .15rem 0; color: inherit; text-decoration: none }
nav a:hover { text-decoration: underline }
main { padding: 1.5rem 2rem 4rem; min-width: 0 }
h1 { margin-top: 0 } h2 { margin-top: 2.5rem; border-bottom: 1px solid var(--line) }
p { max-width: 46rem }
.wide { overflow-x: auto }
table { border-collapse: collapse; font-size: 13px; white-space: nowrap }
th, td { text-align: left; padding: .3rem .7rem; border-bottom: 1px solid var(--line) }
th { background: var(--soft); position: sticky; top: 0 }
.n { text-align: right; font-variant-numeric: tabular-nums }
td small { opacity: .6 }
tbody tr:hover { background: var(--soft) }
figure { margin: 1rem 0 } figure img { max-width: 100%; background: #fff; border-radius: 4px }
figcaption { font-size: 13px; opacity: .7 }
code { background: var(--soft); padding: 0 .2em }
@media (max-width: 60rem) { body { display: block } nav { position: static; max-height: none;
  columns: 2 } main { padding: 1rem } }
@media print { nav { display: none } body { display: block } }
"""
