"""SummaC-Conv: every sentence of the response against every sentence of the source.

Where SummaC-ZS takes the best source sentence alone, a learned layer reads how the entailment
of all of them is spread: a histogram of P(E) with a weight for each bin. A sentence is worth
the weighted sum; the response their mean, put between 0 and 1. The weights come from
`python -m training.summac_conv`, fitted on permitted data with the verifier named beside them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.protocols import Verifier
from halldetect.report import Probabilities
from halldetect.windows.scales import Window
from halldetect_bench.methods.pairwise import PairwiseMethod, single

BINS = 50
WEIGHTS = "summac_conv.json"


class SummacConv(PairwiseMethod):
    name = "summac-conv"

    def __init__(self, verifier: Verifier, weights: dict[str, Any] | None = None) -> None:
        super().__init__(verifier)
        self._given = weights

    @cached_property
    def layer(self) -> dict[str, Any]:
        return self._given or shipped()

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "layer": self.layer}

    def parts(self, texts: tuple[str, ...]) -> tuple[Window, ...]:
        return single(texts)

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        spread = histogram([item.entailment for item in probabilities])
        return float(spread @ np.asarray(self.layer["weights"])) + float(self.layer["offset"])

    def hallucination(self, supports: Sequence[float]) -> float:
        return 1 / (1 + math.exp(min(700.0, sum(supports) / len(supports))))


def histogram(values: Sequence[float]) -> NDArray[np.float64]:
    """How many of the values are in each of the bins between 0 and 1."""
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=BINS, range=(0, 1))
    return counts.astype(np.float64)


def shipped() -> dict[str, Any]:
    """The fitted layer in the package."""
    text = (files("halldetect_bench") / "methods" / WEIGHTS).read_text(encoding="utf-8")
    return dict(json.loads(text))
