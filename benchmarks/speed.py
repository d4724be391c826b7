"""The time of a check, by phase and by size.

    python -m benchmarks.speed DATASETS --naive 2    # writes results/speed.json
    python -m benchmarks.speed_tables                # docs/speed.md from it

DATASETS is the folder with the evaluation sets. The naive loop runs the shipped weights in fp32
and needs the extra `train`. Claims are the sentences of the summaries: extraction is not timed. All
ways are timed in one run, article by article in turn, so that other load on the machine hardly
changes their ratios. The processor time of the process, which other load disturbs less, is given
beside the wall-clock time.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.machine import processor
from halldetect import Detector, Report
from halldetect.reading.sentences import sentences
from halldetect.verification.verifiers import load_verifier
from halldetect.verification.verifiers.onnx import OnnxVerifier, physical_cores
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.pairwise import MiniCheck, SummacZs
from halldetect_bench.registry import load_dataset

RESULTS = Path(__file__).parent / "results" / "speed.json"


@dataclass
class Way:
    """What one way of judging cost, article by article."""

    judge: Callable[[Row], tuple[int, int]]  # pairs and tokens
    articles: int
    walls: list[float] = field(default_factory=list)
    processor: float = 0.0
    pairs: int = 0
    tokens: int = 0

    def run(self, row: Row) -> None:
        """Judge one article and record time, pairs and tokens."""
        wall, spent = time.perf_counter(), time.process_time()
        pairs, tokens = self.judge(row)
        self.walls.append(time.perf_counter() - wall)
        self.processor += time.process_time() - spent
        self.pairs += pairs
        self.tokens += tokens

    def summary(self) -> dict[str, Any]:
        """The means over the articles."""
        count = len(self.walls)
        return {
            "articles": count,
            "pairs": round(self.pairs / count, 1),
            "tokens": round(self.tokens / count),
            "seconds_median": round(median(self.walls), 3),
            "seconds_mean": round(sum(self.walls) / count, 3),
            "processor_seconds_mean": round(self.processor / count, 3),
        }


def with_detector(detector: Detector, phases: list[dict[str, float]] | None = None) -> Any:
    """A way that runs the detector; the seconds of its phases go to `phases`."""

    def judge(row: Row) -> tuple[int, int]:
        report: Report = detector.check(text_of(row), row.response)
        if phases is not None:
            phases.append(dict(report.cost.seconds))
        return report.cost.pairs_judged, report.cost.verifier_tokens

    return judge


def with_method(method: Any) -> Any:
    """A way that runs a method of the evaluation."""

    def judge(row: Row) -> tuple[int, int]:
        (scored,) = method.score_many([row])
        return scored.cost.pairs_judged, scored.cost.verifier_tokens

    return judge


def text_of(row: Row) -> str:
    """The source of a row as one text."""
    return row.source if isinstance(row.source, str) else "\n\n".join(row.source)


def ways(rows: Sequence[Row], options: argparse.Namespace) -> dict[str, Any]:
    """Time every way, article by article in turn."""
    verifier = load_verifier(options.verifier)
    phases: list[dict[str, float]] = []
    few = options.naive
    found = {
        "exhaustive": Way(
            with_detector(Detector("sentences", verifier, exact=True)), options.exhaustive
        ),
        "lazy": Way(with_detector(Detector("sentences", verifier), phases), len(rows)),
        "MiniCheck-style": Way(with_method(MiniCheck(verifier)), options.exhaustive),
        "SummaC-style": Way(with_method(SummacZs(verifier)), options.exhaustive),
    }
    if few:
        from benchmarks.naive import NaiveLoop

        assert isinstance(verifier, OnnxVerifier)
        loop = NaiveLoop(verifier._file.parent)
        found["naive loop"] = Way(with_detector(Detector("sentences", loop, exact=True)), few)
    warm = Detector("sentences", verifier)
    warm.check(text_of(rows[0])[:500], rows[0].response)
    for at, row in enumerate(rows):
        for way in found.values():
            if at < way.articles:
                way.run(row)
        print(f"article {at + 1} of {len(rows)}", flush=True)
    table = {name: way.summary() for name, way in found.items()}
    for name, way in found.items():  # how much slower than lazy, on the very same articles
        same = len(way.walls)
        lazy = found["lazy"]
        table[name]["times_lazy"] = round(sum(way.walls) / sum(lazy.walls[:same]), 2)
    names = list(phases[0])
    table["lazy"]["phases"] = {
        name: round(sum(item.get(name, 0.0) for item in phases) / len(phases), 4) for name in names
    }
    return table


def in_turn(measure: str, *arguments: str) -> dict[str, Any]:
    """A measurement in a process of its own, so that peak memory and imports are its own."""
    command = [sys.executable, "-m", "benchmarks.speed_alone", measure, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(measure, *arguments[1:], json.dumps(result), flush=True)
    return result


def batches(rows: Sequence[Row], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Time several responses in one call."""
    detector = Detector("sentences", load_verifier(options.verifier))
    found = []
    for size in (1, 4, 16):
        pairs = [(text_of(row), row.response) for row in rows[:size]]
        began = time.perf_counter()
        detector.check_many(pairs)
        found.append({"responses": size, "seconds": round(time.perf_counter() - began, 3)})
    return found


