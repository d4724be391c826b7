"""Accuracy of the cascade against its cost, from predictions that are stored.

    halldetect bench run halldetect --dataset qags-cnndm,storysumm,wice --data DATASETS -o RESULTS
    python -m benchmarks.cascade RESULTS [--method halldetect-DIGEST]

The first verifier's support of every claim comes from the predictions of `halldetect bench run`
(sets with labelled sentences keep them per claim), the second's from the stored answers of `large`
(benchmarks/results/large). A response with a claim whose support lies between the limits is judged
by the second verifier alone; the cost is the share of responses that it has to read. Writes
benchmarks/results/cascade.json.
"""

from __future__ import annotations

import argparse
import json
import lzma
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from halldetect.verification.cascade import UNSURE_BELOW, UNSURE_FROM
from halldetect_bench.predictions import Results, read_all
from halldetect_bench.stats.classification_metrics import at_threshold, auroc

RESULTS = Path(__file__).parent / "results"
LARGE = RESULTS / "large"
LIMITS = (
    (0.5, 0.5), (0.4, 0.6), (0.3, 0.7), (0.2, 0.8), (UNSURE_FROM, UNSURE_BELOW), (0.05, 0.95),
    (0.0, 1.1),
)  # fmt: skip
Supports = NDArray[np.float64]


def second_supports(folder: Path = LARGE) -> tuple[dict[tuple[str, str], Supports], list[str]]:
    """Support of the claims of every stored row by `large`, and the digests of its adapter."""
    with lzma.open(folder / "eval_rows.json.xz", "rt", encoding="utf-8") as file:
        rows = json.load(file)
    with np.load(folder / "parts_logits.npz") as stored:
        logits = stored["logits"][0].astype(np.float64)
        first, digests = stored["first"], [str(digest) for digest in stored["digests"]]
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    answers = powers / powers.sum(-1, keepdims=True)
    calibration = Calibration()
    found = {}
    for row in rows:
        if "wrong" in row:
            places = first[row["group"]] + np.array(row["claims"])
            found[row["set"], row["id"]] = np.array(
                [
                    calibration.window_support(Probabilities(*map(float, answer)))
                    for answer in answers[places]
                ]
            )
    return found, digests


def curve(
    rows: list[tuple[bool, Supports, Supports]], limits: tuple[tuple[float, float], ...] = LIMITS
) -> list[dict[str, Any]]:
    """What each pair of limits comes to.

    rows    label, supports by the first and by the second verifier
    limits  a response with a claim in this range is judged again
    """
    found = []
    gold = [row[0] for row in rows]
    for low, high in limits:
        again = [bool(((first >= low) & (first < high)).any()) for _, first, _ in rows]
        scores = [
            float(1.0 - (second if asked else first).min())
            for asked, (_, first, second) in zip(again, rows, strict=True)
        ]
        cut = at_threshold(gold, scores)
        found.append(
            {
                "unsure_from": low,
                "unsure_below": high,
                "judged_again": round(float(np.mean(again)), 4),
                "auroc": round(auroc(gold, scores) or 0.0, 4),
                "balanced_accuracy": round(cut.balanced_accuracy or 0.0, 4),
                "f1": round(cut.f1 or 0.0, 4),
            }
        )
    return found


def joined(
    results: Results, second: dict[tuple[str, str], Supports]
) -> list[tuple[bool, Supports, Supports]]:
    """The rows that both verifiers have judged claim by claim."""
    rows = []
    for prediction in results.predictions:
        by_second = second.get((results.header.dataset, prediction.id))
        supports = [1.0 - score for _, score in prediction.claims if score is not None]
        if by_second is None or prediction.gold is None or len(supports) != len(by_second):
            continue
        rows.append((prediction.gold, np.array(supports), by_second))
    return rows


def main() -> None:
    """Compute the curves, print them and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("predictions", type=Path, help="a folder of results of `bench run`")
    parser.add_argument("--method", default="halldetect-", help="how the names of the files begin")
    parser.add_argument("--out", type=Path, default=RESULTS / "cascade.json")
    options = parser.parse_args()
    second, digests = second_supports()
    result: dict[str, Any] = {"second_digests": digests, "sets": {}}
    for results in read_all(options.predictions):
        name = f"{results.header.method['name']}-{results.header.digest}"
        rows = joined(results, second)
        if not name.startswith(options.method) or len(rows) < 50:
            continue
        result["sets"][results.header.dataset] = {
            "method": name,
            "first": results.header.method["verifier"],
            "rows": len(rows),
            "curve": curve(rows),
        }
        for point in result["sets"][results.header.dataset]["curve"]:
            print(results.header.dataset, json.dumps(point))
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
