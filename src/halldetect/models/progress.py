"""How a download is told to whoever shows it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

# Bytes done, bytes in all where known, and what is being done.
Progress = Callable[[int, "int | None", str], None]

_LINE_EVERY = 5.0


def lines(say: Callable[[str], None], every: float = _LINE_EVERY) -> Progress:
    """Progress as a line now and then: when the work changes, and every few seconds."""
    last_what = ""
    last_time = 0.0

    def report(done: int, total: int | None, what: str) -> None:
        nonlocal last_what, last_time
        now = monotonic()
        if what == last_what and now - last_time < every:
            return
        last_what, last_time = what, now
        if not done:
            size = f" ({megabytes(total)})" if total else ""
            say(f"{what}{size}")
        else:
            of = f" of {megabytes(total)}" if total else ""
            say(f"{what}: {megabytes(done)}{of}")

    return report


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
