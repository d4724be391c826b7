"""Fit the rule of `--verifier auto` on development sets, and measure it on the other sets.

    python -m benchmarks.cascade [RESULTS ...] [--share 0.3]    # writes results/cascade.json

RESULTS are folders with predictions of the detector with `base` and with `large`, by default those
of the repository. The rule predicts from the support of the worst claim whether `large` corrects
the verdict: a logistic score, compared with a cut. The part of the gain is (auto - first) / (second
- first), of means over the sets. The last line printed has the constants of
`halldetect.verification.cascade`: the supports between which the score reaches the cut. Those in
use were fitted on answers of earlier weights; a new fit is no better on the development sets.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.store import RESULTS, command, store
from halldetect.verification.cascade import UNSURE_FROM, UNSURE_TO
from halldetect_bench.results_folder import read_all
from halldetect_bench.stats.classification_metrics import auroc
from halldetect_bench.stats.selection import read_settings, weights_of
from training.large.measure import Floats, balanced

FOLDERS = (RESULTS / "bench", RESULTS / "rag")
VERIFIERS = ("base", "large")
SHARES = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
RIDGE = 0.01
_LEAST = 1e-3  # the least distance of a support from 0 and 1
_FEWEST = 90  # responses of a set


@dataclass(frozen=True, slots=True)
class Judged:
    """The responses of a set: labels, and the scores of both verifiers."""

    wrong: NDArray[np.bool_]
    first: Floats
    second: Floats


def stored(folders: Sequence[Path]) -> tuple[dict[str, Judged], set[str], dict[str, Any]]:
    """Return the responses by set, the names of the development sets, and the digests."""
    scores: dict[str, dict[str, dict[str, float]]] = {}
    labels: dict[str, dict[str, bool]] = {}
    digests: dict[str, Any] = {}
    for one in chain.from_iterable(map(read_all, folders)):
        header, dataset = one.header, one.header.dataset
        for name, found in weights_of(header).items():
            if header.method["name"] == "halldetect" and name in VERIFIERS:
                if digests.setdefault(name, sorted(found)) != sorted(found):
                    raise SystemExit(f"{header.path} is of other weights of {name}")
                known = {item.id: item.score for item in one.predictions if item.score is not None}
                scores.setdefault(dataset, {})[name] = known
                labels[dataset] = {item.id: bool(item.gold) for item in one.predictions}
    sets = {}
    for dataset, of in scores.items():
        rows = [id for id in labels[dataset] if all(id in of.get(name, ()) for name in VERIFIERS)]
        wrong = np.array([labels[dataset][id] for id in rows], bool)
        if len(rows) >= _FEWEST and len({*wrong.tolist()}) == 2:
            sides = (np.array([of[name][id] for id in rows]) for name in VERIFIERS)
            sets[dataset] = Judged(wrong, *sides)
    chosen_by = {name for folder in folders for name in read_settings(folder).development}
    return sets, chosen_by, digests


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


def cut_for(sets: Sequence[Judged], weights: Sequence[float], share: float) -> float:
    """Return the score that the given share of the responses reach, every set counting the same."""
    scores = [np.asarray(features(item.first) @ np.array(weights)) for item in sets]
    cuts = np.unique(np.concatenate(scores))
    asked = np.mean([[float((of_set >= cut).mean()) for cut in cuts] for of_set in scores], 0)
    return round(float(cuts[np.abs(asked - share).argmin()]), 3)


def outcome(sets: dict[str, Judged], least: float, greatest: float) -> dict[str, Any]:
    """Return share asked and accuracy of a rule, by set and as means, and its part of the gain."""
    found: dict[str, dict[str, float]] = {}
    for name, item in sets.items():
        asked = (1 - item.first >= least) & (1 - item.first <= greatest)
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
    parser.add_argument("folders", type=Path, nargs="*", default=FOLDERS, metavar="RESULTS")
    parser.add_argument("--share", type=float, default=0.3)
    options = parser.parse_args()
    found, chosen_by, digests = stored(options.folders)
    groups = {
        "development": {name: item for name, item in found.items() if name in chosen_by},
        "other": {name: item for name, item in found.items() if name not in chosen_by},
    }
    development = list(groups["development"].values())
    weights = fit(development)
    cuts = {share: cut_for(development, weights, share) for share in {*SHARES, options.share}}
    rules = {"shipped": (UNSURE_FROM, UNSURE_TO)}
    rules |= {f"fitted, {share}": bounds(weights, cuts[share]) for share in sorted(cuts)}
    result: dict[str, Any] = {"digests": digests, "weights": weights, "cuts": cuts, "rules": {}}
    for name, limits in rules.items():
        measured = {group: outcome(sets, *limits) for group, sets in groups.items()}
        result["rules"][name] = {"supports": limits, **measured}
        for group, one in measured.items():
            print(f"{name:14} {group:12}", json.dumps(one["mean"]))
    store(options.out, result)
    print("UNSURE_FROM, UNSURE_TO = {}, {}".format(*rules[f"fitted, {options.share}"]))


if __name__ == "__main__":
    main()
