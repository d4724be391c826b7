"""The one progress display: notices and progress of every command, on standard error only.

On a terminal it draws a bar that disappears at the end; elsewhere it prints a plain line every
few seconds; when quiet it prints nothing.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from halldetect.verification.remaining_time import RemainingTime

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

    from halldetect.batch.counts import RowCounts

PLAIN_SECONDS = 5.0
# Work that is shorter than this is over before anybody can read a bar.
BAR_DELAY_SECONDS = 0.3
_BAR_WIDTH = 28
_DOWNLOAD_PHASE, _CONVERT_PHASE, _EXTRACT_PHASE = "fetch", "convert", "extract"
_TASKS = {
    "verify": "judging claims",
    "explain": "judging parts of claims",
    "proof": "looking for short proofs",
}


class ProgressDisplay:
    """Shows notices and the progress of one task at a time.

    Args:
        quiet: whether to show nothing at all.
    """

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or sys.stderr is None
        self._is_terminal = not self._quiet and sys.stderr.isatty()
        self._bar: Bar | None = None
        self._began = self._last_line = monotonic()
        self._announced = ""
        self._phase = ""
        self._remaining = RemainingTime(0.0)

    def __enter__(self) -> ProgressDisplay:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.clear()

    def notice(self, line: str) -> None:
        """Print a line for the person who waits."""
        if self._quiet:
            return
        self.clear()
        _print(line)

    def update(
        self, task: str, detail: str, fraction: float | None, *, at_once: bool = False
    ) -> None:
        """Show how far a task is.

        Args:
            task: what is being done.
            detail: how far it is, in words.
            fraction: how far it is, None where that is unknown.
            at_once: whether to print a plain line however recent the last one is.
        """
        now = monotonic()
        if self._is_terminal:
            if now - self._began >= BAR_DELAY_SECONDS:
                self._draw(task, detail, fraction)
        elif not self._quiet and (at_once or now - self._last_line >= PLAIN_SECONDS):
            self._last_line = now
            _print(f"{task}: {detail}" if task and detail else task or detail)

    def clear(self) -> None:
        """Remove the bar, if one is drawn."""
        if self._bar is not None:
            bar, self._bar = self._bar, None
            bar.stop()

    def phase(self, phase: str, done: int, total: int) -> None:
        """The progress of a detector: its phase, and how many of its units are done."""
        if phase != self._phase:
            self._phase, self._remaining = phase, RemainingTime(monotonic())
        fraction = done / total if total else None
        if phase == _DOWNLOAD_PHASE:
            self.download(done, total, "fetching the model")
        elif phase == _CONVERT_PHASE:  # a notice has said what and why
            detail = f"{done // 1_000_000:,} MB of {total // 1_000_000:,} MB"
            self.update("converting the verifier", detail, fraction)
        elif phase == _EXTRACT_PHASE:
            self.update("extracting claims", f"{done} of {total}", fraction)
        else:
            left = self._remaining.seconds(fraction, monotonic())
            detail = "" if fraction is None else f"{fraction:.0%}"
            if left is not None:
                detail += f", about {duration_text(left)} left"
            self.update(_TASKS.get(phase, phase), detail, fraction)

    def download(self, done: int, total: int | None, what: str) -> None:
        """The progress of a download.

        Args:
            done: bytes so far.
            total: bytes in all, None where that is unknown.
            what: what is being done; its first line is printed at once.
        """
        at_once, self._announced = what != self._announced, what
        size = "" if total is None else f"{total // 1_000_000:,} MB"
        detail = f"{done // 1_000_000:,} MB" + (f" of {size}" if size else "") if done else size
        self.update(what, detail, done / total if total else None, at_once=at_once)

    def _draw(self, task: str, detail: str, fraction: float | None) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, Progress, TextColumn

            # Standard output may carry results: leave it alone.
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(_BAR_WIDTH),
                TextColumn("{task.fields[detail]}", markup=False),
                console=Console(file=sys.stderr),
                transient=True,
                redirect_stdout=False,
            )
            self._bar.add_task(task, total=None, detail=detail)
            self._bar.start()
        self._bar.update(
            self._bar.task_ids[0],
            description=task,
            detail=detail,
            completed=fraction or 0.0,
            total=None if fraction is None else 1.0,
        )


class BatchDisplay:
    """Shows rows, rate, time left and the hallucination rate of a batch run.

    Args:
        display: where to show them.
    """

    def __init__(self, display: ProgressDisplay) -> None:
        self._display = display
        self._began = monotonic()
        # What an earlier run had done says nothing about the speed of this one.
        self._rows_before, self._fraction_before = 0, 0.0

    def begin(self, rows: int, fraction: float | None) -> None:
        """The work begins, after the rows of an earlier run."""
        self._began = monotonic()
        self._rows_before, self._fraction_before = rows, fraction or 0.0

    def advance(self, counts: RowCounts, fraction: float | None) -> None:
        """More rows are done."""
        seconds = monotonic() - self._began
        parts = [f"{counts.rows:,} rows", rate_text(counts.rows - self._rows_before, seconds)]
        if fraction is not None and fraction > self._fraction_before:
            left = seconds * (1 - fraction) / (fraction - self._fraction_before)
            parts.append(f"{duration_text(left)} left")
        if counts.rate is not None:
            parts.append(f"{counts.rate:.0%} hallucinated")
        self._display.update("", ", ".join(filter(None, parts)), fraction)


class RowsDisplay:
    """Shows how many of a known number of rows are done, the rate and the time left.

    Args:
        display: where to show them.
        task: what is being done.
    """

    def __init__(self, display: ProgressDisplay, task: str) -> None:
        self._display = display
        self._task = task
        self._began = monotonic()

    def advance(self, done: int, total: int) -> None:
        """So many of the rows are done."""
        detail = rows_text(done, total, monotonic() - self._began)
        fraction = done / total if total else None
        self._display.update(self._task, detail, fraction, at_once=done == total)


def rows_text(done: int, total: int, seconds: float) -> str:
    """How far rows are, such as `12/40 rows, 3.1 rows/s, 9 s left`."""
    parts = [f"{done}/{total} rows", rate_text(done, seconds)]
    if done and seconds > 0:
        parts.append(f"{duration_text((total - done) * seconds / done)} left")
    return ", ".join(filter(None, parts))


def rate_text(rows: int, seconds: float) -> str:
    """How fast rows are done, such as `3.1 rows/s` or `2.5 s/row`; empty if nothing is done."""
    if rows <= 0 or seconds <= 0:
        return ""
    rate = rows / seconds
    return f"{rate:,.1f} rows/s" if rate >= 1 else f"{1 / rate:,.1f} s/row"


def duration_text(seconds: float) -> str:
    """A duration, such as `5 s`, `1 min 01 s` or `1 h 01 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"


def _print(line: str) -> None:
    with suppress(OSError):  # nobody reads it any more
        print(f"halldetect: {line}", file=sys.stderr, flush=True)
