"""Run the evaluation on a GPU without network, in a limited time.

    python -m benchmarks.gpu_bench prepare --data DIR --out ROWS.jsonl.gz [--limit 100]
    python -m benchmarks.gpu_bench run --rows ROWS.jsonl.gz --out RESULTS --seconds 360 \\
        [--verifier FOLDER] [--llm MODEL.gguf ...] \\
        [--parts fit,verifier,llm,ablation,claims,latency]
    halldetect bench report RESULTS

`prepare` samples the rows to fit SummaC-Conv's layer on, and the rows that `bench run --limit N`
would sample, so that results of both can be combined. `run` does the jobs in order of importance,
the rows of all datasets together, and skips the jobs that would start after the time is up. The
results are in RESULTS, in the files of `bench run`; a second call adds what is missing. Generating
text leaves most of a GPU idle, so several calls, one per model and folder, may run at the same
time; only `latency` must run alone.
"""

from __future__ import annotations

import argparse
import gzip
import json
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from halldetect.config import Configuration
from halldetect.protocols import Verifier
from halldetect.report import Probabilities
from halldetect.verification.verifiers import load_verifier
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.meter import Meter
from halldetect_bench.methods.method import Method
from halldetect_bench.models.selection import RunModels, RunOptions
from halldetect_bench.predictions import LATENCY, header_of, open_predictions, prediction_of
from halldetect_bench.registry import METHODS, load_dataset
from halldetect_bench.runner import missing, sample
from training import summac_conv

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
    "adversarial:qags-cnndm",
)
SEED = 0
VERIFIED = ("minicheck", "nli-only", "summac-zs", "alignscore", "rouge-l")
ASKED = (
    "embedding",
    "long-context",
    "latency",
    "ablation",
    "llm-cot",
    "selfcheck",
    "acueval",
    "factscore",
)
LATENCY_ROWS = 8
# The ablation judges every window of every claim, so it runs on one dataset only.
ABLATED = FIRST
# The archive of the results is rewritten after this many seconds, and at the end.
ARCHIVED = 45
FIT = "fit:"
LAYER = "summac_conv.json"
# "claims" is the ablation over the claims of a language model.
PARTS = ("fit", "verifier", "llm", "ablation", "claims", "latency")


