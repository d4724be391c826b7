"""A row of the scoreboard, and what the files of results say of it."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from benchmarks.code_state import measured
from benchmarks.store import RESULTS
from benchmarks.store import stored as read_file
from halldetect.batch.results import wilson_interval
from halldetect_bench.stats.resampling import Figure
from tests.support.result_weights import digests_in, listed

VERIFIERS = ("base", "auto", "large")
DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Row:
    """One promise: a figure, where it comes from, and the best figure known elsewhere.

    `id` begins with the group. `what` and `column` place the figure in the table of the group. `of`
    is the number of cases of a share. `file` is a file or folder of results; empty if the code
    itself is measured. `verifiers` name those that were judged with.
    """

    id: str
    what: str
    column: str
    value: float
    low: float | None = None
    high: float | None = None
    of: int | None = None
    digits: int = 3
    file: str = ""
    verifiers: tuple[str, ...] = ()
    elsewhere: str = ""

    @property
    def group(self) -> str:
        """The name of its table."""
        return self.id.partition(".")[0]

    @property
    def weights(self) -> tuple[str, ...]:
        """The first digits of the weights it was measured with, or ? and those presumed."""
        known = lists()["known"]
        kinds = {"base", "large"} if "auto" in self.verifiers else {*self.verifiers}
        wanted = {digest for kind in kinds for digest in known[kind]}
        return tuple(one for one in weights_of(self.file) if one[-8:] in wanted)

    @property
    def origin(self) -> dict[str, Any]:
        """The command that measures it and the commit at which it did."""
        return noted()[self.file] if self.file else {"command": "-", "commit": "-"}

    @property
    def text(self) -> str:
        """The figure as the page shows it."""
        if self.of is not None:
            return f"{round(self.value * self.of):,} of {self.of:,}"
        shown = f"{self.value:,.{self.digits}f}"
        if self.low is None or self.high is None:
            return shown
        return f"{shown} ±{(self.high - self.low) / 2:.{max(2, self.digits - 1)}f}"


@cache
def lists() -> dict[str, Any]:
    """Return the lists of weights.toml."""
    return listed()


@cache
def noted() -> dict[str, dict[str, Any]]:
    """Return the entries of measured.toml."""
    return measured()


@cache
def weights_of(name: str) -> tuple[str, ...]:
    """Return the weights that a file or folder of results was measured with."""
    if not name:
        return ()
    for part in ("earlier", "unnamed"):
        if found := lists()[part].get(name):
            return tuple(found) if isinstance(found, list) else (found,)
    known = {digest for digests in lists()["known"].values() for digest in digests}
    return () if name in lists()["none"] else tuple(sorted(digests_in(name, known)))


@cache
def results(name: str) -> dict[str, Any]:
    """Return a file of results."""
    return read_file(RESULTS / name)


@cache
def floors() -> dict[str, Any]:
    """Return the tables of floors.toml."""
    text = (RESULTS.parent / "floors.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def share(id: str, what: str, column: str, hits: int, of: int, file: str, *by: str) -> Row:
    """Return the row of a share of cases, with its interval."""
    interval = wilson_interval(hits, of) or (0.0, 1.0)
    low, high = (round(end, DECIMALS) for end in interval)
    return Row(id, what, column, round(hits / of, DECIMALS), low, high, of, file=file, verifiers=by)


def number(
    id: str, what: str, column: str, value: float, file: str, *by: str, digits: int = 2
) -> Row:
    """Return the row of a figure without an interval."""
    value = round(value, DECIMALS)
    return Row(id, what, column, value, digits=digits, file=file, verifiers=by)


def sampled(
    id: str, what: str, column: str, one: Figure, file: str, verifier: str, best: str = ""
) -> Iterator[Row]:
    """Yield the row of a metric with its interval; none if it is undefined."""
    value, low, high = (
        None if end is None else round(end, DECIMALS) for end in (one.value, one.low, one.high)
    )
    by = (verifier,) if verifier else ()
    if value is not None:
        yield Row(id, what, column, value, low, high, file=file, verifiers=by, elsewhere=best)
