"""What a runtime must offer, and passages that are kept for more than one call."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]
Logits = NDArray[np.float32]
State = TypeVar("State")


@dataclass(frozen=True, slots=True)
class Group:
    """A passage and the claims about it, as tokens."""

    passage: Tokens
    claims: tuple[Tokens, ...]


class Backend(Protocol):
    """A runtime: it reads every passage once and lets its claims continue from there."""

    @property
    def runtime(self) -> str:
        """Name, version and device, for the report."""
        ...

    @property
    def pairs_at_once(self) -> int:
        """The number of pairs it wants per call to be fast."""
        ...

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """Logits (claims x 3) of every group: entailment, neutral, contradiction.

        Raises ModelError if the computation fails.
        """
        ...


class Reader(Protocol[State]):
    """A runtime that keeps the state after a passage, for one passage at a time."""

    @property
    def runtime(self) -> str:
        """Name, version and device, for the report."""
        ...

    def read(self, passage: Tokens) -> State:
        """The state after a passage. It is never changed by `answer`."""
        ...

    def answer(self, state: State, claims: Sequence[Tokens]) -> Logits:
        """Logits (claims x 3) of claims that continue from the state, each for itself."""
        ...


class KeptPassages(Generic[State]):
    """A backend that keeps the states of the passages used last.

    Rounds of a check come back to the same passage, which then is not read again.
    """

    pairs_at_once = 16

    def __init__(self, reader: Reader[State], *, passages: int = 4, tokens: int = 16384) -> None:
        """Make a backend of a reader.

        Args:
            reader: what computes.
            passages: the most states that are kept.
            tokens: the most tokens these may have together; the last one is kept whatever its
                length.
        """
        self._reader = reader
        self._passages = passages
        self._tokens = tokens
        self._states: OrderedDict[Tokens, State] = OrderedDict()

    @property
    def runtime(self) -> str:
        """That of the reader."""
        return self._reader.runtime

    def answer(self, groups: Sequence[Group]) -> list[Logits]:
        """See `Backend.answer`."""
        return [self._reader.answer(self._state(group.passage), group.claims) for group in groups]

    def _state(self, passage: Tokens) -> State:
        if passage in self._states:
            self._states.move_to_end(passage)
            return self._states[passage]
        # Room is made before the new state needs it.
        while self._states and (
            len(self._states) >= self._passages
            or sum(map(len, self._states)) + len(passage) > self._tokens
        ):
            self._states.popitem(last=False)
        state = self._states[passage] = self._reader.read(passage)
        return state
