"""A verifier that is asked about the same pair once, for work that checks similar texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from halldetect.protocols import Verifier
from halldetect.report import Probabilities


class RememberingVerifier:
    """Gives the answers of another verifier, each of them computed once.

    verifier  gives the answers; everything else of it, such as `tokenize`, is passed through
    """

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._answers: dict[Hashable, Probabilities] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._verifier, name)

    @property
    def description(self) -> dict[str, Any]:
        """The description of the verifier inside."""
        return self._verifier.description

    @property
    def max_tokens(self) -> int:
        """The limit of the verifier inside."""
        return self._verifier.max_tokens

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The counts of the verifier inside."""
        return self._verifier.count_tokens(texts)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """The answers; pairs that were judged before are not judged again."""
        return self._remember(pairs, list(pairs), self._verifier.judge)

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        """As `judge`, for a verifier that takes tokens."""
        keys = [(tuple(premise), tuple(hypothesis)) for premise, hypothesis in pairs]
        judge: Callable[[Sequence[Any]], list[Probabilities]] = self.__getattr__("judge_tokens")
        return self._remember(pairs, keys, judge)

    def _remember(
        self,
        pairs: Sequence[Any],
        keys: Sequence[Hashable],
        judge: Callable[[Sequence[Any]], list[Probabilities]],
    ) -> list[Probabilities]:
        new = [at for at, key in enumerate(keys) if key not in self._answers]
        if new:
            for at, answer in zip(new, judge([pairs[at] for at in new]), strict=True):
                self._answers[keys[at]] = answer
        return [self._answers[key] for key in keys]
