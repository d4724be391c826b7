"""The delay that guarding a stream adds to each sentence.

    HALLDETECT_DATA=DIR python -m benchmarks.stream --rows 40
    HALLDETECT_DATA=DIR python -m benchmarks.stream --rows 200 --verifier large --device cuda \\
        [--base BASE.gguf]

Summaries of a dataset are streamed word by word at full speed against their articles. Measured for
each sentence: wall-clock and processor seconds from its last character until it is passed on, held
back or repaired. For comparison, one whole check of each summary gives the delay of waiting for the
end. Wall-clock time depends on other load, so the load average is recorded.

Writes benchmarks/results/stream.json.
"""

from __future__ import annotations

import json
import os
import time
from statistics import fmean, median
from typing import Any

from benchmarks.repair import sample
from benchmarks.store import command, processor, store
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector
from halldetect_bench.registry import load_dataset

ACTIONS = ("hold", "repair")


def measure(detector: Detector, dataset: str, rows: int, seed: int) -> dict[str, Any]:
    """Return the delays of each way to handle a failing sentence, and of whole checks."""
    chosen = sample(load_dataset(dataset).rows, rows, seed)
    detector.check("Dogs bark.", "Dogs bark.")  # loads the models
    result: dict[str, Any] = {"responses": len(chosen)}
    for action in ACTIONS:
        used = time.process_time()
        sentences = [
            sentence
            for row in chosen
            for sentence in detector.stream(row.source, on_failure=action).run(
                f"{word} " for word in row.response.split()
            )
            if sentence.original.strip()
        ]
        delays = sorted(sentence.seconds for sentence in sentences)
        actions = [str(sentence.action) for sentence in sentences]
        result[action] = {
            "sentences": len(sentences),
            "actions": {name: actions.count(name) for name in sorted(set(actions))},
            "seconds_median": round(median(delays), 3),
            "seconds_95": round(delays[int(0.95 * (len(delays) - 1))], 3),
            "cpu_seconds_mean": round((time.process_time() - used) / len(sentences), 3),
        }
    started, used = time.perf_counter(), time.process_time()
    for row in chosen:
        detector.check(row.source, row.response)
    result["whole_check"] = {
        "seconds_mean": round((time.perf_counter() - started) / len(chosen), 3),
        "cpu_seconds_mean": round((time.process_time() - used) / len(chosen), 3),
        "sentences_mean": round(fmean(row.response.count(". ") + 1 for row in chosen), 2),
    }
    return result


def main() -> None:
    """Measure and write the results file."""
    parser = command(__doc__, "stream.json")
    parser.add_argument("--dataset", default="qags-cnndm")
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    add_verifier_options(parser)
    arguments = parser.parse_args()
    detector = Detector(
        verifier=verifier_of(arguments), device=arguments.device, threads=arguments.threads
    )
    recorded = ("dataset", "rows", "seed", "verifier", "device", "threads")
    results = {
        "command": {name: getattr(arguments, name) for name in recorded},
        "weights": detector.verifier.description["digest"],
        "processor": processor(),
        "load_average": round(os.getloadavg()[0], 1),
        **measure(detector, arguments.dataset, arguments.rows, arguments.seed),
    }
    store(arguments.out, results)
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
