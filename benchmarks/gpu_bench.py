"""Run the evaluation on a GPU without network, in a limited time.

    python -m benchmarks.gpu_bench prepare --data DIR --out FOLDER
    python -m benchmarks.gpu_bench weights WORK/base --out FOLDER/base
    python -m benchmarks.gpu_bench extract --from FOLDER --llm MODEL.gguf --drafts FILE
    python -m benchmarks.gpu_bench judge --from FOLDER --large MODEL.gguf --drafts FILE \\
        --out RESULTS
    python -m benchmarks.gpu_bench generate --from FOLDER --llm MODEL.gguf --embedder FOLDER2 \\
        --out RESULTS
    python -m benchmarks.gpu_bench latency --from FOLDER --large MODEL.gguf --out RESULTS
    python -m benchmarks.pack RESULTS benchmarks/results/bench --shipped src/halldetect/weights
    halldetect bench report benchmarks/results/bench

`prepare` writes the rows of all datasets, the rows to fit SummaC-Conv's layer on, and the
weights of the package in a form that needs no ONNX; `weights` those of a student that was just
trained (`gpu_weights`). `judge` runs the methods on the verifiers `base` and `large` over
all rows, with workers on every core (`gpu_judges`), and the detector on the claims that
`extract` had a language model draft (`gpu_drafts`); `generate` runs the other methods that ask a
language model. Methods with a language model share a sample. `latency` scores some rows one at a
time, alone on the machine. Jobs are done in order of importance and not begun after `--seconds`.
The results are in the files of `bench run`: a second call adds what is missing. `judge`,
`extract` and `generate` may run at the same time; `extract` and `generate` need no verifier.
"""

from __future__ import annotations

import argparse
import json
import lzma
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from benchmarks.gpu_drafts import DraftedExtractor, write_drafts
from benchmarks.gpu_judges import (
    LARGE,
    BaseNetwork,
    BaseTexts,
    Clock,
    Failure,
    Judges,
    RemoteBackend,
    Work,
    large_texts,
)
from benchmarks.gpu_weights import BASE, STUDENT, prepare_base, prepare_student
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.large import load_large
from halldetect.large.load import CONTEXT
from halldetect.large.shape import Shape
from halldetect.large.verifier import LargeVerifier
from halldetect.models import digest_of
from halldetect.models.integrity import WEIGHTS
from halldetect.protocols import Extractor, Verifier
from halldetect.verification.verifiers.onnx import OnnxVerifier
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.meter import Meter
from halldetect_bench.methods import pairwise
from halldetect_bench.methods.ablation import Ablation
from halldetect_bench.methods.claim_splitters import LlmExtractor
from halldetect_bench.methods.embedding import EmbeddingDivergence, SelfCheck
from halldetect_bench.methods.halldetect_method import HallDetect
from halldetect_bench.methods.method import Method, Scored
from halldetect_bench.methods.one_prompt import OnePrompt
from halldetect_bench.methods.prompted import (
    AcuEval,
    FactScore,
    LlmCot,
    LongContext,
)
from halldetect_bench.methods.question_answering import QaFactEval
from halldetect_bench.methods.rouge import RougeL
from halldetect_bench.models import decoding
from halldetect_bench.models.embedders import Embedder, load_embedder
from halldetect_bench.models.llm import BatchLlm
from halldetect_bench.models.selection import RunModels, RunOptions
from halldetect_bench.predictions import (
    LATENCY,
    Prediction,
    PredictionsWriter,
    header_of,
    open_predictions,
    portable_command,
    prediction_of,
)
from halldetect_bench.registry import load_dataset
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
# Rows of each dataset for methods that ask a language model; of the first dataset all.
SHARED_ROWS = 200
LATENCY_ROWS = 60
# Of quick methods so many times as many: their energy is not measured in less than a second.
QUICK = 4
# Of the methods that write long texts.
SLOW_LATENCY_ROWS = 8
# Rows that a worker scores together: enough to fill batches, few enough to spread over workers.
CHUNK = 48
# Rows that ask a language model together.
LLM_BATCH = 1024
# The share of a GPU's memory for the weights of a language model.
MODEL_SHARE = 0.04
FIT = "fit:"
ROWS, BASE_FOLDER = "rows.jsonl.xz", "base"
Build = Callable[[], Method]


