"""Accuracy and work by length of the source and of the response."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean

from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.resampling import Figure, figure, figures, mean, rows_of

# The lower ends of the bins, by the name of a size in the details of a prediction.
SIZES = {
    "source_words": ("words of the source", (0, 200, 400, 800, 1600)),
    "response_sentences": ("sentences of the response", (1, 2, 3, 5, 9)),
}
# With fewer rows of a class, AUROC says nothing.
MIN_OF_A_CLASS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Responses in a range of a size; AUROC is the mean over the datasets with enough of them.

    `pairs` and `tokens` are the verifier's work for a response.
    """

    by: str
    range: str
    rows: int
    datasets: int
    auroc: Figure
    pairs: float
    tokens: float


def growth(evidence: Evidence) -> list[Bin]:
    """Return bins by length of source and response for the reference method."""
    found: list[Bin] = []
    for name, (by, edges) in SIZES.items():
        # The size of each row, from any method that recorded it.
        sizes: dict[tuple[str, str], int] = {}
        for (dataset, _), cell in evidence.cells.items():
            for item in cell.values():
                if item.details.get(name) is not None:
                    sizes.setdefault((dataset, item.id), item.details[name])
        for low, high in zip(edges, (*edges[1:], None), strict=True):
            inside = {
                dataset: [
                    item
                    for item in cell.values()
                    if item.score is not None
                    and item.gold is not None
                    and (size := sizes.get((dataset, item.id))) is not None
                    and low <= size < (high or size + 1)
                ]
                for (dataset, method), cell in evidence.cells.items()
                if method == evidence.reference
            }
            if any(inside.values()):
                found.append(_bin(by, _range(low, high), inside, evidence.samples))
    return found


def _range(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if high == low + 1 else f"{low} to {high - 1}"


def _bin(by: str, range: str, inside: dict[str, list[Prediction]], samples: int) -> Bin:
    parts = []
    for dataset, items in inside.items():
        wrong = sum(bool(item.gold) for item in items)
        if min(wrong, len(items) - wrong) >= MIN_OF_A_CLASS:
            scores = {item.id: item.score for item in items if item.score is not None}
            parts.append(figures(rows_of(dataset, items, samples), scores)["AUROC"])
    every = [item for part in inside.values() for item in part]
    return Bin(
        by,
        range,
        len(every),
        len(parts),
        figure(mean(parts)) if parts else Figure(None),
        fmean(item.cost.get("pairs_judged", 0) for item in every),
        fmean(item.cost.get("verifier_tokens", 0) for item in every),
    )
