"""Accuracy and work by length of the source and of the response."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from statistics import fmean

from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.resampling import Figure, figure, figures, rows_of

# The lower ends of the bins, by the name of a size in the details of a prediction.
SIZES = {
    "source_words": ("words of the source", (0, 200, 400, 800, 1600)),
    "response_sentences": ("sentences of the response", (1, 2, 3, 5, 9)),
}
# With fewer rows of a class, AUROC says nothing.
MIN_OF_A_CLASS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Responses of one dataset in a range of a size; `pairs` and `tokens` are of a response."""

    by: str
    dataset: str
    range: str
    rows: int
    auroc: Figure
    pairs: float
    tokens: float


def growth(evidence: Evidence) -> list[Bin]:
    """Return bins by length of source and response for the reference method.

    Each is of one dataset, because other lengths mostly mean other datasets.
    """
    found: list[Bin] = []
    for (name, (by, edges)), dataset in product(SIZES.items(), evidence.datasets):
        # The size of each row, from any method that recorded it.
        sizes: dict[str, int] = {}
        for (where, _), cell in evidence.cells.items():
            for item in cell.values() if where == dataset else ():
                if item.details.get(name) is not None:
                    sizes.setdefault(item.id, item.details[name])
        for low, high in zip(edges, (*edges[1:], None), strict=True):
            inside = [
                item
                for item in evidence.cells.get((dataset, evidence.reference), {}).values()
                if item.score is not None
                and item.gold is not None
                and (size := sizes.get(item.id)) is not None
                and low <= size < (high or size + 1)
            ]
            if inside:
                found.append(_bin(by, dataset, _range(low, high), inside, evidence.samples))
    return found


def _range(low: int, high: int | None) -> str:
    if high is None:
        return f"{low} or more"
    return str(low) if high == low + 1 else f"{low} to {high - 1}"


def _bin(by: str, dataset: str, range: str, items: list[Prediction], samples: int) -> Bin:
    wrong = sum(bool(item.gold) for item in items)
    auroc = Figure(None)
    if min(wrong, len(items) - wrong) >= MIN_OF_A_CLASS:
        scores = {item.id: item.score for item in items if item.score is not None}
        auroc = figure(figures(rows_of(dataset, items, samples), scores)["AUROC"])
    pairs, tokens = (
        fmean(item.cost.get(name, 0) for item in items)
        for name in ("pairs_judged", "verifier_tokens")
    )
    return Bin(by, dataset, range, len(items), auroc, pairs, tokens)
