"""Sentences that follow from the tables: where the first method loses, and who is faster."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect_bench.resample import Difference
from halldetect_bench.spending import Spent
from halldetect_bench.tables import COMPARED, Tables

CHUNKED = "halldetect"
ONE_CALL = "long-context"


def lost(tables: Tables, level: float) -> list[tuple[str, str, str, Difference]]:
    """(dataset, method, figure, difference) wherever another method is better beyond chance."""
    return [
        (one.dataset, one.method, name, found)
        for one in tables.compared
        for name in COMPARED
        if (found := one.differences[name]) is not None
        and found.value > 0
        and found.p_value < level
    ]


@dataclass(frozen=True, slots=True)
class Race:
    """Chunked verification against one long-context call on the same rows, per response."""

    dataset: str
    chunked: str
    one_call: str
    seconds: tuple[float, float]
    joules: tuple[float | None, float | None]

    @property
    def ratio(self) -> float:
        """How many times as long the one call takes."""
        return self.seconds[1] / self.seconds[0]


def race(tables: Tables) -> list[Race]:
    """Every pair of the two, on every dataset that both ran on."""
    by_dataset: dict[str, dict[str, Spent]] = {}
    for one in tables.spent:
        if one.means["seconds"]:
            by_dataset.setdefault(one.dataset, {})[one.method] = one
    return [
        Race(
            dataset,
            ours,
            theirs,
            (chunked.means["seconds"] or 0.0, call.means["seconds"] or 0.0),
            (chunked.means["joules"], call.means["joules"]),
        )
        for dataset, found in by_dataset.items()
        for ours, chunked in found.items()
        if _is(ours, CHUNKED)
        for theirs, call in found.items()
        if _is(theirs, ONE_CALL)
    ]


def _is(label: str, method: str) -> bool:
    return label == method or label.startswith(f"{method} (")
