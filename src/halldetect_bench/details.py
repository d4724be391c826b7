"""Figures that only some datasets have: recall for each kind of error, agreement with scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect_bench.metrics import by_kind, pearson, spearman
from halldetect_bench.predictions import Prediction


@dataclass(frozen=True, slots=True)
class Recalls:
    """The share of hallucinations of each kind that is flagged, and how many there are."""

    dataset: str
    method: str
    kinds: dict[str, tuple[float, int]]


@dataclass(frozen=True, slots=True)
class Agreement:
    """The correlation of a method with people's scores, both as "higher is more faithful"."""

    dataset: str
    method: str
    rows: int
    spearman: float | None
    pearson: float | None


def recalls(
    dataset: str, method: str, predictions: Sequence[Prediction], threshold: float
) -> Recalls | None:
    """None where no hallucination has a kind."""
    known = [
        (item.kind, item.gold, item.score)
        for item in predictions
        if item.gold is not None and item.score is not None
    ]
    kinds = by_kind(
        [kind for kind, _, _ in known],
        [gold for _, gold, _ in known],
        [score for _, _, score in known],
        threshold,
    )
    return Recalls(dataset, method, kinds) if kinds else None


def agreement(dataset: str, method: str, predictions: Sequence[Prediction]) -> Agreement | None:
    """None where no row has a score given by people."""
    known = [
        (item.gold_score, -item.score)
        for item in predictions
        if item.gold_score is not None and item.score is not None
    ]
    if not known:
        return None
    gold, scores = [one for one, _ in known], [other for _, other in known]
    return Agreement(dataset, method, len(known), spearman(gold, scores), pearson(gold, scores))
