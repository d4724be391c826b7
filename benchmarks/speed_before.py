"""Measure the time of a check against that of another checkout of this project.

    git worktree add BEFORE COMMIT
    python -m benchmarks.speed_before DATASETS BEFORE --rows 30

Summaries of QAGS-CNN/DM are checked with all defaults by a process of each checkout, both loaded
and warm, row by row in turn, so that other load on the machine hardly changes the ratio. Writes
benchmarks/results/speed_before.json: seconds and verifier tokens of both, the digests of both
weights, and the ratio of the summed seconds with a 95 % interval (bootstrap samples of rows), over
all rows and over those that both call faithful: a response that is flagged takes more windows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.machine import processor
from halldetect_bench.registry import load_dataset
from halldetect_bench.runner import sample

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results" / "speed_before.json"
DATASET = "qags-cnndm"
# Runs with every version of the package; a line in, a line out.
WORKER = """
import json, sys
from halldetect import Detector
detector = Detector()
print(json.dumps(detector.verifier.description["digest"]), flush=True)
for line in sys.stdin:
    report = detector.check(*json.loads(line))
    print(json.dumps([report.verdict, report.cost.verifier_tokens]), flush=True)
"""


class Checkout:
    """A process that checks with the package of a checkout."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", WORKER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
        )
        self.weights = self._answer()

    def check(self, source: str, response: str) -> tuple[float, str, int]:
        """Return seconds, verdict and verifier tokens of a check."""
        began = time.perf_counter()
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps([source, response]) + "\n")
        self.process.stdin.flush()
        verdict, tokens = self._answer()
        return time.perf_counter() - began, verdict, tokens

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.communicate()

    def _answer(self) -> Any:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            status = self.process.wait()
            self.close()
            raise SystemExit(f"a checkout's process ended with status {status}")
        return json.loads(line)


def ratio_of_sums(pairs: NDArray[np.float64], seed: int) -> list[float]:
    """The ratio of two rows of numbers, and the ends of its interval."""
    count = pairs.shape[1]
    drawn = np.random.default_rng(seed).integers(0, count, (2000, count))
    sums = pairs[:, drawn].sum(2)
    low, high = np.quantile(sums[0] / sums[1], (0.025, 0.975))
    return [round(float(value), 3) for value in (pairs[0].sum() / pairs[1].sum(), low, high)]


def main() -> None:
    """Time both and write the result."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("datasets", type=Path)
    parser.add_argument("before", type=Path, help="another checkout")
    parser.add_argument("--rows", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    rows = sample(load_dataset(DATASET, options.datasets).rows, options.rows, options.seed)
    both = {"now": Checkout(ROOT), "before": Checkout(options.before)}
    for checkout in both.values():
        checkout.check(str(rows[0].source), rows[0].response)  # the first check is not warm
    load = os.getloadavg()[0]
    done: dict[str, list[tuple[float, str, int]]] = {name: [] for name in both}
    for at, row in enumerate(rows):
        # Each goes first half of the time.
        for name in sorted(both, reverse=at % 2 == 1):
            done[name].append(both[name].check(str(row.source), row.response))
    for checkout in both.values():
        checkout.close()
    spent = np.array([[seconds for seconds, _, _ in done[name]] for name in both])
    faithful = np.array([[verdict == "faithful" for _, verdict, _ in done[name]] for name in both])
    result = {
        "dataset": DATASET,
        "rows": len(rows),
        "seed": options.seed,
        "processor": processor(),
        "load_average": round(load, 1),
        "weights": {name: checkout.weights for name, checkout in both.items()},
        "called_faithful": dict(zip(both, faithful.sum(1).tolist(), strict=True)),
        "tokens_mean": {
            name: round(fmean(tokens for _, _, tokens in found)) for name, found in done.items()
        },
        "seconds_mean": dict(zip(both, spent.mean(1).round(3).tolist(), strict=True)),
        "seconds_median": dict(zip(both, np.median(spent, 1).round(3).tolist(), strict=True)),
        "ratio": ratio_of_sums(spent, options.seed),
        "faithful_by_both": int(faithful.all(0).sum()),
        "ratio_where_faithful_by_both": ratio_of_sums(spent[:, faithful.all(0)], options.seed),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
