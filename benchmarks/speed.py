"""Measure the time of a check by several methods, and write the tables of docs/speed.md.

    python -m benchmarks.speed DATASETS    # writes results/speed.json and the page
    python -m benchmarks.speed --page      # the page alone

DATASETS is the folder with the evaluation sets. The methods are timed in one run, alternating on
each article, so that other load on the machine hardly changes their ratios. The tables also give
processor time, which is less sensitive to other load. The text between the marks in docs/speed.md
is rewritten; the rest stays.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.store import RESULTS, base_weights, command, processor, store, stored
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.registry import load_dataset

PAGE = Path(__file__).parents[1] / "docs" / "speed.md"
OURS = "halldetect"
Results = dict[str, Any]


# Measurements


def methods(rows: Sequence[Row], verifier: str) -> Results:
    """Time the detector and similar methods on articles with summaries, in turn."""
    from halldetect import Detector
    from halldetect_bench.methods.halldetect_method import HallDetect
    from halldetect_bench.methods.pairwise import MiniCheckStyle, SummacZsStyle

    detector = Detector(verifier=verifier)
    chosen: dict[str, Any] = {
        OURS: HallDetect(detector),
        "MiniCheck-style": MiniCheckStyle(detector.verifier),
        "SummaC-style": SummacZsStyle(detector.verifier),
    }
    found: dict[str, list[tuple[float, float, int, int]]] = {name: [] for name in chosen}
    detector.check("It rained.", "It rained.")
    for row in rows:
        for name, method in chosen.items():
            wall, spent = time.perf_counter(), time.process_time()
            (scored,) = method.score_many([row])
            seconds, worked = time.perf_counter() - wall, time.process_time() - spent
            cost = scored.cost
            found[name].append((seconds, worked, cost.pairs_judged, cost.verifier_tokens))
    ours = sum(item[0] for item in found[OURS])
    return {
        name: {
            "articles": len(items),
            "pairs": round(sum(item[2] for item in items) / len(items), 1),
            "tokens": round(sum(item[3] for item in items) / len(items)),
            "seconds_median": round(median(item[0] for item in items), 3),
            "processor_seconds_mean": round(sum(item[1] for item in items) / len(items), 3),
            "times": round(sum(item[0] for item in items) / ours, 2),
        }
        for name, items in found.items()
    }


def start(verifier: str) -> Results:
    """Measure the cost of the first check of a process."""
    marks = [("begin", time.perf_counter())]

    def mark(name: str) -> None:
        marks.append((name, time.perf_counter()))

    import halldetect

    mark("import halldetect")
    import onnxruntime  # noqa: F401

    mark("import onnxruntime")
    detector = halldetect.Detector(verifier=verifier)
    assert detector.verifier
    mark("load the verifier")
    detector.check("It rained.", "It rained.")
    mark("first check")
    spent = {name: round(after - before, 3) for (_, before), (name, after) in pairwise(marks)}
    return {"seconds": spent, "peak_mib": peak_mib()}


def peak_mib() -> int:
    """Return the peak memory of this program; getrusage would include the parent's."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) // 1024


def started(verifier: str) -> Results:
    """Measure `start` in a separate process, for separate peak memory and imports."""
    command = [sys.executable, "-m", "benchmarks.speed", "--alone", verifier]
    environment = {**os.environ, "HALLDETECT_OFFLINE": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: Results = json.loads(done.stdout.splitlines()[-1])
    return result


def measure(datasets: Path, verifier: str, articles: int) -> Results:
    """Take all measurements."""
    from halldetect import Detector

    rows = load_dataset("qags-cnndm", datasets).rows
    few = rows[:: max(1, len(rows) // articles)][:articles]
    result: Results = {
        "machine": {
            "processor": processor(),
            "cores": os.cpu_count(),
            "load_before": round(os.getloadavg()[0], 2),
            "python": platform.python_version(),
        },
        "verifier": Detector(verifier=verifier).verifier.description,
        "start": started(verifier),
        "ways": methods(few, verifier),
    }
    result["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    return result


# The page


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table."""
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    return "\n".join([*lines, *(f"| {' | '.join(map(str, row))} |" for row in rows)])


def machine_text(found: Results) -> str:
    """Return the sentences about the machine and the weights."""
    about, verifier = found["machine"], found["verifier"]
    digest = verifier["digest"]
    name = f"`{verifier['name']}` {digest[:8]}"
    if digest != base_weights():
        name += ", **not the weights that ship now**"
    return (
        f"{about['processor']}, {about['cores']} cores, {verifier['runtime']}, verifier {name}; "
        f"load average {about['load_before']} before and {about['load_after']} after the run "
        f"(above {about['cores']}: other programs ran, and only CPU seconds and ratios are "
        "meaningful)."
    )


def methods_text(found: Results) -> str:
    """Return the table of methods."""
    keys = ("articles", "pairs", "tokens", "seconds_median", "processor_seconds_mean", "times")
    head = ("method", "articles", "pairs", "tokens", "median s", "CPU s", f"time, {OURS} = 1")
    ranked = sorted(found["ways"].items(), key=lambda item: -item[1]["times"])
    return table(head, [(name, *(way[key] for key in keys)) for name, way in ranked])


def start_text(found: Results) -> str:
    """Return the table of the start-up."""
    steps = table(("step", "s"), list(found["start"]["seconds"].items()))
    return f"{steps}\n\nPeak memory after the first check: {found['start']['peak_mib']} MiB."


PARTS: dict[str, Callable[[Results], str]] = {
    "machine": machine_text,
    "methods": methods_text,
    "start": start_text,
}


def fill(page: str, parts: Mapping[str, str]) -> str:
    """Return a page with the texts between its marks replaced."""
    for name, text in parts.items():
        begin, end = f"<!-- {name} -->", f"<!-- end {name} -->"
        before, opened, rest = page.partition(begin)
        _, closed, after = rest.partition(end)
        if not (opened and closed):
            raise SystemExit(f"the page has no place for {name}")
        page = f"{before}{begin}\n{text}\n{end}{after}"
    return page


def filled(page: str) -> str:
    """Return the page with every table rewritten from the results."""
    found = stored(RESULTS / "speed.json")
    return fill(page, {name: write(found) for name, write in PARTS.items()})


def main() -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("datasets", type=Path, nargs="?")
    parser.add_argument("--verifier", default="base")
    parser.add_argument("--articles", type=int, default=30)
    parser.add_argument("--page", action="store_true", help="write the page alone")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.alone:
        print(json.dumps(start(options.alone)))
        return
    if not options.page:
        if options.datasets is None:
            parser.error("say where the datasets are")
        result = measure(options.datasets, options.verifier, options.articles)
        store(RESULTS / "speed.json", result)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
