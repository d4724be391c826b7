"""The ablation grid: any scales and scoring, read off what each scale says of each claim."""

from __future__ import annotations

from collections.abc import Sequence

from halldetect.scoring import fed
from halldetect.windows.scales import GRANULARITIES

# For each scale m: the greatest P(E), the greatest P(C), the greatest calibrated support.
Seen = dict[str, list[float]]

ALL_SCALES = GRANULARITIES
SETS: dict[str, tuple[int, ...]] = {
    "1": (1,),
    "16": (16,),
    "1, 16": (1, 16),
    "1, 4, 16": (1, 4, 16),
    "all": ALL_SCALES,
}
SCORINGS = ("fed", "calibrated", "support only")


def scored(claims: Sequence[Seen], scoring: str, scales: Sequence[int]) -> float:
    """The hallucination score of a response whose claims were seen so.

    fed           the paper's: best entailment less best contradiction, geometric mean
    calibrated    1 - the least calibrated support
    support only  1 - the least of the greatest P(E): contradiction plays no part
    """
    best = [_best([seen[str(m)] for m in scales if str(m) in seen]) for seen in claims]
    if scoring == "fed":
        return fed([entailment - contradiction for entailment, contradiction, _ in best])
    place = {"support only": 0, "calibrated": 2}[scoring]
    return 1 - min(values[place] for values in best)


def _best(scales: Sequence[Sequence[float]]) -> list[float]:
    return [max(values) for values in zip(*scales, strict=True)]
