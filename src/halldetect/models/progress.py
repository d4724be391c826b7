"""How a download is shown: a bar on a terminal, plain lines elsewhere, always standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def shown() -> Iterator[Progress]:
    """Progress for a person: a bar if standard error is a terminal, lines if it is not."""
    if sys.stderr is None:
        yield lambda done, total, what: None
    elif sys.stderr.isatty():
        with _bar() as report:
            yield report
    else:
        yield lines(lambda line: print(f"halldetect: {line}", file=sys.stderr, flush=True))


@contextmanager
def _bar() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        DownloadColumn,
        TextColumn,
        TimeRemainingColumn,
        TransferSpeedColumn,
    )
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with RichProgress(*columns, console=Console(stderr=True), transient=True) as bars:
        task = bars.add_task("", total=None)

        def report(done: int, total: int | None, what: str) -> None:
            bars.update(task, completed=done, total=total, description=what)

        yield report


def megabytes(count: int) -> str:
    return f"{count / 1e6:,.0f} MB"
