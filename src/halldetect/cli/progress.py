"""The progress display: notices and progress of every command, on standard error only.

On a terminal it draws a bar that disappears at the end; elsewhere it prints a plain line every
few seconds; when quiet it prints nothing.
"""

from __future__ import annotations

import shutil
import sys
from contextlib import AbstractContextManager, suppress
from time import monotonic

from halldetect.machine.clock import duration_text, seconds_left
from halldetect.report.phrases import one_line

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


class ProgressDisplay(AbstractContextManager["ProgressDisplay"]):
    """Shows notices and the progress of one task at a time; nothing when quiet."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or sys.stderr is None
        self._is_terminal = not self._quiet and sys.stderr.isatty()
        self._drawn = False
        self._began = self._last_line = monotonic()
        self._task: str | None = None
        # When the task began, and the fraction that was done then.
        self._start = (self._began, 0.0)

    def __exit__(self, *_: object) -> None:
        self.clear()

    def notice(self, line: str) -> None:
        """Print a line for the user."""
        if not self._quiet:
            self.clear()
            _write(f"halldetect: {one_line(line)}\n")

    def update(
        self,
        task: str,
        detail: str,
        fraction: float | None,
        *,
        at_once: bool = False,
        restart: bool = False,
    ) -> None:
        """Show the state of a task and its remaining time.

        A plain line is printed only every few seconds, unless `at_once`. With `restart`, the clock
        of the task begins again: all before was done by an earlier run.
        """
        now = monotonic()
        if restart or task != self._task or not fraction:
            self._task, self._start = task, (now, fraction or 0.0)
        spent, done = now - self._start[0], (fraction or 0.0) - self._start[1]
        left = None if fraction is None else seconds_left(spent, done, 1 - fraction)
        if left is not None:
            detail += f", about {duration_text(left)} left"
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
        task, fraction = _TASKS.get(phase, phase), done / total if total else None
        if phase in LOADING_PHASES:
            return self.download(done, total, task)
        self.update(task, "" if fraction is None else f"{fraction:.0%}", fraction)

    def download(self, done: int, total: int | None, what: str) -> None:
        """Show the bytes of a download; print the first line of each task at once."""
        sizes = [f"{size // 1_000_000:,} MB" for size in (done, total) if size]
        fraction = done / total if total else None
        self.update(what, " of ".join(sizes), fraction, at_once=what != self._task)


def _write(text: str) -> None:
    with suppress(OSError):  # standard error is closed
        sys.stderr.write(text)
        sys.stderr.flush()
