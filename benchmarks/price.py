"""Compare the time of a check with `large` and with `base`, explanations included.

    python -m benchmarks.price DATASETS [--rows 30]    # writes results/price.json

Each verifier checks every row, then a second answer to the same source: the first one with every
sentence worded as a report. They take turns, so other load hardly changes the ratios.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.speed import started
from benchmarks.store import command, processor, store
from halldetect import Detector
from halldetect.reading.sentences import sentences
from halldetect_bench.methods.method import documents
from halldetect_bench.registry import load_dataset

# Of three rows, two are of the first set.
SHARES = {"qags-cnndm": 2 / 3, "wice": 1 / 3}
BARS = {"large over base": 10, "second answer, large over base": 4}
VERIFIERS = ("base", "large")


def texts(datasets: Path, count: int) -> list[tuple[str, str, str]]:
    """Return name of the dataset, source and response of the rows, evenly spaced in each set."""
    counts = {name: max(1, round(count * share)) for name, share in SHARES.items()}
    return [
        (name, "\n\n".join(documents(row)), row.response)
        for name, count in counts.items()
        for rows in [load_dataset(name, datasets).rows]
        for row in rows[:: len(rows) // count][:count]
    ]


def second_answer(response: str) -> str:
    """Return the response with every sentence worded as a report."""
    said = [span.cut(response) for span in sentences(response)]
    return " ".join(f"The text reports that {text[:1].lower()}{text[1:]}" for text in said)


def timed(detector: Detector, source: str, response: str) -> dict[str, float]:
    """Return the seconds and processor seconds of a check."""
    wall, spent = time.perf_counter(), time.process_time()
    report = detector.check(source, response)
    return {
        "seconds": round(time.perf_counter() - wall, 3),
        "processor_seconds": round(time.process_time() - spent, 3),
        "claims": len(report.claims),
        "tokens": report.cost.verifier_tokens,
    }


def ratios(rows: list[dict[str, Any]], of: str, over: str) -> dict[str, float]:
    """Return the median ratio of two measurements of each row, by both clocks."""
    return {
        clock: round(median(row[of][clock] / row[over][clock] for row in rows), 2)
        for clock in ("seconds", "processor_seconds")
    }


def measure(datasets: Path, count: int) -> dict[str, Any]:
    """Take all measurements."""
    detectors = {name: Detector(verifier=name) for name in VERIFIERS}
    for detector in detectors.values():
        detector.check("It rained in Kyoto.", "It was wet in Kyoto.")
    rows: list[dict[str, Any]] = []
    for name, source, response in texts(datasets, count):
        again = second_answer(response)
        row: dict[str, Any] = {"dataset": name, "words": len(source.split())}
        for verifier, detector in detectors.items():
            row[verifier] = timed(detector, source, response)
            row[f"{verifier}, second answer"] = timed(detector, source, again)
        print(len(rows), json.dumps(row), flush=True)
        rows.append(row)
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "load_after": round(os.getloadavg()[0], 2),
        "verifiers": {name: detectors[name].verifier.description for name in VERIFIERS},
        "large over base": ratios(rows, "large", "base"),
        "second answer, large over base": ratios(
            rows, "large, second answer", "base, second answer"
        ),
        "start": {name: started(name) for name in VERIFIERS},
        "rows": rows,
    }


def main() -> None:
    """Run the command."""
    parser = command(__doc__, "price.json")
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--rows", type=int, default=30)
    options = parser.parse_args()
    result = measure(options.datasets, options.rows)
    for name, bar in BARS.items():
        print(name, result[name], f"bar {bar}")
    print("large: load", result["start"]["large"], "bars 4 s and 2,200 MB")
    store(options.out, result)


if __name__ == "__main__":
    main()