def machine() -> dict[str, Any]:
    """What the measurements were made on."""
    import onnxruntime

    return {
        "processor": processor(),
        "cores": physical_cores(),
        "load_before": round(os.getloadavg()[0], 2),
        "onnxruntime": onnxruntime.__version__,
        "python": platform.python_version(),
    }


def books(rows: Sequence[Row], folder: Path) -> dict[int, Path]:
    """Sources of growing length: articles one after the other, the first one first."""
    words: list[str] = []
    for row in dict.fromkeys(map(text_of, rows)):
        words.extend(f"{row}\n\n".split(" "))
    folder.mkdir(parents=True, exist_ok=True)
    files = {}
    for size in (100, 1_000, 10_000, 100_000):
        file = folder / f"{size}.txt"
        text = " ".join(words)
        while len(text.split()) < size:  # fewer articles than words asked for: again from the top
            text = f"{text}\n\n{text}"
        file.write_text(" ".join(text.split(" ")[:size]), encoding="utf-8")
        files[size] = file
    return files


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("datasets", type=Path)
    parser.add_argument("--verifier", help="default: the one in the package")
    parser.add_argument("--articles", type=int, default=24, help="for the lazy way")
    parser.add_argument("--exhaustive", type=int, default=6, help="articles for exhaustive ways")
    parser.add_argument("--naive", type=int, default=0, help="articles for the naive loop")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    name = options.verifier or "default"
    result: dict[str, Any] = {"machine": machine(), "verifier": load_verifier(name).description}
    everything = load_dataset("qags-cnndm", options.datasets).rows
    step = max(1, len(everything) // options.articles)
    rows = everything[::step][: options.articles]
    result["start"] = in_turn("start", name)
    result["ways"] = ways(rows, options)
    scratch = Path(os.environ.get("TMPDIR", "/tmp")) / "halldetect-speed"
    files = books(everything, scratch)
    response = scratch / "response.txt"
    response.write_text(everything[0].response, encoding="utf-8")
    result["source_words"] = {
        size: in_turn("check", name, str(file), str(response)) for size, file in files.items()
    }
    said = [
        span.cut(row.response)
        for row in dict.fromkeys(everything[:60])
        for span in sentences(row.response)
    ]
    result["claims"] = {}
    for count in (1, 10, 50):
        response.write_text("\n".join(said[:count]), encoding="utf-8")
        result["claims"][count] = in_turn("check", name, str(files[1_000]), str(response))
    result["batch"] = batches(rows, options)
    result["roofline"] = in_turn("roofline", name)
    result["machine"]["load_after"] = round(os.getloadavg()[0], 2)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
