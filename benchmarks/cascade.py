"""Accuracy of the cascade against its cost, from predictions that are stored.

    python -m benchmarks.cascade [RESULTS]

RESULTS holds predictions of the detector with both verifiers (default: benchmarks/results/bench);
of datasets with labelled sentences they are kept per claim. A response with a claim whose support
by the first verifier lies between the limits has the score of the second verifier; the cost is the
share of responses that it has to read. Seconds are those of rows that `bench run --batch 1` has
timed with `--verifier base`, `auto` and `large` (benchmarks/results/auto/latency-cpu). Writes
benchmarks/results/cascade.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from halldetect.verification.cascade import UNSURE_BELOW, UNSURE_FROM
from halldetect_bench.predictions import Results, read_all
from halldetect_bench.stats.classification_metrics import at_threshold, auroc

RESULTS = Path(__file__).parent / "results"
FIRST, SECOND = "base", "large"
LIMITS = (
    (0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.2, 0.8), (UNSURE_FROM, UNSURE_BELOW), (0.05, 0.95),
    (0.0, 1.1),
)  # fmt: skip
# A dataset with fewer rows is left out.
MIN_ROWS = 50


@dataclass(frozen=True, slots=True)
class Judged:
    """A response that both verifiers have judged.

    hallucinated   its label
    supports       of its claims, by the first verifier
    first, second  its scores
    """

    hallucinated: bool
    supports: tuple[float, ...]
    first: float
    second: float


def curve(
    rows: list[Judged], limits: tuple[tuple[float, float], ...] = LIMITS
) -> list[dict[str, Any]]:
    """What each pair of limits comes to.

    rows    of one dataset
    limits  a response with a claim in this range is judged again
    """
    found = []
    gold = [row.hallucinated for row in rows]
    for low, high in limits:
        again = [any(low <= support < high for support in row.supports) for row in rows]
        scores = [
            row.second if asked else row.first for asked, row in zip(again, rows, strict=True)
        ]
        cut = at_threshold(gold, scores)
        found.append(
            {
                "unsure_from": low,
                "unsure_below": high,
                "judged_again": round(fmean(again), 4),
                "auroc": round(auroc(gold, scores) or 0.0, 4),
                "balanced_accuracy": round(cut.balanced_accuracy or 0.0, 4),
                "f1": round(cut.f1 or 0.0, 4),
            }
        )
    return found


def joined(first: Results, second: Results) -> list[Judged]:
    """The rows of a dataset that both verifiers have scored, the first one claim by claim."""
    scores = {item.id: item.score for item in second.predictions}
    rows = []
    for item in first.predictions:
        by_second = scores.get(item.id)
        supports = tuple(1.0 - score for _, score in item.claims if score is not None)
        if item.gold is None or item.score is None or by_second is None or not supports:
            continue
        rows.append(Judged(item.gold, supports, item.score, by_second))
    return rows


def by_verifier(found: Iterable[Results]) -> dict[tuple[str, str], Results]:
    """The predictions of the detector with its defaults, by dataset and verifier."""
    return {
        (one.header.dataset, one.header.method["verifier"]["name"]): one
        for one in found
        if one.header.method["name"] == "halldetect"
        and one.header.method["extractor"]["name"] == "clauses"
    }


def timed(found: Iterable[Results]) -> dict[str, dict[str, Any]]:
    """Rows and their mean seconds by dataset and by the verifier that was asked for."""
    seconds: dict[str, dict[str, Any]] = {}
    for one in found:
        spent = [sum(item.cost["seconds"].values()) for item in one.predictions]
        name = one.header.method["configuration"]["verifier"]
        seconds.setdefault(one.header.dataset, {"rows": len(spent)})[name] = round(fmean(spent), 2)
    return seconds


def main() -> None:
    """Compute the curves, print them and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("predictions", type=Path, nargs="?", default=RESULTS / "bench")
    parser.add_argument("--timed", type=Path, default=RESULTS / "auto" / "latency-cpu")
    parser.add_argument("--out", type=Path, default=RESULTS / "cascade.json")
    options = parser.parse_args()
    found = by_verifier(read_all(options.predictions))
    seconds = timed(read_all(options.timed))
    result: dict[str, Any] = {}
    for dataset in sorted({dataset for dataset, _ in found}):
        first, second = (found.get((dataset, name)) for name in (FIRST, SECOND))
        if first is None or second is None or len(rows := joined(first, second)) < MIN_ROWS:
            continue
        result[dataset] = {
            "digests": [one.header.method["verifier"]["digest"] for one in (first, second)],
            "rows": len(rows),
            "curve": curve(rows),
            "seconds": seconds.get(dataset),
        }
        for point in result[dataset]["curve"]:
            print(dataset, json.dumps(point))
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
