"""Accuracy and work by length of the source and of the response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import fmean

from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.evidence import Evidence, is_labelled_by_people
from halldetect_bench.stats.resampling import Figure, figure, figures, mean, rows_of

# The lower ends of the bins.
SOURCE_WORDS = (0, 200, 400, 800, 1600)
SENTENCES = (1, 2, 3, 5, 9)
# With fewer rows of a class, AUROC says nothing.
MIN_OF_A_CLASS = 10


@dataclass(frozen=True, slots=True)
class Bin:
    """Responses in a range of sizes: AUROC is the mean over the datasets with enough of them.

    Attributes:
        by: the measured size.
        low, high: the range, without `high` itself; the last bin has None as `high`.
        datasets: the number of datasets of the AUROC.
        pairs, tokens: the verifier's work for a response.
    """

    by: str
    low: int
    high: int | None
    rows: int
    datasets: int
    auroc: Figure
    pairs: float
    tokens: float

    @property
    def range(self) -> str:
        """The range as text."""
        if self.high is None:
            return f"{self.low} or more"
        return str(self.low) if self.high == self.low + 1 else f"{self.low} to {self.high - 1}"


def source_words(item: Prediction) -> int | None:
    """Return the number of words of the source, or None if not recorded."""
    found = item.details.get("source_words")
    return found if isinstance(found, int) else None


def response_sentences(item: Prediction) -> int | None:
    """Return the number of sentences (by default claims) of the response, if recorded."""
    found = item.details.get("response_sentences")
    return found if isinstance(found, int) else None


def growth(evidence: Evidence) -> list[Bin]:
    """Return bins by length of source and response for the reference method."""
    found: list[Bin] = []
    for by, measure, edges in (
        ("words of the source", source_words, SOURCE_WORDS),
        ("sentences of the response", response_sentences, SENTENCES),
    ):
        sizes = _sizes(evidence, measure)
        for low, high in zip(edges, (*edges[1:], None), strict=True):
            bin = _bin(evidence, sizes, by, low, high)
            if bin is not None:
                found.append(bin)
    return found


def _sizes(
    evidence: Evidence, measure: Callable[[Prediction], int | None]
) -> dict[tuple[str, str], int]:
    """Return the size of each row, from any method that recorded it."""
    found: dict[tuple[str, str], int] = {}
    for (dataset, _), cell in evidence.cells.items():
        for item in cell.values():
            size = measure(item)
            if size is not None:
                found.setdefault((dataset, item.id), size)
    return found


def _bin(
    evidence: Evidence, sizes: Mapping[tuple[str, str], int], by: str, low: int, high: int | None
) -> Bin | None:
    inside: dict[str, list[Prediction]] = {}
    for (dataset, method), cell in evidence.cells.items():
        if method == evidence.reference and is_labelled_by_people(dataset):
            inside[dataset] = [
                item
                for item in cell.values()
                if item.score is not None
                and item.gold is not None
                and (size := sizes.get((dataset, item.id))) is not None
                and low <= size < (high or size + 1)
            ]
    every = [item for part in inside.values() for item in part]
    if not every:
        return None
    parts = []
    for dataset, items in inside.items():
        wrong = sum(bool(item.gold) for item in items)
        if min(wrong, len(items) - wrong) >= MIN_OF_A_CLASS:
            rows = rows_of(dataset, items, evidence.samples)
            scores = {item.id: item.score for item in items if item.score is not None}
            parts.append(figures(rows, scores)["AUROC"])
    return Bin(
        by,
        low,
        high,
        len(every),
        len(parts),
        figure(mean(parts)) if parts else Figure(None),
        fmean(item.cost.get("pairs_judged", 0) for item in every),
        fmean(item.cost.get("verifier_tokens", 0) for item in every),
    )
