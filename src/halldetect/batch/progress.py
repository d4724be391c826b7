"""How a run is getting on: a bar on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
from contextlib import suppress
from time import monotonic
from types import TracebackType
from typing import TYPE_CHECKING

from halldetect.batch.tally import Tally

if TYPE_CHECKING:
    from rich.progress import Progress as Bar

PLAIN_EVERY = 10.0


class Progress:
    """Shows rows, rate, time left and the hallucination rate so far, on standard error."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet or sys.stderr is None
        self._bar: Bar | None = None
        self._began = self._last = monotonic()
        # Rows and the share of the input that an earlier run had done say nothing of our pace.
        self._skipped: tuple[int, float] | None = None

    def __enter__(self) -> Progress:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            # Standard output may carry results and is left alone.
            self._bar = Bar(
                BarColumn(),
                TextColumn("{task.description}"),
                console=Console(file=sys.stderr),
                transient=True,
                redirect_stdout=False,
            )
            self._bar.add_task("reading", total=None)
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self) -> None:
        if self._bar is not None:
            self._bar.stop()

    def begin(self, rows: int, fraction: float | None) -> None:
        """The work begins, after so many rows of an earlier run."""
        self._began = self._last = monotonic()
        self._skipped = (rows, fraction or 0.0)

    def advance(self, tally: Tally, fraction: float | None) -> None:
        now = monotonic()
        if self._bar is not None:
            task = self._bar.task_ids[0]
            total = None if fraction is None else 1.0
            words = self.describe(tally, fraction, now)
            self._bar.update(task, description=words, completed=fraction or 0.0, total=total)
        elif not self._quiet and now - self._last >= PLAIN_EVERY:
            self._last = now
            with suppress(OSError):  # nobody reads it any more
                words = self.describe(tally, fraction, now)
                print(f"halldetect: {words}", file=sys.stderr, flush=True)

    def describe(self, tally: Tally, fraction: float | None, now: float) -> str:
        rows, share = self._skipped or (0, 0.0)
        spent = max(now - self._began, 1e-6)
        parts = [f"{tally.rows:,} rows", f"{(tally.rows - rows) / spent:.1f} a second"]
        if fraction is not None and fraction > share:
            parts.append(f"{duration(spent * (1 - fraction) / (fraction - share))} left")
        if tally.rate is not None:
            parts.append(f"{tally.rate:.0%} hallucinated")
        return ", ".join(parts)


def duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02} min"
