"""Charts of the report of a dataset, as SVG that takes its colours from the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from markupsafe import Markup, escape

from halldetect.batch.counts import ROW_KINDS

_WIDE, _NARROW, _HEIGHT = 960, 340, 240
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 10, 26, 40


def histograms(bins: Sequence[Mapping[str, int]], threshold: float | None) -> Markup:
    """A histogram of scores for wide screens and one for phones; the style shows one of them.

    Args:
        bins: per bin of the score from 0 to 1, rows by outcome.
        threshold: where the line is; None for no line.
    """
    wide = _histogram(bins, threshold, _WIDE, "wide")
    return wide + _histogram(bins, threshold, _NARROW, "narrow")


def _histogram(
    bins: Sequence[Mapping[str, int]], threshold: float | None, total_width: int, name: str
) -> Markup:
    """A histogram, each bar divided by outcome, with a line at the threshold."""
    top = _axis_end(max((sum(bin.values()) for bin in bins), default=0))
    width, height = total_width - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM
    right = total_width - _RIGHT
    step = width / len(bins)
    gap = min(3.0, step / 6)
    floor = _TOP + height
    parts = []
    for tick in _ticks(top):
        y = floor - height * tick / top
        parts.append(f'<line class="grid" x1="{_LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(
            f'<text class="axis" x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:,}</text>'
        )
    for at, bin in enumerate(bins):
        y = float(floor)
        low, high = at / len(bins), (at + 1) / len(bins)
        description = ", ".join(f"{bin[kind]:,} {kind}" for kind in ROW_KINDS if bin.get(kind))
        bar = ""
        for kind in ROW_KINDS:
            if size := height * bin.get(kind, 0) / top:
                y -= size
                bar += (
                    f'<rect class="{kind}" x="{_LEFT + at * step + gap / 2:.1f}" y="{y:.1f}" '
                    f'width="{step - gap:.1f}" height="{size:.1f}"/>'
                )
        parts.append(
            f"<g><title>Score {low:.2f} to {high:.2f}: {description or 'none'}</title>{bar}</g>"
        )
    parts.append(f'<line class="base" x1="{_LEFT}" x2="{right}" y1="{floor}" y2="{floor}"/>')
    for tick in range(0, 11, 2):
        x = _LEFT + width * tick / 10
        parts.append(
            f'<text class="axis" x="{x:.1f}" y="{floor + 18}" text-anchor="middle">'
            f"{tick / 10:.1f}</text>"
        )
    middle = _LEFT + width / 2
    parts.append(
        f'<text class="axis name" x="{middle:.1f}" y="{_HEIGHT - 4}" text-anchor="middle">'
        "hallucination score</text>"
    )
    if threshold is not None:
        x = _LEFT + width * threshold
        side, shift = ("end", -6) if threshold > 0.7 else ("start", 6)
        parts.append(
            f'<line class="post" x1="{x:.1f}" x2="{x:.1f}" y1="{_TOP - 12}" y2="{floor}"/>'
        )
        parts.append(
            f'<text class="axis mark" x="{x + shift:.1f}" y="{_TOP - 8}" text-anchor="{side}">'
            f"hallucinated from {threshold:g}</text>"
        )
    return Markup(
        f'<svg class="histogram {name}" viewBox="0 0 {total_width} {_HEIGHT}" role="img" '
        f'aria-label="How many responses have which score">{"".join(parts)}</svg>'
    )


def stack(counts: Mapping[str, float], label: str) -> Markup:
    """One divided bar; the legend below it says what each part is.

    Args:
        counts: the size of each part.
        label: what the bar shows, for screen readers.
    """
    total = sum(counts.values()) or 1
    x, parts = 0.0, []
    for kind, count in counts.items():
        if count:
            size = 1000 * count / total
            description = f"{escape(kind)}: {count:,.6g} ({count / total:.1%})"
            parts.append(
                f'<rect class="{escape(kind)}" x="{x:.2f}" width="{max(size - 2, 1):.2f}" '
                f'height="14"><title>{description}</title></rect>'
            )
            x += size
    return Markup(
        f'<svg class="stack" viewBox="0 0 1000 14" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(label)}">{"".join(parts)}</svg>'
    )


def whisker(rate: float, span: tuple[float, float], overall: float | None) -> Markup:
    """A rate as a dot, its interval as a line, the rate of all rows as a mark.

    Args:
        rate: the rate.
        span: its interval.
        overall: the rate of all rows; None for no mark.
    """
    low, high = (1000 * value for value in span)
    post = (
        ""
        if overall is None
        else f'<rect class="overall" x="{1000 * overall - 1:.1f}" width="2" height="24"/>'
    )
    return Markup(
        '<svg class="whisker" viewBox="-12 0 1024 24" preserveAspectRatio="none" '
        'aria-hidden="true">'
        f'<rect class="track" y="11" width="1000" height="2"/>{post}'
        f'<rect class="span" x="{low:.1f}" y="8" width="{max(high - low, 1):.1f}" height="8"/>'
        f'<rect class="dot" x="{1000 * rate - 5:.1f}" y="4" width="10" height="16"/></svg>'
    )


def _axis_end(most: int) -> int:
    """The end of an axis: 1, 2, 4, 5 or 8 times a power of ten."""
    scale = 1
    while True:
        for factor in (1, 2, 4, 5, 8):
            if factor * scale >= most:
                return max(factor * scale, 1)
        scale *= 10


def _ticks(top: int) -> list[int]:
    for parts in (4, 5, 2):
        if top % parts == 0:
            return [top * at // parts for at in range(1, parts + 1)]
    return [top]
