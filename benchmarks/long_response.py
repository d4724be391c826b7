"""What a long response against a long source costs, and how well its progress is foretold.

    python -m benchmarks.long_response DATASETS [--every-window]

The source is two news articles of SummEdits (1,909 words). The response (1,870 words) has its
sentences in another order, every second one with other numbers, and between them the sentences of
two other articles, which the source does not support. Progress is compared with the tokens that
were really judged. `--every-window` measures as well what it costs if no claim is given up.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import time
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.machine import processor
from halldetect import Detector
from halldetect.pipeline import cut_windows
from halldetect.reading.sentences import sentences
from halldetect.scoring import window_rule
from halldetect.verification.rounds import verify
from halldetect.verification.schedule import StoppingRule
from halldetect.verification.tasks import Task
from halldetect_bench.registry import load_dataset

RESULTS = Path(__file__).parent / "results" / "long_response.json"
SOURCE_WORDS, RESPONSE_WORDS = 1909, 1870


def long_texts(datasets: Path) -> tuple[str, str]:
    """The source and the response.

    datasets  the folder with the evaluation sets
    """
    rows = [row for row in load_dataset("summedits", datasets).rows if row.id.startswith("news/")]
    articles = sorted(
        {row.source for row in rows if isinstance(row.source, str)},
        key=lambda text: (-len(text.split()), text),
    )
    source = _beginning(f"{articles[0]}\n\n{articles[2]}", SOURCE_WORDS)
    own = [span.cut(source) for span in sentences(source)]
    random.Random(0).shuffle(own)
    own = [_other_numbers(text) if at % 2 else text for at, text in enumerate(own)]
    foreign = [span.cut(text) for text in articles[3:5] for span in sentences(text)]
    mixed = [text for pair in zip(own, foreign, strict=False) for text in pair]
    return source, _beginning(" ".join(mixed), RESPONSE_WORDS)


def _beginning(text: str, words: int) -> str:
    return " ".join(text.split()[:words])


def _other_numbers(text: str) -> str:
    return re.sub(r"\d+", lambda found: str(int(found[0]) + 3), text)


def checked(source: str, response: str, verifier: str) -> dict[str, Any]:
    """Check the response as a user would."""
    steps: list[tuple[float, int, int]] = []

    def progress(phase: str, done: int, of: int) -> None:
        if phase == "verify":
            steps.append((time.perf_counter() - began, done, of))

    detector = Detector(verifier=verifier, progress=progress)
    detector.check("It rained.", "It rained.")
    steps.clear()
    began, spent = time.perf_counter(), time.process_time()
    report = detector.check(source, response)
    wall, used = time.perf_counter() - began, time.process_time() - spent
    total = steps[-1][1]
    return {
        "claims": len(report.claims),
        "states": Counter(str(claim.status) for claim in report.claims),
        "pairs_judged": report.cost.pairs_judged,
        "tokens": report.cost.verifier_tokens,
        "seconds": round(wall, 1),
        "processor_seconds": round(used, 1),
        "processor_seconds_per_claim": round(used / len(report.claims), 2),
        "phases": report.cost.seconds,
        # Of the whole, the share that was told less the share that was true.
        "progress_off_by": round(max(abs(done / of - done / total) for _, done, of in steps), 3),
        "longest_silence": round(max(after[0] - before[0] for before, after in pairwise(steps)), 2),
    }


def without_giving_up(source: str, response: str, verifier: str) -> dict[str, Any]:
    """The pairs and tokens if every claim that is not supported is judged to its last window."""
    detector = Detector(verifier=verifier)
    states = detector.begin([(source, response)])
    cut_windows(states, detector.configuration)
    rule = window_rule(detector)
    assert isinstance(rule, StoppingRule)
    rule = replace(rule, unrelated_below=0.0, hopeless_windows=1_000_000)
    (state,) = states
    task = Task(state.extraction.claims, state.windows, state.texts.documents, finer=True)
    (judged,) = verify(detector.verifier, [task], rule=rule)
    return {
        "pairs_judged": sum(len(item.windows) for item in judged),
        "tokens_without_parts_and_proofs": sum(item.tokens for item in judged),
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--verifier", default="default")
    parser.add_argument("--every-window", action="store_true")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    source, response = long_texts(options.datasets)
    result: dict[str, Any] = {
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "load_before": round(os.getloadavg()[0], 1),
        },
        "words": [len(source.split()), len(response.split())],
        "check": checked(source, response, options.verifier),
    }
    result["machine"]["load_after"] = round(os.getloadavg()[0], 1)
    if options.every_window:
        result["without_giving_up"] = without_giving_up(source, response, options.verifier)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
