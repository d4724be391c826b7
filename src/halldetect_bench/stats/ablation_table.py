"""The table of ablations: every extractor, set of scales, scoring and verifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect_bench.methods.ablation import (
    ABLATION_SCORINGS,
    SCALE_SETS,
    Ablation,
    score_from_maxima,
)
from halldetect_bench.predictions import Results
from halldetect_bench.stats.classification_metrics import at_threshold, auroc

ABLATION = Ablation.name


@dataclass(frozen=True, slots=True)
class AblationCell:
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


# The dataset of a cell that is a mean begins with this word.
MEAN = "mean"


def ablation_cells(results: Sequence[Results], threshold: float) -> tuple[AblationCell, ...]:
    """Every cell of every dataset, then the means.

    results: of the method `ablation`. threshold: scores at or above it are flagged.
    """
    found = [cell for one in results for cell in _cells(one, threshold)]
    by_configuration: dict[tuple[str, str, str, str], dict[str, AblationCell]] = {}
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


def _cells(results: Results, threshold: float) -> list[AblationCell]:
    method = results.header.method
    usable = [
        (item.gold, item.details)
        for item in results.predictions
        if item.gold is not None and item.score is not None
    ]
    if not usable:
        return []
    gold = [wrong for wrong, _ in usable]
    cells = []
    for name, scales in SCALE_SETS.items():
        for scoring in ABLATION_SCORINGS:
            scores = [
                score_from_maxima(details["scales"], scoring, scales) for _, details in usable
            ]
            cut = at_threshold(gold, scores, threshold)
            cells.append(
                AblationCell(
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
    return cells


def _mean(key: tuple[str, str, str, str], group: Sequence[AblationCell]) -> AblationCell:
    def mean(values: Sequence[float | None]) -> float | None:
        known = [value for value in values if value is not None]
        return sum(known) / len(known) if known else None

    return AblationCell(
        f"{MEAN} of {len(group)}",
        *key,
        sum(cell.rows for cell in group),
        sum(cell.pairs for cell in group) / len(group),
        mean([cell.auroc for cell in group]),
        mean([cell.f1 for cell in group]),
        mean([cell.balanced_accuracy for cell in group]),
    )
