"""Phase IV: the factual-entailment divergence (FED) of a response."""

from __future__ import annotations

import math
from collections.abc import Sequence


def fed(scores: Sequence[float]) -> float:
    """Return 1 - geometric mean of the claim scores; 1 if any score is not positive."""
    if not scores:
        raise ValueError("FED of no claims is undefined")
    if any(score <= 0.0 for score in scores):
        return 1.0
    return max(0.0, 1.0 - math.exp(math.fsum(map(math.log, scores)) / len(scores)))
