"""What a caller can watch while a check runs: claims as they are extracted, verdicts as they
are reached. The report says the same in the end, so nothing is lost by not watching."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from halldetect.claims.extraction import Claim
from halldetect.report import ClaimReport


@dataclass(frozen=True, slots=True)
class Extracted:
    """The claims of one pair; `pair` is its place among the pairs of the call."""

    pair: int
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class Settled:
    """A claim that needs no more windows for now.

    The worst claim of a response may be taken up again: it then comes again, its state the
    same and its support no lower.
    """

    pair: int
    place: int
    claim: ClaimReport


Event = Extracted | Settled
Observe = Callable[[Event], None]
