"""Fit the temperature and report the results on every dataset.

    python -m training.base.calibrate WORK --logits WORK/base_rounded_logits.npz \\
        --weights WORK/base --out benchmarks/results/base

Writes OUT/report.json and OUT/predictions.npz: for every response its label and both scores.

`--contradiction-weight` says how much P(C) takes away from the support; give `export` the same. The
report also has the figures of other weights. Shipped is the weight that was fitted for `large`
(`training.large.calibrate`), because `base` learns the probabilities of `large`.

One temperature is fitted on MNLI's development pairs (it changes no accuracy); `export` can fold
it into the weights. No slope or offset is fitted: what the development sets ask for does not carry
over to others, because sets differ in where their best cut lies (report.json, `best_cut`).
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from halldetect.report import Probabilities
from halldetect.scoring import Calibration, fed, fed_claim
from halldetect_bench.stats.classification_metrics import at_threshold, auroc
from halldetect_bench.stats.resampling import intervals
from training.base.batches import CODES, read_pairs
from training.base.evaluate import accuracy, load_rows
from training.large.calibrate import WEIGHTS_TRIED, figures
from training.large.evaluate import DEVELOPMENT, NLI, SIX

Response = tuple[bool, list[np.ndarray]]  # whether it is hallucinated; its claims


def softmax(logits: np.ndarray) -> np.ndarray:
    """The probabilities of logits, row by row."""
    values = logits.astype(np.float64)
    values = np.exp(values - values.max(1, keepdims=True))
    shares: np.ndarray = values / values.sum(1, keepdims=True)
    return shares


def judged(work: Path, logits: Any, degree: float) -> dict[str, list[Response]]:
    """For every set, its responses: the label and, for each claim, windows x probabilities."""
    rows, _, windows = load_rows(work)
    found: dict[str, list[Response]] = {}
    for name in SIX + DEVELOPMENT:
        if f"set_{name}" not in logits:
            continue
        part = [row for row in rows if row["dataset"] == name]
        values = softmax(logits[f"set_{name}"] / degree)
        start = 0
        for row in part:
            width = len(windows[row["document"]])
            claims = []
            for _ in row["claims"]:
                claims.append(values[start : start + width])
                start += width
            if claims:
                found.setdefault(name, []).append((bool(row["hallucinated"]), claims))
    return found


def temperature(logits: np.ndarray, gold: np.ndarray) -> float:
    """The one number that makes the probabilities of labelled pairs most likely."""
    values = logits.astype(np.float64)
    rows = np.arange(len(gold))

    def loss(degree: float) -> float:
        scaled = values / degree
        scaled -= scaled.max(1, keepdims=True)
        return float(-(scaled[rows, gold] - np.log(np.exp(scaled).sum(1))).mean())

    return float(minimize_scalar(loss, bounds=(0.5, 8.0), method="bounded").x)


def scored(claims: list[np.ndarray], calibration: Calibration) -> float:
    """The default score of a response.

    Args:
        claims: for each claim, windows x probabilities.
        calibration: of the score.
    """
    return calibration.response(
        [
            calibration.support([Probabilities(*map(float, row)) for row in claim])
            for claim in claims
        ]
    )


def by_paper(claims: list[np.ndarray]) -> float:
    """The FED score of a response."""
    return fed([fed_claim(claim[:, 0].tolist(), claim[:, 2].tolist()) for claim in claims])


def weights_tried(sets: dict[str, list[Response]]) -> dict[str, Any]:
    """What other weights of the contradiction would give."""
    table = {}
    for weight in WEIGHTS_TRIED:
        calibration = Calibration(contradiction_weight=weight)
        pairs = {
            name: (
                np.array([label for label, _ in rows], bool),
                np.array([scored(claims, calibration) for _, claims in rows]),
            )
            for name, rows in sets.items()
        }
        table[str(weight)] = {
            title: figures({name: pairs[name] for name in names if name in pairs})
            for title, names in (("development", DEVELOPMENT), ("six", SIX))
        }
    return table


def best_cut(truth: list[bool], scores: list[float]) -> float:
    """The threshold with the greatest balanced accuracy."""
    cuts = np.linspace(0.05, 0.95, 91)
    return float(max(cuts, key=lambda cut: at_threshold(truth, scores, cut).balanced_accuracy or 0))


def report_set(rows: list[Response], calibration: Calibration) -> tuple[dict[str, Any], np.ndarray]:
    """The figures of one dataset, and label, score and FED score of each response."""
    truth = [label for label, _ in rows]
    scores = [scored(claims, calibration) for _, claims in rows]
    feds = [by_paper(claims) for _, claims in rows]
    faithful = [claim for label, claims in rows if not label for claim in claims]
    alarms = sum(bool((claim[:, 2] > 0.5).any()) for claim in faithful)
    spread = intervals(truth, scores)["AUROC"]
    cut, paper = at_threshold(truth, scores), at_threshold(truth, feds)
    figures = {
        "rows": len(rows),
        "hallucinated": sum(truth),
        "auroc": spread.value,
        "auroc_low": spread.low,
        "auroc_high": spread.high,
        "balanced_accuracy": cut.balanced_accuracy,
        "f1": cut.f1,
        "best_cut": best_cut(truth, scores),
        "fed_auroc": auroc(truth, feds),
        "fed_precision": paper.precision,
        "fed_recall": paper.recall,
        "fed_f1": paper.f1,
        "faithful_claims_contradicted": alarms / max(len(faithful), 1),
    }
    rounded = {name: round(float(value or 0), 4) for name, value in figures.items()}
    return rounded, np.array(list(zip(truth, scores, feds, strict=True)), float)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--logits", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="folder of the student")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--temperature", type=float, default=1.0, help="of the exported weights")
    parser.add_argument("--contradiction-weight", type=float, default=1.0, help="of the scores: 1")
    options = parser.parse_args()
    calibration = Calibration(contradiction_weight=options.contradiction_weight)
    logits = np.load(options.logits)
    golds = {
        name: np.array([CODES[str(row["label"])] for row in read_pairs(path)])
        for name in NLI
        if name in logits and (path := options.work / "nli" / f"{name}.eval.jsonl.xz").exists()
    }
    weights = (options.weights / "model.safetensors").read_bytes()
    result: dict[str, Any] = {
        "weights": hashlib.sha256(weights).hexdigest(),
        "temperature": options.temperature,
        "temperature_fitted": round(temperature(logits["mnli_dev"], golds["mnli_dev"]), 3),
        "contradiction_weight": options.contradiction_weight,
        "sets": {},
        "nli": {},
    }
    predictions = {}
    sets = judged(options.work, logits, options.temperature)
    for name, rows in sets.items():
        result["sets"][name], predictions[name] = report_set(rows, calibration)
        print(name, result["sets"][name], flush=True)
    for title, names in (("six", SIX), ("development", DEVELOPMENT)):
        for key in ("auroc", "balanced_accuracy", "fed_auroc"):
            found = [result["sets"][name][key] for name in names if name in result["sets"]]
            result[f"mean_{key}_of_{title}"] = round(float(np.mean(found)), 4)
            print(f"mean {key} of {title}: {result[f'mean_{key}_of_{title}']}", flush=True)
    for name, gold in golds.items():
        share = round(accuracy(logits[name], gold), 4)
        result["nli"][name] = {"rows": len(gold), "accuracy": share}
        print(name, result["nli"][name], flush=True)
    result["contradiction_weights"] = weights_tried(sets)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "report.json").write_text(json.dumps(result, indent=1) + "\n")
    np.savez_compressed(options.out / "predictions.npz", **predictions)  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
