"""All tables of a folder of results: quality, means, differences, cost, details.

Differences are taken on the rows that both methods scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.errors import ConfigurationError, InputError
from halldetect_bench.predictions import Prediction, Results
from halldetect_bench.stats.ablation_table import ABLATION, AblationCell, ablation_cells
from halldetect_bench.stats.bootstrap import SAMPLES, Difference, McNemar, difference, mcnemar
from halldetect_bench.stats.method_labels import method_labels
from halldetect_bench.stats.per_dataset import (
    METRICS,
    SEED,
    THRESHOLD,
    Agreement,
    KindRecall,
    MeanCost,
    Quality,
    agreement,
    kind_recall,
    mean_cost,
    quality,
    usable,
)
from halldetect_bench.stats.sentence_level import SentenceQuality, sentence_quality

COMPARED = ("AUROC", "balanced accuracy")
CHUNKED = "halldetect"
ONE_CALL = "long-context"


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of each figure over the datasets it exists on, with the number of datasets.

    Only methods that ran on at least half of the datasets are here, and only datasets that all
    of these methods have count, so that the means can be compared.
    """

    method: str
    datasets: int
    figures: dict[str, tuple[float, int] | None]


@dataclass(frozen=True, slots=True)
class Comparison:
    """A method minus the reference method, on the rows that both scored."""

    dataset: str
    method: str
    rows: int
    differences: dict[str, Difference | None]
    mcnemar: McNemar | None = None


@dataclass(frozen=True, slots=True)
class SpeedComparison:
    """Chunked verification and one long-context call on the same rows, per response."""

    dataset: str
    chunked: str
    one_call: str
    seconds: tuple[float, float]
    joules: tuple[float | None, float | None]

    @property
    def ratio(self) -> float:
        """How many times as long the one call takes."""
        return self.seconds[1] / self.seconds[0]


@dataclass(frozen=True, slots=True)
class Tables:
    """Every table; `reference` is the label of the method the others are compared with."""

    reference: str
    quality: tuple[Quality, ...]
    means: tuple[Mean, ...]
    comparisons: tuple[Comparison, ...]
    costs: tuple[MeanCost, ...]
    recalls: tuple[KindRecall, ...]
    agreements: tuple[Agreement, ...]
    sentences: tuple[SentenceQuality, ...]
    ablations: tuple[AblationCell, ...]
    samples: int


def make_tables(
    results: Sequence[Results],
    *,
    order: Sequence[str] = (),
    reference: str | None = None,
    samples: int = SAMPLES,
) -> Tables:
    """All tables of some results.

    results: what `read_all` gives.
    order: names of methods in the order in which they are listed; others come last.
    reference: the label or name of the method that the others are compared with; default: the
        one that is listed first.
    samples: the number of bootstrap samples.
    """
    if samples < 1:
        raise ConfigurationError(f"--samples must be at least 1, not {samples}")
    ablations = [one for one in results if one.header.method["name"] == ABLATION]
    results = [one for one in results if one.header.method["name"] != ABLATION]
    labels = method_labels(one.header for one in results)
    rank = {name: at for at, name in enumerate(order)}
    ordered = sorted(
        results,
        key=lambda one: (
            rank.get(one.header.method["name"], len(rank)),
            labels[one.header.digest],
        ),
    )
    methods = list(dict.fromkeys(labels[one.header.digest] for one in ordered))
    # Results of ablations alone have no method to compare with.
    base = _chosen(reference, methods) if methods else ""
    datasets = sorted({one.header.dataset for one in results})
    cells = {(one.header.dataset, labels[one.header.digest]): one.predictions for one in ordered}
    pairs = [(data, method) for data in datasets for method in methods if (data, method) in cells]
    common = [
        method
        for method in methods
        if 2 * sum((data, method) in cells for data in datasets) >= len(datasets)
    ]
    shared = {data for data in datasets if all((data, method) in cells for method in common)}
    qualities = tuple(quality(*pair, cells[pair], samples) for pair in pairs)
    return Tables(
        reference=base,
        quality=qualities,
        means=tuple(
            _mean(
                method, [one for one in qualities if one.method == method and one.dataset in shared]
            )
            for method in common
            if shared
        ),
        comparisons=tuple(
            _comparison(*pair, cells[pair[0], base], cells[pair], samples)
            for pair in pairs
            if pair[1] != base and (pair[0], base) in cells
        ),
        costs=tuple(mean_cost(*pair, cells[pair]) for pair in pairs),
        recalls=tuple(
            recall for pair in pairs if (recall := kind_recall(*pair, cells[pair])) is not None
        ),
        agreements=tuple(
            agreed for pair in pairs if (agreed := agreement(*pair, cells[pair])) is not None
        ),
        sentences=tuple(
            sentence
            for pair in pairs
            if (sentence := sentence_quality(*pair, cells[pair], THRESHOLD)) is not None
        ),
        ablations=ablation_cells(ablations, THRESHOLD),
        samples=samples,
    )