@dataclass(frozen=True)
class Job:
    """A method over rows of datasets."""

    name: str
    build: Build
    rows: dict[str, list[Row]]


# Rows


def prepare(options: argparse.Namespace) -> None:
    """Write the rows, and the weights of the package."""
    options.out.mkdir(parents=True, exist_ok=True)
    with lzma.open(options.out / ROWS, "wt", encoding="utf-8", preset=6) as file:
        for name in DATASETS:
            rows = load_dataset(name, options.data).rows
            write_rows(file, name, rows)
            print(f"{name}: {len(rows)} rows", flush=True)
        for name in summac_conv.DATA:
            write_rows(file, f"{FIT}{name}", load_dataset(name, options.data).rows)
    for name, folder in (options.base or {BASE_FOLDER: WEIGHTS / BASE}).items():
        prepare_base(folder, options.out / name)


def weights(options: argparse.Namespace) -> None:
    """Write the weights of a student that was just trained, or of what it was exported to."""
    if (options.weights / "model.onnx").is_file():
        prepare_base(options.weights, options.out)
    else:
        prepare_student(options.weights, options.shipped, options.out, options.temperature)


def write_rows(file: TextIO, name: str, rows: Sequence[Row]) -> None:
    """Append rows of a dataset as JSON lines."""
    for row in rows:
        file.write(json.dumps({"name": name, "row": asdict(row)}) + "\n")


def read_rows(path: Path, limit: int | None = None) -> dict[str, list[Row]]:
    """The rows of each dataset, at most `limit` of each."""
    found: dict[str, list[Row]] = {}
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            row = record["row"]
            if isinstance(row["source"], list):
                row["source"] = tuple(row["source"])
            row["sentences"] = tuple((text, wrong) for text, wrong in row["sentences"])
            found.setdefault(record["name"], []).append(Row(**row))
    return {name: sample(rows, limit, SEED) for name, rows in found.items()}


