"""Bootstrap intervals of any metric, and the difference between two methods.

Everything is seeded. Rows are drawn with replacement, without stratification; with `documents`,
whole documents are drawn instead, because rows of one document are not independent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from halldetect.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from halldetect_bench.stats.classification_metrics import Labels, Metric, Scores

SAMPLES = 1000


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with its percentile bootstrap interval.

    Samples on which the figure does not exist (one class only) are left out; `samples` counts
    the rest.
    """

    value: float
    low: float
    high: float
    samples: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better the second method is, with an interval and a p value.

    `p_value` is two-sided: twice the smaller share of samples on either side of zero, at most 1,
    counting the data itself as one sample so that it is never zero.
    """

    value: float
    low: float
    high: float
    p_value: float
    samples: int


def interval(
    metric: Metric,
    gold: Labels,
    scores: Scores,
    *,
    seed: int,
    samples: int = SAMPLES,
    confidence: float = 0.95,
    documents: Sequence[str] | None = None,
) -> Interval | None:
    """A metric with its interval, or None where it does not exist on the data.

    metric: a function of gold labels and scores.
    gold: True for each hallucinated row. scores: the rows' scores.
    seed: of the draws. samples: their number. confidence: of the interval.
    documents: the document of each row.
    """
    value = metric(gold, scores)
    if value is None:
        return None
    truth, values = np.asarray(gold, dtype=bool), np.asarray(scores, dtype=float)
    drawn = [
        figure
        for rows in _draws(len(truth), seed, samples, documents)
        if (figure := metric(truth[rows], values[rows])) is not None
    ]
    low, high = _bounds(drawn, confidence)
    return Interval(value, low, high, len(drawn))


def difference(
    metric: Metric,
    gold: Labels,
    first: Scores,
    second: Scores,
    *,
    seed: int,
    samples: int = SAMPLES,
    confidence: float = 0.95,
    documents: Sequence[str] | None = None,
) -> Difference | None:
    """Paired bootstrap: both methods are scored on the same drawn rows.

    first, second: the scores of the two methods; the other arguments as for `interval`.
    """
    here, there = metric(gold, first), metric(gold, second)
    if here is None or there is None:
        return None
    truth = np.asarray(gold, dtype=bool)
    one, two = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    drawn = []
    for rows in _draws(len(truth), seed, samples, documents):
        before = metric(truth[rows], one[rows])
        after = metric(truth[rows], two[rows])
        if before is not None and after is not None:
            drawn.append(after - before)
    low, high = _bounds(drawn, confidence)
    below = 1 + sum(value <= 0 for value in drawn)
    above = 1 + sum(value >= 0 for value in drawn)
    p_value = min(1.0, 2 * min(below, above) / (len(drawn) + 1))
    return Difference(there - here, low, high, p_value, len(drawn))


def _draws(
    rows: int, seed: int, samples: int, documents: Sequence[str] | None
) -> Iterator[NDArray[np.intp]]:
    rng = np.random.default_rng(seed)
    if documents is None:
        for _ in range(samples):
            yield rng.integers(0, rows, size=rows)
        return
    if len(documents) != rows:
        raise InputError(f"{len(documents)} document names do not match {rows} rows")
    members: dict[str, list[int]] = {}
    for place, document in enumerate(documents):
        members.setdefault(document, []).append(place)
    clusters = [np.asarray(places) for places in members.values()]
    for _ in range(samples):
        chosen = rng.integers(0, len(clusters), size=len(clusters))
        yield np.concatenate([clusters[place] for place in chosen])


def _bounds(values: list[float], confidence: float) -> tuple[float, float]:
    if not values:
        raise InputError("no bootstrap sample had both classes; the data are too few or one-sided")
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return float(low), float(high)
