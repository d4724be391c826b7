"""Rows of a dataset with bootstrap samples of their documents, and figures on all samples at once.

All compared methods use the same samples, so differences and means over datasets are those of the
arrays. Whole documents are drawn, because rows of one document are not independent. The first entry
of every array is the figure on the original data.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halldetect_bench.predictions import Prediction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Values = NDArray[np.float64]

SAMPLES = 500
SEED = 0
THRESHOLD = 0.5
# The metrics of a comparison, and all.
COMPARED = ("AUROC", "balanced accuracy")
METRICS = (*COMPARED, "precision", "recall", "F1")


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % interval; None if it is undefined on the data."""

    value: float | None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of one dataset; `gold` is True for each hallucinated row.

    `weights` has the count of each row in each sample; the first line counts every row once.
    """

    ids: tuple[str, ...]
    gold: NDArray[np.bool_]
    weights: NDArray[np.float32]

    @property
    def hallucinated(self) -> int:
        """The number of hallucinated rows."""
        return int(self.gold.sum())


def rows_of(dataset: str, predictions: Sequence[Prediction], samples: int = SAMPLES) -> Rows:
    """Return the rows of predictions that have a label, with samples of their documents."""
    labelled = sorted(
        (item for item in predictions if item.gold is not None), key=lambda one: one.id
    )
    return Rows(
        tuple(item.id for item in labelled),
        np.array([bool(item.gold) for item in labelled]),
        draw_documents(dataset, [item.document for item in labelled], samples),
    )


def draw_documents(
    dataset: str, documents: Sequence[str], samples: int = SAMPLES
) -> NDArray[np.float32]:
    """Return the count of each row in each sample of whole documents."""
    names = sorted(set(documents))
    place = {name: at for at, name in enumerate(names)}
    rng = np.random.default_rng([SEED, zlib.crc32(dataset.encode())])
    drawn = np.ones((samples + 1, len(names)), dtype=np.float32)
    for line in drawn[1:]:
        chosen = rng.integers(0, len(names), size=len(names))
        line[:] = np.bincount(chosen, minlength=len(names))
    found: NDArray[np.float32] = drawn[:, [place[name] for name in documents]]
    return found


def figures(rows: Rows, scores: Mapping[str, float]) -> dict[str, Values]:
    """Return every metric on every sample, from the scores by id; nan if undefined."""
    values = np.array([scores[name] for name in rows.ids])
    return {"AUROC": _auroc(rows, values), **_at_threshold(rows, values)}


def _auroc(rows: Rows, values: Values) -> Values:
    """Return the share of correctly ordered pairs of responses; ties count half."""
    wrong, right = np.flatnonzero(rows.gold), np.flatnonzero(~rows.gold)
    right = right[np.argsort(values[right], kind="stable")]
    # For each sample, the faithful rows among the first n. Integers stay exact.
    first = np.zeros((len(rows.weights), len(right) + 1), dtype=np.float32)
    np.cumsum(rows.weights[:, right], axis=1, out=first[:, 1:])
    below = np.searchsorted(values[right], values[wrong], "left")
    not_above = np.searchsorted(values[right], values[wrong], "right")
    ranked = first[:, below]
    if (below != not_above).any():
        ranked = np.multiply(ranked + first[:, not_above], 0.5, dtype=np.float32)
    weights = rows.weights[:, wrong]
    ordered = np.einsum("ij,ij->i", weights, ranked, dtype=np.float64)
    return _share(ordered, weights.sum(axis=1, dtype=np.float64) * first[:, -1])


def _at_threshold(rows: Rows, values: Values) -> dict[str, Values]:
    flagged = values >= THRESHOLD
    groups = np.stack([flagged & rows.gold, flagged & ~rows.gold, ~flagged & rows.gold,
                       ~flagged & ~rows.gold], axis=1)  # fmt: skip
    tp, fp, fn, tn = (rows.weights @ groups.astype(np.float32)).astype(np.float64).T
    recall, specificity = _share(tp, tp + fn), _share(tn, tn + fp)
    return {
        "balanced accuracy": (recall + specificity) / 2,
        "precision": _share(tp, tp + fp),
        "recall": recall,
        "F1": _share(2 * tp, 2 * tp + fp + fn),
    }


def rank_correlation(
    human: Sequence[float], scores: Sequence[float], weights: NDArray[np.float32]
) -> Values:
    """Return Spearman's correlation of two lists on every sample; equal values share a rank."""
    pairs = np.stack([np.asarray(human), np.asarray(scores)])
    drawn = (np.repeat(pairs, line.astype(int), axis=1) for line in weights)
    ranks = [np.stack([_ranks(one) for one in sample]) for sample in drawn]
    products = np.array([one @ one.T for one in ranks])
    return _share(products[:, 0, 1], np.sqrt(products[:, 0, 0] * products[:, 1, 1]))


def _ranks(values: Values) -> Values:
    """Return the ranks of values, less their mean."""
    _, place, count = np.unique(values, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(count) - (count - 1) / 2)[place]
    found: Values = ranks - ranks.mean()
    return found


def _share(part: Values, whole: Values) -> Values:
    return np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 0)


def figure(values: Values) -> Figure:
    """Return the value of a metric on the data, with its percentile interval over the samples."""
    if np.isnan(values[0]):
        return Figure(None)
    known = values[1:][~np.isnan(values[1:])]
    if not len(known):
        return Figure(float(values[0]))
    low, high = np.quantile(known, [0.025, 0.975])
    return Figure(float(values[0]), float(low), float(high))


def mean(parts: Sequence[Values]) -> Values:
    """Return the unweighted mean over datasets, one array per dataset."""
    total: Values = np.mean(np.stack(parts), axis=0)
    return total
