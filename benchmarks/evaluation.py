"""Run every method over every dataset, many `halldetect bench run` at a time, in a limited time.

    python -m training.base.to_hf src/halldetect/weights/base HF
    python -m benchmarks.evaluation --data DIR --out RESULTS --base hf:HF --device cuda \\
        --llm MODEL.gguf --embedder FOLDER --seconds 500
    python -m benchmarks.pack RESULTS benchmarks/results/bench --base HF
    python -m benchmarks.peers DIR PEERS
    halldetect bench report benchmarks/results/bench -o docs --readme README.md \\
        --peers benchmarks/results/peers.json

Methods with a verifier run over all rows, those with a language model over a shared sample, in
order of importance. After `--seconds` no run begins and running ones are stopped. A second call
adds the missing results.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.store import command

FIRST = "qags-cnndm"
DATASETS = (
    FIRST,
    "summeval",
    "xsumfaith",
    "summedits",
    "faithbench",
    "defacto-test",
    "storysumm",
    "dialsummeval",
    "wice",
    "pubmedqa",
    "bump",
)
ON_BASE = (
    "halldetect",
    "nli-only",
    "minicheck-style",
    "alignscore-style",
    "summac-zs-style",
    "summac-conv-style",
)
ON_LARGE = ("halldetect", "nli-only", "one-prompt")
ASKING = ("paper", "long-context", "llm-cot", "qafacteval", "acueval", "factscore", "selfcheck")
EMBEDDING = ("embedding", "selfcheck")
# Rows per dataset for methods with a language model; the first dataset is used in full.
SHARED_ROWS = 200


@dataclass(frozen=True)
class Run:
    """One call of `halldetect bench run`: its dataset, method and further options."""

    dataset: str
    method: str
    options: tuple[str, ...] = ()

    def command(self, shared: Sequence[str]) -> list[str]:
        """Return the command line, with the shared options of every run."""
        chosen = ["--dataset", self.dataset, "--method", self.method]
        words = ["bench", "run", *chosen, *self.options, *shared]
        return [sys.executable, "-m", "halldetect", *words]


def all_runs(options: argparse.Namespace) -> Iterator[Run]:
    """Yield the runs over all datasets, the most important first."""
    base = ("--verifier", options.base, "--batch", "64")
    yield from (Run(name, method, base) for method in ON_BASE for name in DATASETS)
    if options.large:
        large = ("--verifier", "large", "--batch", "64")
        yield from (Run(name, method, large) for method in ON_LARGE for name in DATASETS)
    yield from (Run(name, "rouge-l") for name in DATASETS)
    if options.embedder:
        vectors = ("--embedder", options.embedder, "--batch", "256")
        yield from (Run(name, "embedding", vectors) for name in DATASETS)
    if options.llm:
        asking: tuple[str, ...] = (*base[:2], "--llm", options.llm, "--batch", "1024")
        if options.embedder:
            asking += ("--embedder", options.embedder)
        wanted = [name for name in ASKING if options.embedder or name not in EMBEDDING]
        for method in wanted:
            for name in DATASETS:
                limit = () if name == FIRST else ("--limit", str(options.shared_rows))
                yield Run(name, method, (*asking, *limit))


def run_all(
    commands: Sequence[Sequence[str]],
    seconds: float,
    workers: int,
    say: Callable[[str], None] = print,
) -> int:
    """Run commands side by side until the time is up; return the number of failed ones.

    Nothing begins after that time, and everything is then stopped.
    """
    end = time.monotonic() + seconds

    def run(command: Sequence[str]) -> bool:
        label = " ".join(command[4:])
        left = end - time.monotonic()
        if left <= 0:
            say(f"left out: {label}")
            return True
        try:
            done = subprocess.run(command, timeout=left, capture_output=True, text=True)
        except subprocess.TimeoutExpired:
            say(f"stopped: {label}")
            return True
        if done.returncode:
            say(f"FAILED: {label}: {done.stderr.strip()[-400:]}")
        return done.returncode == 0

    with ThreadPoolExecutor(workers) as pool:
        return sum(not good for good in pool.map(run, commands))


def main() -> int:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--base", default="base", help="the verifier that stands for base")
    parser.add_argument("--large", action="store_true", help="run the verifier large too")
    parser.add_argument("--llm", help="a GGUF file or a folder of transformers")
    parser.add_argument("--embedder", help="a folder of sentence-transformers")
    parser.add_argument("--device", choices=("cpu", "cuda"))
    parser.add_argument("--seconds", type=float, default=500)
    parser.add_argument("--workers", type=int, default=8)
    parser.add_argument("--shared-rows", type=int, default=SHARED_ROWS)
    options = parser.parse_args()
    shared = ["--data", str(options.data), "-o", str(options.out), "--quiet"]
    if options.device is not None:
        shared += ["--device", options.device]
    commands = [run.command(shared) for run in all_runs(options)]
    return int(run_all(commands, options.seconds, options.workers) > 0)


if __name__ == "__main__":
    sys.exit(main())
