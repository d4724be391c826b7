"""From results to figures: quality, means over datasets, differences, cost.

Only rows that a method could score enter its figures; `rows` and `answered` show how many there
are. Intervals are 95 % bootstrap intervals over documents. Differences are taken on the rows
that both methods scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from halldetect.errors import ConfigurationError, InputError
from halldetect_bench import grid
from halldetect_bench.claimwise import Claimwise, claimwise
from halldetect_bench.details import Agreement, Recalls, agreement, recalls
from halldetect_bench.labels import labels
from halldetect_bench.metrics import (
    at_threshold,
    auroc,
    average_precision,
    best_f1,
    calibration_error,
)
from halldetect_bench.predictions import Prediction, Results
from halldetect_bench.resample import (
    SAMPLES,
    Difference,
    McNemar,
    difference,
    interval,
    mcnemar,
)
from halldetect_bench.spending import Spent, spent

if TYPE_CHECKING:
    from halldetect_bench.metrics import Labels, Metric, Scores

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
COMPARED = ("AUROC", "balanced accuracy")


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure and its interval; a part that does not exist on the data is None."""

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
class Mean:
    """The mean of each figure over the datasets it exists on, with how many those are.

    Only methods that were run on half of the datasets or more are here, and only datasets that
    all of these have count, so that the means can be compared.
    """

    method: str
    datasets: int
    figures: dict[str, tuple[float, int] | None]


@dataclass(frozen=True, slots=True)
class Compared:
    """A method less the first one, on the rows that both scored."""

    dataset: str
    method: str
    rows: int
    differences: dict[str, Difference | None]
    mcnemar: McNemar | None = None


@dataclass(frozen=True, slots=True)
class Tables:
    first: str
    quality: tuple[Quality, ...]
    means: tuple[Mean, ...]
    compared: tuple[Compared, ...]
    spent: tuple[Spent, ...]
    recalls: tuple[Recalls, ...]
    agreements: tuple[Agreement, ...]
    claimwise: tuple[Claimwise, ...]
    ablations: tuple[grid.Cell, ...]
    samples: int


def tables(
    results: Sequence[Results],
    *,
    order: Sequence[str] = (),
    first: str | None = None,
    samples: int = SAMPLES,
) -> Tables:
    """All figures of some results.

    Methods come in the `order` of their names, others after them; the others are compared with
    the `first`, a label or a method's name, by default the one that comes first.
    """
    if samples < 1:
        raise ConfigurationError(f"--samples must be at least 1, not {samples}")
    every, results = results, [one for one in results if one.header.method["name"] != grid.METHOD]
    named = labels(one.header for one in results)
    place = {name: at for at, name in enumerate(order)}
    ordered = sorted(
        results,
        key=lambda one: (
            place.get(one.header.method["name"], len(place)),
            named[one.header.digest],
        ),
    )
    methods = list(dict.fromkeys(named[one.header.digest] for one in ordered))
    # Results of ablations alone have no method to compare with.
    base = _chosen(first, methods) if methods else ""
    datasets = sorted({one.header.dataset for one in results})
    cells = {(one.header.dataset, named[one.header.digest]): one.predictions for one in ordered}
    pairs = [(data, method) for data in datasets for method in methods if (data, method) in cells]
    wide = [
        method
        for method in methods
        if 2 * sum((data, method) in cells for data in datasets) >= len(datasets)
    ]
    shared = {data for data in datasets if all((data, method) in cells for method in wide)}
    quality = tuple(_quality(*pair, cells[pair], samples) for pair in pairs)
    return Tables(
        first=base,
        quality=quality,
        means=tuple(
            _mean(
                method, [one for one in quality if one.method == method and one.dataset in shared]
            )
            for method in wide
            if shared
        ),
        compared=tuple(
            _compared(*pair, cells[pair[0], base], cells[pair], samples)
            for pair in pairs
            if pair[1] != base and (pair[0], base) in cells
        ),
        spent=tuple(spent(*pair, cells[pair]) for pair in pairs),
        recalls=tuple(
            found for pair in pairs if (found := recalls(*pair, cells[pair], THRESHOLD)) is not None
        ),
        agreements=tuple(
            agreed for pair in pairs if (agreed := agreement(*pair, cells[pair])) is not None
        ),
        claimwise=tuple(
            told for pair in pairs if (told := claimwise(*pair, cells[pair], THRESHOLD)) is not None
        ),
        ablations=grid.cells(
            [one for one in every if one.header.method["name"] == grid.METHOD], THRESHOLD
        ),
        samples=samples,
    )


def _chosen(first: str | None, methods: list[str]) -> str:
    if first is None:
        return methods[0]
    for method in methods:
        if first in (method, method.partition(" (")[0]):
            return method
    raise ConfigurationError(f"no method {first!r} in the results; there are {'; '.join(methods)}")


def _usable(predictions: Sequence[Prediction]) -> list[tuple[Prediction, bool, float]]:
    return [
        (item, item.gold, item.score)
        for item in predictions
        if item.gold is not None and item.score is not None
    ]


def _quality(dataset: str, method: str, predictions: Sequence[Prediction], samples: int) -> Quality:
    usable = _usable(predictions)
    gold, scores = [wrong for _, wrong, _ in usable], [score for _, _, score in usable]
    documents = [item.document for item, _, _ in usable]
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


def _mean(method: str, qualities: Sequence[Quality]) -> Mean:
    figures: dict[str, tuple[float, int] | None] = {}
    for name in METRICS:
        known = [value for one in qualities if (value := one.figures[name].value) is not None]
        figures[name] = (sum(known) / len(known), len(known)) if known else None
    return Mean(method, len(qualities), figures)


def _compared(
    dataset: str,
    method: str,
    first: Sequence[Prediction],
    second: Sequence[Prediction],
    samples: int,
) -> Compared:
    before = {(item.id, item.row): score for item, _, score in _usable(first)}
    both = [found for found in _usable(second) if (found[0].id, found[0].row) in before]
    gold = [wrong for _, wrong, _ in both]
    one, two = [before[item.id, item.row] for item, _, _ in both], [score for _, _, score in both]
    documents = [item.document for item, _, _ in both]
    found: dict[str, Difference | None] = {}
    for name in COMPARED:
        try:
            found[name] = (
                difference(
                    METRICS[name], gold, one, two, seed=SEED, samples=samples, documents=documents
                )
                if both
                else None
            )
        except InputError:
            found[name] = None
    test = mcnemar(gold, one, two, THRESHOLD) if both else None
    return Compared(dataset, method, len(both), found, test)
