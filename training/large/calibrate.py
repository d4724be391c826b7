"""Fit how much P(C) takes away from the support of a claim that the large verifier judged.

    python -m training.large.calibrate benchmarks/results/large final
    python -m training.operating_points --verifier large --logits benchmarks/results/large:final
    python -m halldetect.models.refresh_digests        # the weights' folder has changed

Reads stored answers of `training.large.evaluate run` (sentences as claims, the whole source read at
once). The weight with the least log loss on the development sets is taken, faithful and
hallucinated responses of every set counting the same; what the weights would give on the six sets
of the results is written beside it, and nothing is chosen by that. The weight goes into
`calibration` of the weights' config.json, the table into calibration.json beside the answers.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from halldetect.scoring import Calibration
from halldetect_bench.stats.classification_metrics import at_threshold, auroc
from halldetect_bench.stats.operating_points import Scores
from halldetect_bench.stats.resampling import intervals
from training.operating_points import DEVELOPMENT, SIX, WEIGHTS, from_logits, labelled_scores

WEIGHTS_TRIED = tuple(round(0.05 * step, 2) for step in range(21))
LEAST = 1e-4  # a score is taken to lie this far from 0 and 1


def log_loss(truth: np.ndarray, scores: np.ndarray) -> float:
    """The log loss of scores, both labels counting the same."""
    scores = scores.clip(LEAST, 1 - LEAST)
    return float(-(np.log(scores[truth]).mean() + np.log(1 - scores[~truth]).mean()) / 2)


def figures(sets: dict[str, Scores]) -> dict[str, float]:
    """Means over sets of responses."""
    cuts = [at_threshold(truth.tolist(), scores.tolist()) for truth, scores in sets.values()]
    areas = [auroc(truth.tolist(), scores.tolist()) for truth, scores in sets.values()]
    found = {
        "log_loss": np.mean([log_loss(*pair) for pair in sets.values()]),
        "auroc": np.mean([area or 0.0 for area in areas]),
        "balanced_accuracy": np.mean([cut.balanced_accuracy or 0.0 for cut in cuts]),
    }
    return {name: round(float(value), 5) for name, value in found.items()}


def of_set(truth: np.ndarray, scores: np.ndarray) -> dict[str, float]:
    """The figures of one set, with a 95 % interval of AUROC."""
    labels, values = truth.tolist(), scores.tolist()
    spread, cut = intervals(labels, values)["AUROC"], at_threshold(labels, values)
    found = {
        "rows": len(labels),
        "auroc": spread.value,
        "auroc_low": spread.low,
        "auroc_high": spread.high,
        "balanced_accuracy": cut.balanced_accuracy or 0.0,
        "f1": cut.f1 or 0.0,
    }
    return {name: round(value or 0.0, 4) for name, value in found.items()}


def main() -> None:
    """Fit, and write the weight and the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="with the answers; the table goes there")
    parser.add_argument("name", help="of the answers")
    parser.add_argument("--config", type=Path, default=WEIGHTS / "large" / "config.json")
    options = parser.parse_args()
    table = {}
    digests: object = None
    for weight in WEIGHTS_TRIED:
        calibration = Calibration(contradiction_weight=weight)
        entry = {}
        for title, names in (("development", DEVELOPMENT), ("six", SIX)):
            digests, rows = from_logits(options.folder, options.name, calibration, names)
            entry[title] = figures(labelled_scores(rows))
        table[weight] = entry
        print(weight, entry, flush=True)
    best = min(table, key=lambda weight: table[weight]["development"]["log_loss"])
    shipped = Calibration(contradiction_weight=best)
    _, rows = from_logits(options.folder, options.name, shipped, SIX + DEVELOPMENT)
    result = {
        "digests": digests,
        "contradiction_weight": best,
        "tried": table,
        "by_set": {name: of_set(*pair) for name, pair in labelled_scores(rows).items()},
    }
    text = json.dumps(result, indent=1) + "\n"
    (options.folder / "calibration.json").write_text(text, encoding="utf-8")
    config = json.loads(options.config.read_text()) if options.config.is_file() else {}
    config["calibration"] = {"contradiction_weight": best}
    options.config.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    print(f"contradiction_weight {best}; {options.config} is changed: fit the operating points")


if __name__ == "__main__":
    main()
