"""Ways to judge a claim against a window (Phase III), one file each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from halldetect.report import Probabilities
from halldetect.verifiers.load import load_verifier as load_verifier


class Verifier(Protocol):
    """Anything that says how a premise bears on a hypothesis.

    `judge` must give a pair the same probabilities whatever the other pairs of the call.
    """

    @property
    def description(self) -> dict[str, Any]:
        """Name, digest, settings: what the report records."""
        ...

    @property
    def max_tokens(self) -> int:
        """The longest premise and hypothesis together, special tokens not counted."""
        ...

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text, special tokens not counted."""
        ...

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Probabilities for each (premise, hypothesis), in the order given."""
        ...
