"""A verifier that judges each pair only once, for checks of similar texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halldetect.protocols import Verifier
from halldetect.report import Probabilities


class RememberingVerifier:
    """Returns the answers of another verifier and computes each of them once."""

    def __init__(self, verifier: Verifier) -> None:
        """Wrap a verifier; pass all other attributes through."""
        self._verifier = verifier
        self._answers: dict[tuple[str, str], Probabilities] = {}
        self.description = verifier.description
        self.max_tokens = verifier.max_tokens
        self.count_tokens = verifier.count_tokens

    def __getattr__(self, name: str) -> Any:
        return getattr(self._verifier, name)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Return the answers; pairs that were judged before are not judged again."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._answers]
        if new:
            self._answers.update(zip(new, self._verifier.judge(new), strict=True))
        return [self._answers[pair] for pair in pairs]
