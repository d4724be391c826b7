"""Ways to judge a claim against a window (Phase III), one file each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from halldetect.report import Probabilities
from halldetect.verification.verifiers.load import load_verifier as load_verifier


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


@runtime_checkable
class TokenVerifier(Verifier, Protocol):
    """A verifier that also takes texts as tokens, so that none need be read twice."""

    @property
    def adds_up(self) -> bool:
        """Whether the tokens of a text are those of its parts between plain spaces. If not,
        nothing else of this protocol is used."""
        ...

    def tokenize(self, texts: Sequence[str]) -> list[tuple[int, ...]]:
        """The tokens of each text, special tokens left out."""
        ...

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        """What `judge` says of the texts with these tokens."""
        ...
