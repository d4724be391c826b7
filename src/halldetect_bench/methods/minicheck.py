"""MiniCheck's way: chunks of 500 tokens, the best support of each sentence, the worst sentence.

The chunk size is in the verifier's own tokens; a verifier that reads less gets smaller chunks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from halldetect.report import Probabilities
from halldetect.windows.scales import Window
from halldetect_bench.methods.pairwise import PairwiseMethod, packed

CHUNK_TOKENS = 500


class MiniCheck(PairwiseMethod):
    name = "minicheck"

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "chunk_tokens": CHUNK_TOKENS}

    def parts(self, texts: tuple[str, ...]) -> tuple[Window, ...]:
        return packed(self.verifier, texts, CHUNK_TOKENS)

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        return max(item.entailment for item in probabilities)

    def hallucination(self, supports: Sequence[float]) -> float:
        return 1 - min(supports)
