"""Numbers as a reader sees them."""

from __future__ import annotations

from halldetect_bench.stats.resampling import Figure

NONE = "–"


def number(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where there is none.

    value: the number. digits: after the point.
    """
    return NONE if value is None else f"{value:,.{digits}f}"


def interval(found: Figure) -> str:
    """A value with its interval.

    found: the figure.
    """
    if found.value is None or found.low is None or found.high is None:
        return number(found.value)
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def pair(first: Figure, second: Figure) -> str:
    """Two values without their intervals, as short as they can be told.

    first, second: the figures.
    """
    if first.value is None:
        return NONE
    return " / ".join(number(one.value).removeprefix("0") for one in (first, second))
