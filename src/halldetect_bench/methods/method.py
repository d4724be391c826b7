"""The protocol of a method, and its answer for one row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from halldetect.inputs import Pair
from halldetect.report import Cost
from halldetect_bench.datasets.labelled_rows import Row


@dataclass(frozen=True, slots=True)
class Scored:
    """A method's answer for one row.

    A higher score means more hallucinated; without one, `reason` says why. `claims` has the judged
    units of the response, each with its own score, `details` JSON data specific to the method.
    """

    score: float | None
    reason: str | None = None
    claims: tuple[tuple[str, float | None], ...] = ()
    cost: Cost = field(default_factory=Cost)
    details: dict[str, Any] = field(default_factory=dict)


class Method(Protocol):
    """Anything that scores responses against their sources."""

    @property
    def description(self) -> dict[str, Any]:
        """Return name, models and settings; equal descriptions mean equal scores."""
        ...

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Return one answer per row, in order; it must not depend on the other rows."""
        ...


def pair_of(row: Row) -> Pair:
    """Return a row as input of the detector."""
    source = row.source if isinstance(row.source, str) else list(row.source)
    return Pair(source, row.response, row.question)


def documents(row: Row) -> tuple[str, ...]:
    """Return the source of a row, one text or several, as a tuple of documents."""
    return (row.source,) if isinstance(row.source, str) else row.source


def has_words(text: str) -> bool:
    """Return True if a text holds at least one letter or digit."""
    return any(letter.isalnum() for letter in text)
