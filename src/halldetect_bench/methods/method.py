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

    score: the higher, the more hallucinated the response looks; None where the method gave no
        answer.
    reason: why there is no score.
    claims: each unit of the response that the method judged, with its own score in the same
        direction.
    cost: passes, tokens, pairs and seconds.
    details: data of this method only; it must be JSON.
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
        """Name, models and settings; two methods with equal descriptions give equal scores."""
        ...

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Score rows; a row's answer must not depend on the other rows.

        rows: the rows to score.
        Returns one answer per row, in order.
        """
        ...


def pair_of(row: Row) -> Pair:
    """Return a row as the detector takes it."""
    source = row.source if isinstance(row.source, str) else list(row.source)
    return Pair(source, row.response, row.question)


def documents(row: Row) -> tuple[str, ...]:
    """Return the source of a row as a tuple of documents.

    row: a row whose source is one text or several.
    """
    return (row.source,) if isinstance(row.source, str) else row.source


def has_words(text: str) -> bool:
    """Return True if a text holds at least one letter or digit.

    text: any text.
    """
    return any(letter.isalnum() for letter in text)
