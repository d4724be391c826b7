"""The progress display: notices and progress of every command, on standard error only.

On a terminal it draws a bar that disappears at the end; elsewhere it prints a plain line every
few seconds; when quiet it prints nothing.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING

from halldetect.verification.remaining_time import RemainingTime

if TYPE_CHECKING:
    from halldetect.batch.counts import RowCounts

PLAIN_SECONDS = 5.0
# Shorter work ends before anyone can read a bar.
DELAY_SECONDS = 0.3
_BAR_WIDTH = 28
LOADING_PHASES = ("fetch", "convert")
_TASKS = {
    "fetch": "fetching the model",
    "convert": "converting the verifier",
    "extract": "extracting claims",
    "verify": "judging claims",
    "explain": "explaining claims",
    "proof": "looking for short proofs",
    "facts": "comparing facts",
}


class ProgressDisplay:
    """Shows notices and the progress of one task at a time; nothing when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or sys.stderr is None
        self._is_terminal = not self._quiet and sys.stderr.isatty()
        self._drawn = False
        self._began = self._last_line = monotonic()
        self._announced = ""
        self._phase = ""
        self._remaining = RemainingTime(0.0)

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(self, *_: object) -> None:
        self.clear()

    def notice(self, line: str) -> None:
        """Print a line for the user."""
        if not self._quiet:
            self.clear()
            _write(f"halldetect: {line}\n")

    def update(
        self, task: str, detail: str, fraction: float | None, *, at_once: bool = False
    ) -> None:
        """Show the state of a task; a plain line only every few seconds, unless `at_once`."""
        now = monotonic()
        line = ": ".join(filter(None, (task, detail)))
        if self._is_terminal:
            if now - self._began >= DELAY_SECONDS:
                self._drawn = True
                bar = "━" * round((fraction or 0.0) * _BAR_WIDTH)
                room = shutil.get_terminal_size().columns - 1
                _write(f"\r{f'{bar:·<{_BAR_WIDTH}} {line}'[:room]}\x1b[K")
        elif not self._quiet and (at_once or now - self._last_line >= PLAIN_SECONDS):
            self._last_line = now
            _write(f"halldetect: {line}\n")

    def clear(self) -> None:
        """Remove the bar, if one is drawn."""
        if self._drawn:
            self._drawn = False
            _write("\r\x1b[K")

    def phase(self, phase: str, done: int, total: int) -> None:
        """Show the phase of a detector and the units done."""
        if phase != self._phase:
            self._phase, self._remaining = phase, RemainingTime(monotonic())
        task, fraction = _TASKS.get(phase, phase), done / total if total else None
        if phase in LOADING_PHASES:
            return self.download(done, total, task)
        left = self._remaining.seconds(fraction, monotonic())
        detail = "" if fraction is None else f"{fraction:.0%}"
        detail += "" if left is None else f", about {duration_text(left)} left"
        self.update(task, detail, fraction)

    def download(self, done: int, total: int | None, what: str) -> None:
        """Show the bytes of a download; print the first line of each task at once."""
        at_once, self._announced = what != self._announced, what
        sizes = [_megabytes(done)] if done else []
        sizes += [] if total is None else [_megabytes(total)]
        self.update(what, " of ".join(sizes), done / total if total else None, at_once=at_once)


class _PaceDisplay:
    """Shows rows done, their rate and the time left."""

    def __init__(self, display: ProgressDisplay, task: str = "") -> None:
        self._display = display
        self._task = task
        self.begin(0, None)

    def begin(self, rows: int, fraction: float | None) -> None:
        """Start the clock after the rows of an earlier run."""
        self._began = monotonic()
        self._rows_before, self._fraction_before = rows, fraction or 0.0

    def _show(self, rows: str, done: int, fraction: float | None, end: str, at_once: bool) -> None:
        seconds = monotonic() - self._began
        parts = [rows, rate_text(done - self._rows_before, seconds)]
        if fraction is not None and fraction > self._fraction_before and seconds > 0:
            left = seconds * (1 - fraction) / (fraction - self._fraction_before)
            parts.append(f"{duration_text(left)} left")
        detail = ", ".join(filter(None, (*parts, end)))
        self._display.update(self._task, detail, fraction, at_once=at_once)


class RowsDisplay(_PaceDisplay):
    """Shows the rows done of a known total."""

    def advance(self, done: int, total: int) -> None:
        """Show the number of rows done."""
        fraction = done / total if total else None
        self._show(f"{done}/{total} rows", done, fraction, "", done == total)


class BatchDisplay(_PaceDisplay):
    """Shows the rows done and the hallucination rate of a batch run."""

    def advance(self, counts: RowCounts, fraction: float | None) -> None:
        """Show the rows done."""
        rate = "" if counts.rate is None else f"{counts.rate:.0%} hallucinated"
        self._show(f"{counts.rows:,} rows", counts.rows, fraction, rate, False)


def rate_text(rows: int, seconds: float) -> str:
    """Return a rate, such as `3.1 rows/s` or `2.5 s/row`; empty if nothing is done."""
    if rows <= 0 or seconds <= 0:
        return ""
    rate = rows / seconds
    return f"{rate:,.1f} rows/s" if rate >= 1 else f"{1 / rate:,.1f} s/row"


def duration_text(seconds: float) -> str:
    """Return a duration, such as `5 s`, `1 min 01 s` or `1 h 01 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _megabytes(size: int) -> str:
    return f"{size // 1_000_000:,} MB"


def _write(text: str) -> None:
    with suppress(OSError):  # standard error is closed
        sys.stderr.write(text)
        sys.stderr.flush()
