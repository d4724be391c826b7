"""A verifier that judges each pair only once, for checks of similar texts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from halldetect.protocols import Verifier
from halldetect.report import Probabilities


class RememberingVerifier:
    """Returns the answers of another verifier and computes each of them once."""

    def __init__(self, verifier: Verifier) -> None:
        """Wrap a verifier; pass `tokenize` and all other attributes through."""
        self._verifier: Any = verifier
        self._answers: dict[Hashable, Probabilities] = {}
        self.description = verifier.description
        self.max_tokens = verifier.max_tokens
        self.count_tokens = verifier.count_tokens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._verifier, name)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the answers; pairs that were judged before are not judged again."""
        return self._remember(pairs, list(pairs), self._verifier.judge)

    def judge_tokens(
        self, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]
    ) -> list[Probabilities]:
        """Return the answers to pairs of tokens, as `judge` does."""
        keys = [(tuple(premise), tuple(hypothesis)) for premise, hypothesis in pairs]
        return self._remember(pairs, keys, self._verifier.judge_tokens)

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
