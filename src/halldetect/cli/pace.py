"""How far a long run is, how fast it goes and how long it still takes, on standard error."""

from __future__ import annotations

import sys
from time import monotonic

_PLAIN_EVERY = 5.0


class Pace:
    """One line that is drawn over on a terminal, a line every few seconds elsewhere."""

    def __init__(self, what: str, *, quiet: bool) -> None:
        self._what = what
        self._quiet = quiet or sys.stderr is None
        self._terminal = not self._quiet and sys.stderr.isatty()
        self._began = monotonic()
        self._shown = self._began
        self._drawn = False

    def advance(self, done: int, of: int) -> None:
        now = monotonic()
        if self._quiet or not (self._terminal or done == of or now - self._shown >= _PLAIN_EVERY):
            return
        self._shown = now
        line = f"{self._what}: {paced(done, of, now - self._began)}"
        if self._terminal:
            print(f"\r\x1b[2K{line}", end="", file=sys.stderr, flush=True)
            self._drawn = True
        else:
            print(f"halldetect: {line}", file=sys.stderr, flush=True)

    def finish(self) -> None:
        if self._drawn:
            print(file=sys.stderr, flush=True)
            self._drawn = False


def paced(done: int, of: int, seconds: float) -> str:
    """`12/40 rows, 3.1 rows/s, 0:09 left`"""
    rate = done / seconds if seconds > 0 else 0.0
    if rate <= 0:
        return f"{done}/{of} rows"
    speed = f"{rate:.1f} rows/s" if rate >= 1 else f"{1 / rate:.1f} s/row"
    left = round((of - done) / rate)
    minutes, rest = divmod(left, 60)
    hours, minutes = divmod(minutes, 60)
    clock = f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
    return f"{done}/{of} rows, {speed}, {clock} left"