def significant_losses(tables: Tables, level: float) -> list[tuple[str, str, str, Difference]]:
    """Where another method is better than the reference.

    tables: all tables. level: the p value that a difference must stay below.
    Returns (dataset, method, figure, difference).
    """
    return [
        (one.dataset, one.method, name, found)
        for one in tables.comparisons
        for name in COMPARED
        if (found := one.differences[name]) is not None
        and found.value > 0
        and found.p_value < level
    ]


def speed_comparisons(tables: Tables) -> list[SpeedComparison]:
    """Chunked verification against one long-context call, on every dataset that has both.

    tables: all tables.
    """
    by_dataset: dict[str, dict[str, MeanCost]] = {}
    for cost in tables.costs:
        if cost.means["seconds"]:
            by_dataset.setdefault(cost.dataset, {})[cost.method] = cost
    return [
        SpeedComparison(
            dataset,
            ours,
            theirs,
            (chunked.means["seconds"] or 0.0, call.means["seconds"] or 0.0),
            (chunked.means["joules"], call.means["joules"]),
        )
        for dataset, costs in by_dataset.items()
        for ours, chunked in costs.items()
        if _is_method(ours, CHUNKED)
        for theirs, call in costs.items()
        if _is_method(theirs, ONE_CALL)
    ]


def _is_method(label: str, method: str) -> bool:
    return label == method or label.startswith(f"{method} (")


def _chosen(reference: str | None, methods: list[str]) -> str:
    if reference is None:
        return methods[0]
    for method in methods:
        if reference in (method, method.partition(" (")[0]):
            return method
    raise ConfigurationError(
        f"no method {reference!r} in the results; there are {'; '.join(methods)}"
    )


def _mean(method: str, qualities: Sequence[Quality]) -> Mean:
    figures: dict[str, tuple[float, int] | None] = {}
    for name in METRICS:
        known = [value for one in qualities if (value := one.figures[name].value) is not None]
        figures[name] = (sum(known) / len(known), len(known)) if known else None
    return Mean(method, len(qualities), figures)


def _comparison(
    dataset: str,
    method: str,
    reference: Sequence[Prediction],
    other: Sequence[Prediction],
    samples: int,
) -> Comparison:
    before = {(item.id, item.row): score for item, _, score in usable(reference)}
    both = [scored for scored in usable(other) if (scored[0].id, scored[0].row) in before]
    gold = [wrong for _, wrong, _ in both]
    first = [before[item.id, item.row] for item, _, _ in both]
    second = [score for _, _, score in both]
    documents = [item.document for item, _, _ in both]
    differences: dict[str, Difference | None] = {}
    for name in COMPARED:
        try:
            differences[name] = (
                difference(
                    METRICS[name],
                    gold,
                    first,
                    second,
                    seed=SEED,
                    samples=samples,
                    documents=documents,
                )
                if both
                else None
            )
        except InputError:
            differences[name] = None
    test = mcnemar(gold, first, second, THRESHOLD) if both else None
    return Comparison(dataset, method, len(both), differences, test)
