"""Fit the rule of `--verifier auto` on development sets, and measure it on the test sets.

    python -m benchmarks.cascade STORED [--share 0.3]    # writes results/cascade.json

STORED is the folder of `training.large.measure prepare` with the answers of both verifiers
(`training.base.judge`, `training.large.measure run`): NAME_logits.npz. The rule predicts from the
answers of the first whether the second corrects the verdict: a logistic score of the worst support,
compared with a cut. The part of the gain is (auto - first) / (second - first), of means over the
sets. The last line printed has the constants of `halldetect.verification.cascade`: the supports
between which the score reaches the cut. Those in use were fitted on answers of earlier weights; a
new fit gains nothing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store import command, store
from halldetect.models.integrity import WEIGHTS as WEIGHTS_FOLDER
from halldetect_bench.stats.classification_metrics import auroc
from training.large.measure import LONG_DEV, SHORT_DEV, SIX, Answers, Floats, balanced

TEST = ("test-qa", "test-summary", "data2txt", "data2txt-lines", "clearfacts")
GROUPS = {"development": SHORT_DEV + LONG_DEV, "test": SIX + TEST}
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
RIDGE = 0.01
# The score and cut behind the constants in use.
WEIGHTS, ASKS_FROM = (-0.622, 0.146, -0.71), -1.316
_LEAST = 1e-3  # the least distance of a support from 0 and 1


@dataclass(frozen=True, slots=True)
class Judged:
    """The responses of a set: labels, and the scores of both verifiers."""

    wrong: np.ndarray
    first: Floats
    second: Floats


def stored(work: Path, first: str, second: str) -> tuple[dict[str, Judged], list[str]]:
    """Return the responses by set, and the digests of both verifiers."""
    answers = [Answers(work, first), Answers(work, second)]
    rows = answers[0].rows
    if rows != answers[1].rows:
        raise SystemExit(f"{first} and {second} have not judged the same rows of {work}")
    files = [WEIGHTS_FOLDER / name / "config.json" for name in ("base", "large")]
    base, large = (json.loads(file.read_text())["calibration"] for file in files)
    supports, scores = answers[0].supports(base), answers[1].scores(large)
    by_set: dict[str, list[tuple[bool, float]]] = {}
    at = 0
    for row in rows:
        own = supports[at : at + len(row["claims"])]
        at += len(own)
        by_set.setdefault(row["set"], []).append((bool(row["wrong"]), 1 - float(own.min())))
    found = {}
    for name, items in by_set.items():
        wrong, first_scores = zip(*items, strict=True)
        if len({*wrong}) == 2:
            found[name] = Judged(np.array(wrong), np.array(first_scores), scores[name][1])
    return found, [item.digest for item in answers]


def features(scores: Floats) -> Floats:
    """Return a row for each score: 1, the log-odds that the response is wrong, and their size."""
    kept = np.clip(scores, _LEAST, 1 - _LEAST)
    odds = np.log(kept / (1 - kept))
    return np.stack([np.ones_like(odds), odds, np.abs(odds)], 1)


def bounds(weights: Sequence[float], cut: float) -> tuple[float, float]:
    """Return the least and greatest support, in six decimals, whose score reaches the cut."""
    supports = np.arange(1, 1_000_000) / 1_000_000
    asked = supports[features(1 - supports) @ np.array(weights) >= cut]
    return float(asked.min()), float(asked.max())


def fit(sets: Sequence[Judged]) -> tuple[float, ...]:
    """Return the weights of a logistic score: does the second verifier correct the first?"""
    rows = features(np.concatenate([item.first for item in sets]))
    misses = [(item.first >= 0.5) != item.wrong for item in sets]
    hits = [(item.second >= 0.5) == item.wrong for item in sets]
    corrected = np.concatenate(misses) & np.concatenate(hits)
    # Every set counts the same.
    counts = np.concatenate([np.full(len(item.wrong), 1 / len(item.wrong)) for item in sets])
    counts *= len(counts) / counts.sum()
    weights = np.zeros(rows.shape[1])
    for _ in range(30):
        likely = 1 / (1 + np.exp(-rows @ weights))
        curvature = (rows * (counts * likely * (1 - likely))[:, None]).T @ rows
        slope = rows.T @ (counts * (corrected - likely)) - RIDGE * weights
        weights += np.linalg.solve(curvature + RIDGE * np.eye(len(weights)), slope)
    return tuple(weights.round(3).tolist())


def asking_scores(item: Judged, weights: Sequence[float]) -> Floats:
    """Return the score of every response of a set."""
    return np.asarray(features(item.first) @ np.array(weights))


def cut_for(sets: Sequence[Judged], weights: Sequence[float], share: float) -> float:
    """Return the score that the given share of the responses reach, every set counting the same."""
    scores = [asking_scores(item, weights) for item in sets]
    cuts = np.unique(np.concatenate(scores))
    asked = np.mean([[float((of_set >= cut).mean()) for cut in cuts] for of_set in scores], 0)
    return round(float(cuts[np.abs(asked - share).argmin()]), 3)


def outcome(sets: dict[str, Judged], weights: Sequence[float], cut: float) -> dict[str, Any]:
    """Return share asked and accuracy of a rule, by set and as means, and its part of the gain."""
    found: dict[str, dict[str, float]] = {}
    for name, item in sets.items():
        asked = asking_scores(item, weights) >= cut
        auto = np.where(asked, item.second, item.first)
        found[name] = {"asked": float(asked.mean())}
        for key, scores in (("first", item.first), ("auto", auto), ("second", item.second)):
            found[name][f"balanced, {key}"] = balanced(item.wrong, scores)
            found[name][f"auroc, {key}"] = auroc(item.wrong.tolist(), scores.tolist()) or 0.5
    mean = {key: float(np.mean([one[key] for one in found.values()])) for key in found[name]}
    for figure in ("balanced", "auroc"):
        first, auto_mean, second = (mean[f"{figure}, {key}"] for key in ("first", "auto", "second"))
        mean[f"{figure}, part of the gain"] = (auto_mean - first) / (second - first)
    parts = {"mean": mean, **found}
    return {
        name: {key: round(value, 4) for key, value in part.items()} for name, part in parts.items()
    }


def main() -> None:
    """Run the command."""
    parser = command(__doc__, "cascade.json")
    parser.add_argument("stored", type=Path)
    for name, default in (("--first", "base"), ("--second", "large")):
        parser.add_argument(name, default=default, help="the name of its answers in STORED")
    parser.add_argument("--share", type=float, default=0.3)
    options = parser.parse_args()
    found, digests = stored(options.stored, options.first, options.second)
    groups = {
        group: {name: item for name, item in found.items() if name in names}
        for group, names in GROUPS.items()
    }
    development = list(groups["development"].values())
    weights = fit(development)
    cuts = {share: cut_for(development, weights, share) for share in {*SHARES, options.share}}
    rules: dict[str, tuple[Sequence[float], float]] = {"shipped": (WEIGHTS, ASKS_FROM)}
    rules |= {f"fitted, {share}": (weights, cuts[share]) for share in sorted(cuts)}
    result: dict[str, Any] = {"digests": digests, "weights": weights, "cuts": cuts, "rules": {}}
    for name, (used, cut) in rules.items():
        result["rules"][name] = {group: outcome(sets, used, cut) for group, sets in groups.items()}
        for group, measured in result["rules"][name].items():
            print(f"{name:14} {group:12}", json.dumps(measured["mean"]))
    store(options.out, result)
    print("UNSURE_FROM, UNSURE_TO = {}, {}".format(*bounds(weights, cuts[options.share])))


if __name__ == "__main__":
    main()