class Remembering:
    """A verifier that judges no pair twice; the ablations of different extractors share pairs."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._known: dict[tuple[str, str], Probabilities] = {}
        self.description = verifier.description
        self.max_tokens = verifier.max_tokens
        self.count_tokens = verifier.count_tokens

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Judge only the pairs that are new."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        self._known.update(zip(new, self._verifier.judge(new), strict=True))
        return [self._known[pair] for pair in pairs]


@dataclass(frozen=True)
class Job:
    """A method over rows of datasets. With `batch` 1, rows one after the other: latency."""

    name: str
    folder: str
    build: Callable[[], Method]
    rows: dict[str, list[Row]]
    batch: int | None = None


def prepare(options: argparse.Namespace) -> None:
    """Write the rows of all datasets, and the rows to fit SummaC-Conv on."""
    with gzip.open(options.out, "wt", encoding="utf-8") as file:
        for name in DATASETS:
            loaded = load_dataset(name, options.data)
            limit = None if name == FIRST else options.limit
            rows = sample(loaded.rows, limit, SEED)
            write_rows(file, name, rows)
            print(f"{name}: {len(rows)} of {len(loaded.rows)} rows")
        for name in summac_conv.DATA:
            rows = sample(load_dataset(name, options.data).rows, options.fit, SEED)
            write_rows(file, f"{FIT}{name}", rows)


def write_rows(file: TextIO, name: str, rows: Sequence[Row]) -> None:
    """Append rows of a dataset as JSON lines."""
    for row in rows:
        file.write(json.dumps({"name": name, "row": asdict(row)}) + "\n")


def read_rows(path: Path, limit: int | None) -> dict[str, list[Row]]:
    """The rows of each dataset, at most `limit` of each."""
    found: dict[str, list[Row]] = {}
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            row = record["row"]
            if isinstance(row["source"], list):
                row["source"] = tuple(row["source"])
            row["sentences"] = tuple((text, wrong) for text, wrong in row["sentences"])
            found.setdefault(record["name"], []).append(Row(**row))
    return {name: rows[:limit] for name, rows in found.items()}


def jobs(options: argparse.Namespace, rows: dict[str, list[Row]]) -> Iterator[Job]:
    """The most important first: what the verifier does, then each language model's part."""
    parts = options.parts.split(",")
    few = {FIRST: rows[FIRST][:LATENCY_ROWS]}
    ablated = {ABLATED: rows[ABLATED]}
    layer = options.out / LAYER
    judge = RunModels(
        RunOptions(Configuration(extractor="sentences", verifier=options.verifier, seed=SEED))
    )

    @cache
    def remembering() -> Verifier:
        return Remembering(judge.verifier)

    def of(models: RunModels, name: str, extractor: str | None = None) -> Callable[[], Method]:
        def build() -> Method:
            if extractor is not None:
                from halldetect_bench.methods.ablation import Ablation

                return Ablation(models.splitter(extractor), remembering())
            return METHODS[name].build(models)

        return build

    def conv() -> Method:
        from halldetect_bench.methods.pairwise import SummacConv

        fitted = json.loads(layer.read_text()) if layer.is_file() else None
        return SummacConv(judge.verifier, fitted)

    def detecting(models: RunModels) -> Callable[[], Method]:
        """HallDetect with the language model's claims: its one generative pass counts too."""

        def build() -> Method:
            from halldetect.detector import Detector
            from halldetect_bench.methods.claim_splitters import LlmExtractor
            from halldetect_bench.methods.halldetect_method import HallDetect

            return HallDetect(Detector(LlmExtractor(models.llm, seed=SEED), options.verifier))

        return build

    if "verifier" in parts:
        yield Job("halldetect", "", of(judge, "halldetect"), rows)
        for name in VERIFIED:
            yield Job(name, "", of(judge, name), rows)
        yield Job("summac-conv", "", conv, rows)
    if "ablation" in parts:
        for extractor in ("sentences", "whole", "groups:2"):
            yield Job(f"ablation, {extractor}", "", of(judge, "ablation", extractor), ablated)
    if "latency" in parts:
        for name in ("halldetect", "minicheck"):
            yield Job(f"{name}, one by one", LATENCY, of(judge, name), few, 1)
    # Each step for all models, the smallest model last: what is left out is of least interest.
    llms = [
        RunModels(RunOptions(Configuration(seed=SEED), llm=str(path), device=options.device))
        for path in options.llm
    ]
    fewer = {
        name: found if name == FIRST else sample(found, options.llm_rows, SEED)
        for name, found in rows.items()
    }
    for step in ASKED:
        for models in llms:
            title = f"{step}, {Path(models.options.llm or '').name}"
            if step == "ablation" and "claims" in parts:
                yield Job(title, "", of(models, step, "llm"), ablated)
            elif step == LATENCY and "latency" in parts:
                for name in ("long-context", "llm-cot"):
                    yield Job(f"{title}, {name}", LATENCY, of(models, name), few, 1)
                yield Job(f"{title}, halldetect", LATENCY, detecting(models), few, 1)
            elif step in METHODS and step != "ablation" and "llm" in parts:
                yield Job(title, "", of(models, step), fewer)


