"""Plots as SVG, readable on a light and on a dark page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#3b82d0", "#d1495b", "#2a9d6f", "#a06cd5", "#d08a1d")
STYLE = (
    "<style>text{fill:#222}path{stroke:#ccc}"
    "@media(prefers-color-scheme:dark){text{fill:#ddd}path{stroke:#555}}</style>"
)
WIDE, TALL, LEFT, TOP = 300, 200, 50, 30


@dataclass(frozen=True)
class Panel:
    """Curves in a box: the ticks of both axes by value, and points (x, y[, low, high]) by name."""

    title: str
    across: Mapping[float, str]
    up: Mapping[float, str]
    curves: Mapping[str, Sequence[Sequence[float]]]


def text(x: float, y: float, words: str, more: str = "") -> str:
    """Return a text at a place."""
    return f'<text x="{x:.0f}" y="{y:.0f}" {more}>{escape(words)}</text>'


def document(wide: float, tall: float, parts: Sequence[str]) -> str:
    """Return the file of a plot."""
    font = 'font-family="sans-serif" font-size="11"'
    box = f'width="{wide:.0f}" viewBox="0 0 {wide:.0f} {tall:.0f}"'
    body = "".join((STYLE, *parts))
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} {font}>{body}</svg>\n'


def curves(panels: Sequence[Panel]) -> str:
    """Return panels side by side; a curve has the same colour in all of them."""
    names = list(dict.fromkeys(name for panel in panels for name in panel.curves))
    parts = []
    for place, panel in enumerate(panels):
        left = LEFT + place * (WIDE + LEFT)
        first, low = min(panel.across), min(panel.up)
        wide, tall = WIDE / (max(panel.across) - first), TALL / (max(panel.up) - low)
        parts.append(text(left, TOP - 12, panel.title))
        for value, words in panel.up.items():
            y = TOP + TALL - (value - low) * tall
            parts.append(f'<path d="M{left} {y:.0f}h{WIDE}"/>')
            parts.append(text(left - 4, y + 4, words, 'text-anchor="end"'))
        for value, words in panel.across.items():
            x = left + (value - first) * wide
            parts.append(text(x, TOP + TALL + 14, words, 'text-anchor="middle"'))
        for name, points in panel.curves.items():
            colour = COLOURS[names.index(name)]
            places = [
                (left + (x - first) * wide, *(TOP + TALL - (y - low) * tall for y in heights))
                for x, *heights in points
            ]
            line = " ".join(f"{x:.1f},{y:.1f}" for x, y, *_ in places)
            parts.append(f'<polyline fill="none" stroke="{colour}" points="{line}"/>')
            for x, y, *ends in places:
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="{colour}"/>')
                if ends:
                    line = f"{x:.1f},{ends[0]:.1f} {x:.1f},{ends[1]:.1f}"
                    parts.append(f'<polyline stroke="{colour}" opacity=".5" points="{line}"/>')
    parts += [text(LEFT + 115 * at, TOP + TALL + 32, name, f'style="fill:{COLOURS[at]}"')
              for at, name in enumerate(names)]  # fmt: skip
    return document(len(panels) * (WIDE + LEFT) + 20, TOP + TALL + 40, parts)


def bars(parts: Mapping[str, str], rows: Mapping[str, Sequence[float]]) -> str:
    """Return rows of bars: the first part to the left of a common line, the others to the right.

    `parts` has the colours of the parts by their meaning, `rows` their sizes by the row's name.
    """
    before = max(sizes[0] for sizes in rows.values())
    scale = 500 / (before + max(sum(sizes[1:]) for sizes in rows.values()))
    found = [text(130 + 180 * at, 14, f"■ {words}", f'style="fill:{parts[words]}"')
             for at, words in enumerate(parts)]  # fmt: skip
    for at, (name, sizes) in enumerate(rows.items()):
        x, y = 130 + (before - sizes[0]) * scale, 26 + 20 * at
        found.append(text(122, y + 11, name, 'text-anchor="end"'))
        for fill, size in zip(parts.values(), sizes, strict=True):
            wide = size * scale
            box = f'x="{x:.1f}" y="{y}" width="{wide:.1f}" height="14" fill="{fill}"'
            found.append(f"<rect {box}/>")
            number = 'text-anchor="middle" style="fill:#fff"'
            found.append(text(x + wide / 2, y + 11, f"{size:.0f}", number))
            x += wide
    return document(650, 30 + 20 * len(rows), found)
