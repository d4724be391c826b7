"""The figures of one method on one dataset: quality, recall by kind, agreement, cost.

Only rows that the method scored enter the quality figures; `rows` and `answered` say how many
there are. Intervals are 95 % bootstrap intervals over documents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halldetect.errors import InputError
from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.bootstrap import interval
from halldetect_bench.stats.classification_metrics import (
    at_threshold,
    auroc,
    average_precision,
    best_f1,
    calibration_error,
    pearson,
    recall_by_kind,
    spearman,
)

if TYPE_CHECKING:
    from halldetect_bench.stats.classification_metrics import Labels, Metric, Scores

THRESHOLD = 0.5
SEED = 0


def _best_f1(gold: Labels, scores: Scores) -> float | None:
    found = best_f1(gold, scores)
    return None if found is None else found.f1


METRICS: dict[str, Metric] = {
    "AUROC": auroc,
    "average precision": average_precision,
    "precision": lambda gold, scores: at_threshold(gold, scores, THRESHOLD).precision,
    "recall": lambda gold, scores: at_threshold(gold, scores, THRESHOLD).recall,
    "F1": lambda gold, scores: at_threshold(gold, scores, THRESHOLD).f1,
    "balanced accuracy": lambda gold, scores: (
        at_threshold(gold, scores, THRESHOLD).balanced_accuracy
    ),
    "best F1": _best_f1,
    "ECE": calibration_error,
}
COSTS = (
    "passes",
    "tokens in",
    "tokens out",
    "pairs",
    "pairs skipped",
    "verifier tokens",
    "seconds",
    "joules",
    "memory MiB",
    "GPU memory MiB",
)
_COUNTED_COSTS = {
    "passes": "generative_passes",
    "tokens in": "extractor_tokens_in",
    "tokens out": "extractor_tokens_out",
    "pairs": "pairs_judged",
    "pairs skipped": "pairs_skipped",
    "verifier tokens": "verifier_tokens",
}


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its interval; None where it does not exist on the data."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Quality:
    """How good one method is on one dataset."""

    dataset: str
    method: str
    rows: int
    answered: int
    hallucinated: int
    figures: dict[str, Figure]


@dataclass(frozen=True, slots=True)
class KindRecall:
    """By kind of hallucination: the share that is flagged, and how many there are."""

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


@dataclass(frozen=True, slots=True)
class MeanCost:
    """Means over all rows, answered or not; memory is the maximum. None: not measured.

    `energy` says what the joules were read from.
    """

    dataset: str
    method: str
    rows: int
    means: dict[str, float | None]
    energy: str | None


def usable(predictions: Sequence[Prediction]) -> list[tuple[Prediction, bool, float]]:
    """The predictions that have both a label and a score, with the two.

    predictions: of one method on one dataset.
    """
    return [
        (item, item.gold, item.score)
        for item in predictions
        if item.gold is not None and item.score is not None
    ]


def quality(dataset: str, method: str, predictions: Sequence[Prediction], samples: int) -> Quality:
    """Every metric with its interval.

    dataset, method: their names. predictions: of that method on that dataset.
    samples: the number of bootstrap samples.
    """
    scored = usable(predictions)
    gold, scores = [wrong for _, wrong, _ in scored], [score for _, _, score in scored]
    documents = [item.document for item, _, _ in scored]
    return Quality(
        dataset=dataset,
        method=method,
        rows=len(predictions),
        answered=sum(item.score is not None for item in predictions),
        hallucinated=sum(item.gold is True for item in predictions),
        figures={
            name: _figure(metric, gold, scores, documents, samples)
            for name, metric in METRICS.items()
        },
    )


def _figure(
    metric: Metric, gold: list[bool], scores: list[float], documents: list[str], samples: int
) -> Figure:
    if not gold:
        return Figure(None)
    try:
        found = interval(metric, gold, scores, seed=SEED, samples=samples, documents=documents)
    except InputError:
        # Too few rows for an interval; or, for calibration, scores that are no probabilities.
        try:
            return Figure(metric(gold, scores))
        except InputError:
            return Figure(None)
    return Figure(None) if found is None else Figure(found.value, found.low, found.high)


def kind_recall(dataset: str, method: str, predictions: Sequence[Prediction]) -> KindRecall | None:
    """Recall by kind of hallucination; None where no hallucination has a kind.

    dataset, method: their names. predictions: of that method on that dataset.
    """
    scored = usable(predictions)
    kinds = recall_by_kind(
        [item.kind for item, _, _ in scored],
        [gold for _, gold, _ in scored],
        [score for _, _, score in scored],
        THRESHOLD,
    )
    return KindRecall(dataset, method, kinds) if kinds else None


def agreement(dataset: str, method: str, predictions: Sequence[Prediction]) -> Agreement | None:
    """Correlation with people's scores; None where no row has one.

    dataset, method: their names. predictions: of that method on that dataset.
    """
    known = [
        (item.gold_score, -item.score)
        for item in predictions
        if item.gold_score is not None and item.score is not None
    ]
    if not known:
        return None
    gold, scores = [people for people, _ in known], [ours for _, ours in known]
    return Agreement(dataset, method, len(known), spearman(gold, scores), pearson(gold, scores))


def mean_cost(dataset: str, method: str, predictions: Sequence[Prediction]) -> MeanCost:
    """The mean cost per response.

    dataset, method: their names. predictions: of that method on that dataset.
    """
    rows = max(1, len(predictions))
    means: dict[str, float | None] = {
        name: sum(item.cost[key] for item in predictions) / rows
        for name, key in _COUNTED_COSTS.items()
    }
    means["seconds"] = sum(sum(item.cost["seconds"].values()) for item in predictions) / rows
    measured = [item.resources for item in predictions if item.resources]
    joules = [resources["joules"] for resources in measured]
    means["joules"] = sum(joules) / len(joules) if joules else None
    for name, key in (("memory MiB", "memory_mib"), ("GPU memory MiB", "gpu_memory_mib")):
        peaks = [resources[key] for resources in measured if resources[key] is not None]
        means[name] = max(peaks, default=None)
    sources = sorted({resources["energy"] for resources in measured})
    return MeanCost(dataset, method, len(predictions), means, "; ".join(sources) or None)
