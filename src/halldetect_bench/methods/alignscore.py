"""AlignScore's way: chunks of 350 tokens, the best support of each sentence, their mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halldetect.report import Probabilities
from halldetect.windows.scales import Window
from halldetect_bench.methods.pairwise import PairwiseMethod, packed

CHUNK_TOKENS = 350


class AlignScore(PairwiseMethod):
    name = "alignscore"

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "chunk_tokens": CHUNK_TOKENS}

    def parts(self, texts: tuple[str, ...]) -> tuple[Window, ...]:
        return packed(self.verifier, texts, CHUNK_TOKENS)

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        return max(item.entailment for item in probabilities)

    def hallucination(self, supports: Sequence[float]) -> float:
        return 1 - sum(supports) / len(supports)
