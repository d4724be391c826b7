"""SummaC-ZS: every sentence of the response against every sentence of the source.

A response sentence is worth its best entailment minus contradiction, the response the mean of
its sentences. Here the mean, from -1 to 1, is turned and brought to 0 (faithful) to 1. With a
two-way verifier there is no contradiction to subtract.
"""

from __future__ import annotations

from collections.abc import Sequence

from halldetect.report import Probabilities
from halldetect.windows.scales import Window
from halldetect_bench.methods.pairwise import PairwiseMethod, single


class SummacZs(PairwiseMethod):
    name = "summac-zs"

    def parts(self, texts: tuple[str, ...]) -> tuple[Window, ...]:
        return single(texts)

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        return max(item.entailment - (item.contradiction or 0.0) for item in probabilities)

    def hallucination(self, supports: Sequence[float]) -> float:
        return (1 - sum(supports) / len(supports)) / 2
