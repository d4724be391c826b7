"""Charts of the page as SVG, with colours from the style sheet."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor, log10
from typing import TYPE_CHECKING

import numpy as np
from markupsafe import Markup, escape

if TYPE_CHECKING:
    from numpy.typing import NDArray

Point = tuple[float, float]
# The number of lines that a reader can tell apart; the style has a colour for each.
MAX_SERIES = 6
_BINS = 10
_SIZE, _LEFT, _RIGHT, _TOP, _BOTTOM = 300, 54, 10, 10, 40
# Bins with fewer rows say nothing about calibration.
_MIN_IN_BIN = 5
# A curve with more points looks the same.
_MAX_POINTS = 100


def curves(series: Sequence[tuple[str, Sequence[bool], Sequence[float]]], dataset: str) -> Markup:
    """Draw ROC, precision and recall, and reliability on one dataset.

    The series have for each method its label, the gold labels, and the scores of the same rows.
    """
    arrays = [(name, np.array(gold), np.array(scores)) for name, gold, scores in series]
    panels = (
        ("ROC", "faithful flagged", "hallucinated flagged", roc),
        ("Precision and recall", "recall", "precision", precision_recall),
        ("Reliability", "mean score", "hallucinated", reliability),
    )
    drawn = Markup("").join(
        _panel(
            f"{dataset}: {title}", across, up, [make(gold, scores) for _, gold, scores in arrays]
        )
        for title, across, up, make in panels
    )
    return Markup('<div class="panels">') + drawn + Markup("</div>") + _legend(series)


def roc(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> list[Point]:
    """Return the shares of faithful and of hallucinated (`gold`) rows flagged per threshold."""
    hits, flagged = _cuts(gold, scores)
    wrong = max(1, int(gold.sum()))
    right = max(1, len(gold) - int(gold.sum()))
    return _thinned([(0.0, 0.0), *zip((flagged - hits) / right, hits / wrong, strict=True)])


def precision_recall(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> list[Point]:
    """Return recall and precision at each threshold; `gold` is True if hallucinated."""
    hits, flagged = _cuts(gold, scores)
    wrong = max(1, int(gold.sum()))
    return _thinned(list(zip(hits / wrong, hits / flagged, strict=True)))


def reliability(gold: NDArray[np.bool_], scores: NDArray[np.float64]) -> list[Point]:
    """Return mean score and hallucinated share of ten bins; empty for scores beyond 0 to 1."""
    if scores.min() < 0 or scores.max() > 1:
        return []
    place = np.minimum((scores * _BINS).astype(int), _BINS - 1)
    return [
        (float(scores[place == at].mean()), float(gold[place == at].mean()))
        for at in range(_BINS)
        if (place == at).sum() >= _MIN_IN_BIN
    ]


def _cuts(
    gold: NDArray[np.bool_], scores: NDArray[np.float64]
) -> tuple[NDArray[np.int_], NDArray[np.int_]]:
    """Return the counts of hallucinated and of all rows at or above each threshold, descending."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(np.flatnonzero(np.diff(scores[order])), len(scores) - 1)
    return np.cumsum(gold[order])[last], last + 1


def _thinned(points: Sequence[Point]) -> list[Point]:
    if len(points) <= _MAX_POINTS:
        return list(points)
    return [points[at] for at in np.linspace(0, len(points) - 1, _MAX_POINTS).astype(int)]


def _panel(title: str, across: str, up: str, lines: Sequence[Sequence[Point]]) -> Markup:
    """Draw lines in a square from 0 to 1."""
    width, height = _SIZE - _LEFT - _RIGHT, _SIZE - _TOP - _BOTTOM

    def at(point: Point) -> str:
        return f"{_LEFT + width * point[0]:.1f},{_TOP + height * (1 - point[1]):.1f}"

    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        (left, y), (right, _) = (at((x, tick)).split(",") for x in (0, 1))
        x = at((tick, 0)).split(",")[0]
        parts.append(f'<line class="grid" x1="{left}" x2="{right}" y1="{y}" y2="{y}"/>')
        parts.append(f'<text class="axis" x="{_LEFT - 6}" y="{float(y) + 4:.1f}" '
                     f'text-anchor="end">{tick:g}</text>')  # fmt: skip
        parts.append(f'<text class="axis" x="{x}" y="{_TOP + height + 16}" '
                     f'text-anchor="middle">{tick:g}</text>')  # fmt: skip
    parts += [
        f'<polyline class="series s{place}" points="{" ".join(map(at, line))}"/>'
        for place, line in enumerate(lines)
        if line
    ]
    parts.append(_axis_names(across, up, _SIZE, _SIZE))
    return _svg(title, _SIZE, _SIZE, parts)


def accuracy_over_time(points: Sequence[tuple[str, float, float]]) -> Markup:
    """Draw accuracy against seconds (above 0) on a logarithmic axis, one mark per method."""
    wide, height = 760, 320
    low = floor(min(log10(seconds) for _, seconds, _ in points))
    high = max(low + 1, -floor(-max(log10(seconds) for _, seconds, _ in points)))
    bottom = floor(10 * min(value for _, _, value in points)) / 10
    inner, tall = wide - _LEFT - 190, height - _TOP - _BOTTOM

    def x(seconds: float) -> float:
        return _LEFT + inner * (log10(seconds) - low) / (high - low)

    def y(value: float) -> float:
        return _TOP + tall * (1 - (value - bottom) / (1 - bottom))

    parts = []
    for power in range(low, high + 1):
        parts.append(f'<text class="axis" x="{x(10.0**power):.1f}" y="{_TOP + tall + 16}" '
                     f'text-anchor="middle">{10.0**power:g}</text>')  # fmt: skip
    for tick in np.arange(bottom, 1.01, 0.1):
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{_LEFT + inner}" '
                     f'y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>')  # fmt: skip
        parts.append(f'<text class="axis" x="{_LEFT - 6}" y="{y(tick) + 4:.1f}" '
                     f'text-anchor="end">{tick:.1f}</text>')  # fmt: skip
    for name, seconds, value in points:
        parts.append(f'<circle class="mark" cx="{x(seconds):.1f}" cy="{y(value):.1f}" r="4"/>'
                     f'<text class="axis" x="{x(seconds) + 8:.1f}" y="{y(value) + 4:.1f}">'
                     f"{escape(name)}</text>")  # fmt: skip
    parts.append(_axis_names("seconds per response", "mean AUROC", wide, height))
    return _svg("Accuracy against seconds", wide, height, parts)


def _axis_names(across: str, up: str, width: int, height: int) -> str:
    return (
        f'<text class="axis name" x="{(width + _LEFT) / 2:.1f}" y="{height - 6}" '
        f'text-anchor="middle">{across}</text>'
        f'<text class="axis name" transform="translate(12 {height / 2 - 10:.1f}) rotate(-90)" '
        f'text-anchor="middle">{up}</text>'
    )


def _svg(title: str, width: int, height: int, parts: Sequence[str]) -> Markup:
    return Markup(
        f'<svg class="chart" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(title)}"><title>{escape(title)}</title>{"".join(parts)}</svg>'
    )


def _legend(series: Sequence[tuple[str, Sequence[bool], Sequence[float]]]) -> Markup:
    items = Markup("").join(
        Markup('<li class="s{}">{}</li>').format(place, name)
        for place, (name, _, _) in enumerate(series)
    )
    return Markup('<ul class="legend">') + items + Markup("</ul>")
