"""The table of ablations: every extractor, set of scales, scoring and verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect_bench.ablation import SCORINGS, SETS, scored
from halldetect_bench.metrics import at_threshold, auroc
from halldetect_bench.predictions import Results

METHOD = "ablation"


@dataclass(frozen=True, slots=True)
class Cell:
    """One configuration on one dataset, or its mean over the datasets that all cells have."""

    dataset: str
    extractor: str
    verifier: str
    scales: str
    scoring: str
    rows: int
    pairs: float
    auroc: float | None
    f1: float | None
    balanced_accuracy: float | None


MEAN = "mean"


def cells(results: Sequence[Results], threshold: float) -> tuple[Cell, ...]:
    """Every cell of every dataset, after them the means."""
    found = [cell for one in results for cell in _of(one, threshold)]
    by_configuration: dict[tuple[str, str, str, str], dict[str, Cell]] = {}
    for cell in found:
        key = (cell.extractor, cell.verifier, cell.scales, cell.scoring)
        by_configuration.setdefault(key, {})[cell.dataset] = cell
    shared = set.intersection(*(set(group) for group in by_configuration.values())) if found else {}
    means = [
        _mean(key, [group[name] for name in sorted(shared)])
        for key, group in by_configuration.items()
        if shared
    ]
    return (*found, *means)


def _of(results: Results, threshold: float) -> list[Cell]:
    method = results.header.method
    usable = [
        (item.gold, item.details)
        for item in results.predictions
        if item.gold is not None and item.score is not None
    ]
    if not usable:
        return []
    gold = [wrong for wrong, _ in usable]
    made = []
    for name, scales in SETS.items():
        for scoring in SCORINGS:
            scores = [scored(details["scales"], scoring, scales) for _, details in usable]
            cut = at_threshold(gold, scores, threshold)
            made.append(
                Cell(
                    results.header.dataset,
                    method["extractor"]["name"],
                    method["verifier"]["name"],
                    name,
                    scoring,
                    len(gold),
                    sum(details["pairs"][name] for _, details in usable) / len(usable),
                    auroc(gold, scores),
                    cut.f1,
                    cut.balanced_accuracy,
                )
            )
    return made


def _mean(key: tuple[str, str, str, str], group: Sequence[Cell]) -> Cell:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    return Cell(
        f"{MEAN} of {len(group)}",
        *key,
        sum(cell.rows for cell in group),
        sum(cell.pairs for cell in group) / len(group),
        mean([cell.auroc for cell in group]),
        mean([cell.f1 for cell in group]),
        mean([cell.balanced_accuracy for cell in group]),
    )