def evaluated(rows: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Without the rows to fit on."""
    return {name: found for name, found in rows.items() if not name.startswith(FIT)}


def shared(rows: dict[str, list[Row]], count: int) -> dict[str, list[Row]]:
    """The sample that all methods share which ask a language model."""
    return {
        name: found if name == FIRST else sample(found, count, SEED) for name, found in rows.items()
    }


# The verifiers


class Verifiers:
    """`base` and `large`, each with its network here or in another process."""

    def __init__(self, options: argparse.Namespace) -> None:
        """options: of the command line."""
        self.device: str = options.device
        self._folder: Path = options.prepared / options.base_folder
        self._gguf: Path | None = options.large
        self._adapter_folder: Path = options.large_weights or WEIGHTS / LARGE
        self._backend: Any = None
        if self._gguf is not None:
            remote = RemoteBackend(f"torch on {self.device}")
            self._digest = digest_of(self._gguf)
            self.large, self._model, self._adapter = large_texts(
                self._gguf, self._adapter_folder, remote, self._digest
            )
        self.student = self._folder / STUDENT

    @property
    def has_large(self) -> bool:
        """Whether the large verifier was asked for."""
        return self._gguf is not None

    @property
    def _on(self) -> dict[str, str]:
        precision = "float16" if self.device == "cuda" else "float32"
        return {"kind": "torch", "precision": precision, "device": self.device}

    @cached_property
    def remote_base(self) -> BaseTexts:
        """`base` with its network in another process."""
        return BaseTexts(self._folder, self._on)

    @cached_property
    def network(self) -> BaseNetwork:
        """The network of `base`, here."""
        return BaseNetwork(self._folder, self.device)

    @cached_property
    def local_base(self) -> BaseTexts:
        """`base` with its network in this process."""
        return BaseTexts(self._folder, self._on, self.network.answer)

    def forget(self) -> None:
        """Judge every pair anew from now on: for measuring time."""
        if "network" in vars(self):
            self.network.forget()

    @cached_property
    def backend(self) -> Any:
        """The network of `large`, here."""
        from halldetect.large.torch_backend import torch_backend

        return torch_backend(
            self._model,
            self._adapter,
            self.large.prompt.answers,
            device=self.device,
            step_tokens=65_536,
        )

    @cached_property
    def local_large(self) -> LargeVerifier:
        """`large` with its network in this process; on a CPU on the runtime that users get."""
        assert self._gguf is not None
        if self.device == "cpu":
            adapter = self._adapter_folder / "adapter.lora8"
            context = min(CONTEXT, Shape.of(self._model).context)
            return load_large(self._gguf, adapter, context=context, base_sha256=self._digest)
        return large_texts(self._gguf, self._adapter_folder, self.backend, self._digest)[0]

    def judge(self) -> dict[str, Callable[[list[Any]], list[Any]]]:
        """What answers the requests of workers, by the name of the model."""
        judges: dict[str, Callable[[list[Any]], list[Any]]] = {BASE: self.network.judge}
        if self.has_large:
            judges[LARGE] = self._answer_large
        return judges

    def _answer_large(self, requests: list[Any]) -> list[Any]:
        answers = iter(self.backend.answer([group for groups in requests for group in groups]))
        return [[next(answers) for _ in groups] for groups in requests]


def detecting(
    verifier: Verifier,
    config: Configuration | None = None,
    extractor: Extractor | None = None,
    name: str = "halldetect",
    *,
    explanations: bool = False,
) -> HallDetect:
    """The detector on a verifier, with the configuration that a user would write."""
    chosen = config or Configuration()
    detector = Detector(extractor, verifier, config=chosen)
    large = verifier.description["name"] == LARGE
    detector.configuration = chosen.replaced(
        verifier=LARGE if large else chosen.verifier,
        extractor=detector.configuration.extractor,
    )
    return HallDetect(detector, name, explanations=explanations)


# Methods on a verifier, over all rows


class Histograms:
    """Not a method: what SummaC-Conv's layer is fitted on."""

    description = {"name": "histograms"}  # noqa: RUF012

    def __init__(self, verifier: Verifier) -> None:
        """verifier: judges."""
        self._verifier = verifier

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """A mean histogram per row, in the details."""
        found = pairwise.mean_histograms(rows, self._verifier)
        return [Scored(None, details={"spread": spread}) for spread in found]


def first_jobs(
    verifiers: Verifiers, rows: dict[str, list[Row]], drafts: Sequence[Path], count: int
) -> list[Job]:
    """What the main tables need."""
    base = verifiers.remote_base
    every = evaluated(rows)
    fitted_on = {name: found for name, found in rows.items() if name.startswith(FIT)}
    jobs = [
        Job("halldetect", lambda: detecting(base), every),
        Job("histograms", lambda: Histograms(base), fitted_on),
        Job("nli-only", lambda: pairwise.NliOnly(base), every),
        Job("minicheck", lambda: pairwise.MiniCheck(base), every),
        *(job for file in drafts for job in drafted_jobs(base, file, shared(every, count))),
    ]
    if verifiers.has_large:
        large = verifiers.large
        jobs += [
            Job("halldetect, large", lambda: detecting(large), every),
            Job("nli-only, large", lambda: pairwise.NliOnly(large), every),
            Job("one-prompt, large", lambda: OnePrompt(large), every),
        ]
    return [
        *jobs,
        Job("alignscore", lambda: pairwise.AlignScore(base), every),
        Job("summac-zs", lambda: pairwise.SummacZs(base), every),
        Job("rouge-l", RougeL, every),
    ]


def drafted_jobs(base: Verifier, file: Path, few: dict[str, list[Row]]) -> list[Job]:
    """The detector on the claims of a language model, for the rows that have drafts."""
    extractor = DraftedExtractor(file)
    rows = {
        name: [row for row in found if row.response in extractor.responses]
        for name, found in few.items()
    }
    paper = Configuration.paper(verifier=BASE, seed=SEED)
    jobs = [Job("paper", lambda: detecting(base, paper, extractor, "paper"), rows)]
    if extractor.for_guard:
        jobs += [
            Job(name, partial(detecting, base, Configuration(guard=guard), extractor), rows)
            for name, guard in (("guard", True), ("no-guard", False))
        ]
    return jobs


def second_jobs(
    verifiers: Verifiers, rows: dict[str, list[Row]], layer: dict[str, Any] | None, count: int
) -> list[Job]:
    """What needs the fitted layer, and the ablations."""
    base = verifiers.remote_base
    every = evaluated(rows)
    models = RunModels(RunOptions(Configuration()))
    jobs = []
    if layer is not None:
        jobs.append(Job("summac-conv", lambda: pairwise.SummacConv(base, layer), every))
    for name in ("auto", "whole", "sentences", "groups:2"):
        build = partial(Ablation, models.splitter(name), base)
        jobs.append(Job(f"ablation, {name}", build, every))
    if verifiers.has_large:
        large = verifiers.large
        few = shared(every, count)
        jobs.append(Job("ablation, large", lambda: Ablation(models.splitter("auto"), large), few))
    return jobs


def judge(options: argparse.Namespace) -> None:
    """Run the methods that need only a verifier."""
    clock = Clock(options.seconds)
    rows = read_rows(options.prepared / ROWS, options.limit)
    verifiers = Verifiers(options)
    spreads: list[tuple[Row, Any]] = []
    if verifiers.student.is_file():
        (options.out / STUDENT).write_bytes(verifiers.student.read_bytes())
    jobs = first_jobs(verifiers, rows, options.drafts, options.shared_rows)
    run_jobs(chosen(jobs, options), verifiers, options, clock, spreads)
    file = options.out / pairwise.SUMMAC_LAYER
    if not file.is_file() and spreads:
        fitted = fitted_layer(spreads, verifiers.remote_base.description)
        file.write_text(json.dumps(fitted) + "\n", encoding="utf-8")
    layer = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None
    jobs = second_jobs(verifiers, rows, layer, options.shared_rows)
    run_jobs(chosen(jobs, options), verifiers, options, clock, spreads)
    network = verifiers.network
    print(f"{network.pairs:,} pairs, {network.tokens:,} tokens, {clock.spent:.0f} s", flush=True)


def fitted_layer(
    spreads: Sequence[tuple[Row, Any]], verifier: dict[str, Any]
) -> dict[str, Any] | None:
    """The layer of SummaC-Conv; None where no row could be read."""
    known = [(row, np.array(spread)) for row, spread in spreads if spread is not None]
    if not known:
        return None
    return summac_conv.layer(
        [spread for _, spread in known],
        [not row.hallucinated for row, _ in known],
        sorted({row.dataset for row, _ in known}),
        verifier,
    )


def run_jobs(
    jobs: Sequence[Job],
    verifiers: Verifiers,
    options: argparse.Namespace,
    clock: Clock,
    spreads: list[tuple[Row, Any]],
) -> None:
    """Score what is missing, on many workers; `spreads` gets what is to be fitted on."""
    methods = [job.build() for job in jobs]
    ordered = [
        {name: sorted(rows, key=lambda row: str(row.source)) for name, rows in job.rows.items()}
        for job in jobs
    ]

    def score(work: Work) -> list[Any]:
        rows = [ordered[work.job][work.dataset][place] for place in work.rows]
        found = methods[work.job].score_many(rows)
        if work.dataset.startswith(FIT):
            return [item.details["spread"] for item in found]
        return [without_time(row, item) for row, item in zip(rows, found, strict=True)]

    with ExitStack() as stack:
        books: dict[tuple[int, str], PredictionsWriter] = {}
        todo: list[Work] = []
        for number, method in enumerate(methods):
            for name, rows in ordered[number].items():
                places = list(range(len(rows)))
                if not name.startswith(FIT):
                    header = header_of(
                        name,
                        method.description,
                        command=options.command,
                        sample={"rows": len(rows), "of": options.counts[name], "seed": SEED},
                    )
                    book = stack.enter_context(open_predictions(options.out, header))
                    books[number, name] = book
                    left = {row.id for row in missing(rows, book.done, options.out / header.path)}
                    places = [place for place in places if rows[place].id in left]
                todo += [
                    Work(number, name, tuple(places[at : at + CHUNK]))
                    for at in range(0, len(places), CHUNK)
                ]
        rows_left = [0] * len(jobs)
        for work in todo:
            rows_left[work.job] += len(work.rows)

        def handed_out() -> Iterator[Work]:
            for work in todo:
                if clock.is_up:
                    return
                yield work

        def done(work: Work, found: Any) -> None:
            job = jobs[work.job]
            rows_left[work.job] -= len(work.rows)
            if isinstance(found, Failure):
                print(f"{job.name}, {work.dataset}: FAILED: {found.reason}", flush=True)
            elif work.dataset.startswith(FIT):
                rows = ordered[work.job][work.dataset]
                spreads.extend(zip((rows[at] for at in work.rows), found, strict=True))
            else:
                for prediction in found:
                    books[work.job, work.dataset].append(prediction)
            if rows_left[work.job] == 0:
                print(f"{job.name}: done after {clock.spent:.0f} s", flush=True)

        # Workers are forked before anything touches the GPU.
        workers = Judges(options.workers, score)
        workers.run(handed_out(), verifiers.judge(), done)


def without_time(row: Row, scored: Scored) -> Prediction:
    """The prediction without seconds: rows of many methods were scored at the same time."""
    return prediction_of(row, replace(scored, cost=replace(scored.cost, seconds={})))


# Methods that ask a language model, over the shared sample


def chosen(jobs: Sequence[Job], options: argparse.Namespace) -> list[Job]:
    """The jobs that `--parts` names; all without it."""
    return [job for job in jobs if not options.parts or job.name in options.parts]


def asked_jobs(options: argparse.Namespace, rows: dict[str, list[Row]]) -> list[Job]:
    """The most important first."""
    few = shared(evaluated(rows), options.shared_rows)
    models = RunModels(RunOptions(Configuration(), llm=str(options.llm), device=options.device))

    def embedder() -> Embedder:
        return load_embedder(options.embedder, device=options.device)

    jobs = [
        Job("long-context", lambda: LongContext(models.llm), few),
        Job("llm-cot", lambda: LlmCot(models.llm), few),
        Job("qafacteval", lambda: QaFactEval(models.llm), few),
        Job("acueval", lambda: AcuEval(models.llm), few),
        Job("factscore", lambda: FactScore(models.llm), few),
        Job("selfcheck", lambda: SelfCheck(models.llm, embedder(), seed=SEED), few),
    ]
    if options.embedder:
        every = evaluated(rows)
        jobs.insert(0, Job("embedding", lambda: EmbeddingDivergence(embedder()), every))
    return chosen(jobs, options)


def limit_memory(options: argparse.Namespace) -> None:
    """Take no more of the GPU's memory than was given: a training may run beside."""
    decoding.GPU_SHARE = options.memory
    if options.device == "cuda":
        import torch

        torch.cuda.set_per_process_memory_fraction(options.memory + MODEL_SHARE)


def extract(options: argparse.Namespace) -> None:
    """Have a language model draft the claims of the shared rows."""
    clock = Clock(options.seconds)
    limit_memory(options)
    few = shared(evaluated(read_rows(options.prepared / ROWS, options.limit)), options.shared_rows)
    models = RunModels(RunOptions(Configuration(), llm=str(options.llm), device=options.device))
    assert isinstance(models.llm, BatchLlm)
    count = write_drafts(
        options.drafts,
        models.llm,
        [row.response for _, row in mixed(few)],
        guard=options.guard,
        seed=SEED,
        at_once=LLM_BATCH,
        is_up=lambda: clock.is_up,
    )
    print(f"{options.drafts.name}: {count} responses, done after {clock.spent:.0f} s", flush=True)


def mixed(rows: dict[str, list[Row]]) -> list[tuple[str, Row]]:
    """The rows of all datasets: of each about the same share at any place."""
    placed = [
        (at / len(found), name, row) for name, found in rows.items() for at, row in enumerate(found)
    ]
    placed.sort(key=lambda item: item[0])
    return [(name, row) for _, name, row in placed]


def generate(options: argparse.Namespace) -> None:
    """Run the methods that ask a language model."""
    clock = Clock(options.seconds)
    limit_memory(options)
    rows = read_rows(options.prepared / ROWS, options.limit)
    for job in asked_jobs(options, rows):
        if clock.is_up:
            print(f"{job.name}: left out, {clock.spent:.0f} s are over", flush=True)
            continue
        try:
            count = work_through(job, options, clock)
        except Exception as error:  # one failed job must not cost the others
            print(f"{job.name}: FAILED: {type(error).__name__}: {error}"[:400], flush=True)
            continue
        print(f"{job.name}: {count} rows, done after {clock.spent:.0f} s", flush=True)


def work_through(
    job: Job,
    options: argparse.Namespace,
    clock: Clock,
    folder: str = "",
    before: Callable[[], None] = lambda: None,
) -> int:
    """Score the rows that are missing; with a folder, one at a time and with what that costs.

    before: is called before the rows of a call.
    """
    method = job.build()
    out = options.out / folder
    meter = Meter()
    size = 1 if folder else LLM_BATCH
    with ExitStack() as stack:
        books: dict[str, PredictionsWriter] = {}
        left: dict[str, set[str]] = {}
        for name, rows in job.rows.items():
            drawn = {"rows": len(rows), "of": options.counts[name], "seed": SEED}
            header = header_of(name, method.description, command=options.command, sample=drawn)
            books[name] = stack.enter_context(open_predictions(out, header))
            left[name] = {row.id for row in missing(rows, books[name].done, out / header.path)}
        todo = [(name, row) for name, row in mixed(job.rows) if row.id in left[name]]
        if folder and todo:
            method.score_many([todo[0][1]])  # the first call of all also loads and warms up
        done = 0
        for at in range(0, len(todo), size):
            if clock.is_up:
                break
            part = todo[at : at + size]
            before()
            with meter.measure(len(part)):
                found = method.score_many([row for _, row in part])
            for (name, row), scored in zip(part, found, strict=True):
                written = (
                    prediction_of(row, scored, meter.last) if folder else without_time(row, scored)
                )
                books[name].append(written)
            done += len(part)
    return done


# Rows one at a time


def latency(options: argparse.Namespace) -> None:
    """Time rows one at a time; nothing else may run on the machine."""
    clock = Clock(options.seconds)
    rows = evaluated(read_rows(options.prepared / ROWS, options.limit))
    few, many = (
        {name: sample(rows[name], times * options.latency_rows, SEED) for name in (FIRST, "wice")}
        for times in (1, QUICK)
    )
    slow = {FIRST: sample(rows[FIRST], min(SLOW_LATENCY_ROWS, options.latency_rows), SEED)}
    on_cpu = options.device == "cpu"
    some = slow if on_cpu else few
    verifiers = Verifiers(options)
    base: Verifier = (
        verifiers.local_base
        if options.shipped is None
        else OnnxVerifier(options.shipped, name=BASE)
    )
    jobs = [
        Job("halldetect", lambda: detecting(base, explanations=True), few),
        Job("halldetect, scores only", lambda: detecting(base), few),
        Job("minicheck", lambda: pairwise.MiniCheck(base), many),
        Job("nli-only", lambda: pairwise.NliOnly(base), many),
    ]
    if verifiers.has_large:
        large = verifiers.local_large
        jobs += [
            Job("one-prompt, large", lambda: OnePrompt(large), some),
            Job("nli-only, large", lambda: pairwise.NliOnly(large), some),
            Job("halldetect, large", lambda: detecting(large, explanations=True), some),
            Job("halldetect, large, scores only", lambda: detecting(large), some),
        ]
    if options.llm is not None:
        # On a CPU in llama.cpp, as users run it.
        device = None if on_cpu else options.device
        models = RunModels(RunOptions(Configuration(), llm=str(options.llm), device=device))
        jobs += [
            Job("long-context", lambda: LongContext(models.llm), some),
            Job(
                "halldetect, claims of the model",
                lambda: detecting(base, None, LlmExtractor(models.llm, seed=SEED)),
                slow,
            ),
            Job("llm-cot", lambda: LlmCot(models.llm), slow),
        ]
    for job in jobs:
        if clock.is_up:
            print(f"{job.name}: left out", flush=True)
            continue
        try:
            folder = f"{LATENCY}-{options.latency_name}"
            work_through(job, options, clock, folder, verifiers.forget)
        except Exception as error:  # one failed job must not cost the others
            print(f"{job.name}: FAILED: {type(error).__name__}: {error}"[:400], flush=True)
            continue
        print(f"{job.name}, one at a time: done after {clock.spent:.0f} s", flush=True)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    actions = parser.add_subparsers(required=True)
    preparing = actions.add_parser("prepare")
    preparing.add_argument("--data", type=Path, required=True)
    preparing.add_argument("--out", type=Path, required=True)
    preparing.add_argument(
        "--base", type=_named_folder, action="append", help="NAME=FOLDER of other weights"
    )
    preparing.set_defaults(do=prepare)
    trained = actions.add_parser("weights")
    trained.add_argument("weights", type=Path, help="of training.base.train, or of its export")
    trained.add_argument(
        "--shipped", type=Path, default=WEIGHTS / BASE, help="has tokenizer.json and config.json"
    )
    trained.add_argument("--temperature", type=float, default=1.0, help="of the export")
    trained.add_argument("--out", type=Path, required=True)
    trained.set_defaults(do=weights)
    asking = {"extract": extract, "generate": generate}
    judging = {"judge": judge, "latency": latency}
    for name, function in (asking | judging).items():
        running = actions.add_parser(name)
        running.add_argument("--from", dest="prepared", type=Path, required=True)
        running.add_argument("--seconds", type=float, default=500)
        running.add_argument("--device", default="cuda")
        running.add_argument("--shared-rows", type=int, default=SHARED_ROWS)
        running.add_argument("--limit", type=int, help="rows per dataset, for a trial run")
        if name != "extract":
            running.add_argument("--out", type=Path, required=True)
        if name != "judge":
            running.add_argument("--llm", type=Path, help="a GGUF file or a transformers folder")
        if name in judging:
            running.add_argument("--base-folder", default=BASE_FOLDER)
            running.add_argument("--large", type=Path, help="the GGUF file of large")
            running.add_argument(
                "--large-weights", type=Path, help="its adapter, if not the package's"
            )
        if name in asking:
            running.add_argument(
                "--memory", type=float, default=decoding.GPU_SHARE, help="share of the GPU's"
            )
        if name in ("judge", "generate"):
            running.add_argument("--parts", nargs="+", help="only the jobs of these names")
        if name == "extract":
            running.add_argument("--drafts", type=Path, required=True)
            running.add_argument("--guard", action="store_true", help="what the guard asks for too")
        if name == "judge":
            running.add_argument("--drafts", type=Path, action="append", default=[])
            running.add_argument("--workers", type=int, default=14)
        if name == "generate":
            running.add_argument("--embedder", help="a sentence-transformers folder")
        if name == "latency":
            running.add_argument(
                "--shipped", type=Path, help="weights as exported, on ONNX Runtime"
            )
            running.add_argument("--latency-rows", type=int, default=LATENCY_ROWS)
            running.add_argument("--latency-name", default="gpu")
        running.set_defaults(do=function)
    options = parser.parse_args()
    if options.do is prepare:
        options.base = dict(options.base or [])
    elif options.do in (judge, generate, latency):
        options.command = portable_command("python -m benchmarks.gpu_bench", sys.argv[1:])
        counted = read_rows(options.prepared / ROWS)
        options.counts = {name: len(found) for name, found in counted.items()}
        options.out.mkdir(parents=True, exist_ok=True)
    options.do(options)


def _named_folder(text: str) -> tuple[str, Path]:
    name, _, folder = text.partition("=")
    return name, Path(folder)


if __name__ == "__main__":
    main()