def run(options: argparse.Namespace) -> None:
    """Run the jobs until the time is up."""
    start = time.perf_counter()
    every = read_rows(options.rows, options.limit)
    rows = {name: found for name, found in every.items() if not name.startswith(FIT)}
    if "fit" in options.parts.split(","):
        training = [row for name, found in every.items() if name.startswith(FIT) for row in found]
        fit(training, options.verifier, options.out / LAYER)
        print(f"summac-conv fitted, {time.perf_counter() - start:.0f} s so far", flush=True)
    archived = start
    for job in jobs(options, rows):
        spent = time.perf_counter() - start
        if spent > options.seconds:
            print(f"{job.name}: left out, {spent:.0f} s are over", flush=True)
            continue
        began = time.perf_counter()
        try:
            done = work(job, options.out)
        except Exception as error:  # one failed job must not cost the others
            print(f"{job.name}: FAILED: {type(error).__name__}: {error}"[:400], flush=True)
            continue
        took = time.perf_counter() - began
        print(f"{job.name}: {done} rows in {took:.1f} s, {spent + took:.0f} s so far", flush=True)
        if options.archive and time.perf_counter() - archived > ARCHIVED:
            archive(options.out, options.archive)
            archived = time.perf_counter()
    if options.archive:
        archive(options.out, options.archive)


def fit(rows: list[Row], verifier: str | None, file: Path) -> None:
    """Fit the layer of SummaC-Conv and write it."""
    layer = summac_conv.fit(rows, load_verifier(verifier))
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(layer) + "\n", encoding="utf-8")


def archive(folder: Path, file: Path) -> None:
    """All results as one file, whole at any moment."""
    part = file.with_name(f".{file.name}.part")
    with tarfile.open(part, "w:gz", compresslevel=3) as tar:
        for path in sorted(folder.rglob("*.json*")):
            tar.add(path, path.relative_to(folder))
    part.replace(file)


def work(job: Job, out: Path) -> int:
    """Score the rows that are missing, those of all datasets together."""
    method = job.build()
    meter = Meter()
    with ExitStack() as stack:
        books: dict[str, Any] = {}
        todo: list[tuple[str, Row]] = []
        for name, rows in job.rows.items():
            header = header_of(name, method.description)
            book = stack.enter_context(open_predictions(out / job.folder, header))
            books[name] = book
            todo += [(name, row) for row in missing(rows, book.done, out / header.path)]
        if job.batch == 1 and todo:
            method.score_many([todo[0][1]])  # the first call of all also warms up
        for part in _parts(todo, job.batch):
            with meter.measure(len(part)):
                found = method.score_many([row for _, row in part])
            for (name, row), scored in zip(part, found, strict=True):
                books[name].append(prediction_of(row, scored, meter.last))
    return len(todo)


def _parts(items: Sequence[Any], size: int | None) -> Iterator[Sequence[Any]]:
    step = size or max(1, len(items))
    for start in range(0, len(items), step):
        yield items[start : start + step]


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    actions = parser.add_subparsers(required=True)
    preparing = actions.add_parser("prepare")
    preparing.add_argument("--data", type=Path, required=True)
    preparing.add_argument("--out", type=Path, required=True)
    preparing.add_argument("--limit", type=int, default=100)
    preparing.add_argument("--fit", type=int, default=400, help="rows per dataset to fit on")
    preparing.set_defaults(do=prepare)
    running = actions.add_parser("run")
    running.add_argument("--rows", type=Path, required=True)
    running.add_argument("--out", type=Path, required=True)
    running.add_argument("--seconds", type=float, default=360)
    running.add_argument("--verifier")
    running.add_argument("--llm", type=Path, nargs="*", default=[])
    running.add_argument("--parts", default=",".join(PARTS))
    running.add_argument("--device", default="cuda")
    running.add_argument(
        "--llm-rows", type=int, help="rows per dataset for methods that ask a language model"
    )
    running.add_argument("--archive", type=Path, help="the results as one .tar.gz too")
    running.add_argument("--limit", type=int, help="rows per dataset, for a trial run")
    running.set_defaults(do=run)
    options = parser.parse_args()
    options.do(options)


if __name__ == "__main__":
    main()
