"""What a method is, and what it says of a row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from halldetect.report import Cost
from halldetect_bench.datasets.rows import Row


@dataclass(frozen=True, slots=True)
class Scored:
    """A method's answer for one row.

    `score` is higher the more hallucinated the response looks; None where the method could not
    answer, and `reason` then says why. `claims` pairs each unit the method judged with its own
    score in the same direction. `details` is what only this method has to tell, fit for JSON.
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
        """Name, models, settings: two runs with equal descriptions give equal scores."""
        ...

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """One answer for each row, in order, the same whatever the other rows are."""
        ...


def documents(row: Row) -> tuple[str, ...]:
    return (row.source,) if isinstance(row.source, str) else row.source


def has_words(text: str) -> bool:
    return any(letter.isalnum() for letter in text)
