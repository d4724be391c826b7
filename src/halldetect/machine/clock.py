"""Tell how long work takes: the rest of a task, and a duration in words."""

from __future__ import annotations

# Below either of these, the remaining time is not known yet.
_MIN_SECONDS, _MIN_FRACTION = 2.0, 0.02


def seconds_left(spent: float, done: float, rest: float) -> float | None:
    """Return the seconds for the rest of a task, a fraction; None while too little is done."""
    known = spent >= _MIN_SECONDS and done >= _MIN_FRACTION
    return spent * rest / done if known else None


def duration_text(seconds: float) -> str:
    """Return a duration, such as `5 s`, `1 min 01 s` or `1 h 01 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
