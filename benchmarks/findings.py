"""Measure the findings: disputes, identifiers, missing statements, wrong words and their time.

    python -m benchmarks.findings disputes|identifiers|missing         the files of tests/data
    python -m benchmarks.findings time --data DIR [--rows 60]
    python -m benchmarks.findings words --data DIR [--rows 60] [--train] [--jobs 4] [--kept FILE]
    python -m benchmarks.findings words --faithbench CLONE [--rows 60] [--jobs 4] [--kept FILE]

`disputes`, `identifiers` and `missing` count what is found and what is found falsely. `time` is
the processor time that all findings of a default check add to the rest of it: for rows of RAGTruth,
answers from two documents, and disputes, whose sources have a sentence or two.

`words` compares, character by character, the marks of all responses with those of people, on the
test parts of RAGTruth, with `--train` on its training half, or with a clone of vectara/FaithBench
on the spans that any of its annotators called unwanted: whole sentences with a failing
claim, the failing claims, their wrong words by rule (the whole claim if there are none), and those
found by removal too. Intervals of F1 are from bootstrap samples of the sources. `removal_ratio` is
the processor time of a check with that search over the time without it.

`--rows` takes all answers to some sources, in turn from each dataset, by a fixed seed. `--kept`
names a file of finished rows, which an interrupted measurement takes up again. `--jobs` is the
number of processes. Options of the verifier: `benchmarks.verifiers`. Writes
benchmarks/results/findings.json; no text.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from itertools import chain, zip_longest
from multiprocessing import get_context
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.store import command, entries, store, stored
from benchmarks.suites import suite_rows
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import pipeline
from halldetect.calls import BLOCK
from halldetect.detector import Detector
from halldetect.faults.wrong_words import find_words
from halldetect.inputs import Pair
from halldetect.reading.document import Span
from halldetect.reading.sentences import sentences
from halldetect.report import ClaimReport, ErrorKind, Report
from halldetect_bench.datasets.labelled_rows import Row, digest
from halldetect_bench.registry import load_dataset

DATASETS = ("ragtruth-selection-qa", "ragtruth-selection-summary", "ragtruth-selection-data2txt")
TRAINED = ("ragtruth-selection-qa-train", "ragtruth-selection-summary-train")
RESAMPLES = 1000
# Characters that are marked rightly, marked, and marked by people.
Counts = tuple[int, int, int]


def disputes(detector: Detector) -> dict[str, Any]:
    """Return how many disputes are found and how many are false."""
    found = [bool(report.disputed) for report in detector.check_many(disputed_pairs())]
    marked = [entry["disputed"] for entry in entries("disputes")]
    hits = sum(mark and hit for mark, hit in zip(marked, found, strict=True))
    return {
        "disputed": sum(marked), "found": hits, "undisputed": len(marked) - sum(marked),
        "false": sum(found) - hits,
    }  # fmt: skip


def disputed_pairs() -> list[Pair]:
    """Return the pairs of documents with their claim."""
    return [
        Pair(
            [{"id": name, "text": text} for name, text in entry["documents"].items()],
            entry["claim"],
        )
        for entry in entries("disputes")
    ]


def identifiers(detector: Detector) -> dict[str, Any]:
    """Return the answers with a true or invented identifier, those called invented or flagged."""
    counts: Counter[str] = Counter()
    for entry in entries("identifiers"):
        for side in ("true", "false"):
            for report in detector.check_many((entry["source"], text) for text in entry[side]):
                kinds = {item.kind for claim in report.claims for item in claim.wrong}
                counts[side] += 1
                counts[f"{side}_invented"] += ErrorKind.IDENTIFIER in kinds
                counts[f"{side}_flagged"] += not report.ok
    return dict(sorted(counts.items()))


def missing(detector: Detector) -> dict[str, Any]:
    """Return the complete and incomplete answers, those with missing statements, right ones."""
    counts: Counter[str] = Counter()
    for entry in entries("missing"):
        for side in ("complete", "incomplete"):
            report = detector.check(
                entry["source"], entry[side], question=entry["question"], missing=True
            )
            texts = [item.text for item in report.missing]
            counts[side] += 1
            counts[f"{side}_with_missing"] += bool(texts)
            counts["right_statement"] += side == "incomplete" and entry["missing"] in texts
    return dict(sorted(counts.items()))


def time_added(detector: Detector, data: str, limit: int | None) -> dict[str, Any]:
    """Return by set the processor time of checks, and what the findings add to the rest of it."""
    loaded = [load_dataset(name, root=data).rows for name in DATASETS]
    answers = [Pair(row.source, row.response, row.question) for row in chosen(loaded, limit)]
    rows = suite_rows("two_documents_independent")
    combined = [Pair(row.source, row.claim, row.question) for row in rows]
    detector.check_many(answers[:1])
    sets = {"ragtruth": answers, "two documents": combined, "disputes": disputed_pairs()}
    return {name: added(detector, pairs) for name, pairs in sets.items()}


def added(detector: Detector, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the seconds of some checks, and the share that the steps of the findings add."""
    spent = 0.0

    def timed(step: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any, **named: Any) -> Any:
            nonlocal spent
            began = time.process_time()
            found = step(*given, **named)
            spent += time.process_time() - began
            return found

        return run

    with ExitStack() as stack:
        for name in ("check_facts", "mark_wrong_words", "find_disputes"):
            stack.enter_context(patch.object(pipeline, name, timed(getattr(pipeline, name))))
        began = time.process_time()
        for pair in pairs:
            detector.check_many([pair])
        seconds = time.process_time() - began
    share = round(spent / (seconds - spent), 4)
    return {"checks": len(pairs), "seconds": round(seconds, 1), "added": share}


def marks(claims: Iterable[ClaimReport], *, words: bool) -> set[int]:
    """Return the characters of failing claims, or of their wrong words where there are any."""
    places: list[Span] = []
    for claim in claims:
        if claim.failing and claim.span is not None:
            spans = [item.span for item in claim.wrong if item.span] if words else []
            places += spans or [claim.span]
    return {at for span in places for at in range(span.start, span.end)}


def marks_by_way(report: Report, searched: Report) -> dict[str, set[int]]:
    """Return the marked characters of a response by way; `searched` has words by removal too."""
    claims = marks(report.claims, words=False)
    return {
        "sentences": {
            at
            for span in sentences(report.response)
            if claims & (inside := set(range(span.start, span.end)))
            for at in inside
        },
        "claims": claims,
        "words": marks(report.claims, words=True),
        "removal": marks(searched.claims, words=True),
    }


def f1(counts: Iterable[Counts]) -> float:
    """Return F1 over the counts of some responses."""
    shared, marked, gold = (sum(column) for column in zip(*counts, strict=True))
    return 2 * shared / (marked + gold) if marked + gold else 0.0


def chosen(loaded: Sequence[Sequence[Row]], limit: int | None) -> list[Row]:
    """Return the first rows of some datasets, by source in a random order, in turn from each."""
    order = []
    for rows in loaded:
        by_source: dict[str, list[Row]] = {}
        for row in rows:
            by_source.setdefault(row.document, []).append(row)
        groups = list(by_source.values())
        random.Random(0).shuffle(groups)
        order.append(groups)
    turns = chain.from_iterable(zip_longest(*order, fillvalue=[]))
    return list(chain.from_iterable(turns))[:limit]


def faithbench_rows(clone: Path) -> list[Row]:
    """Return the annotated summaries of FaithBench with the spans that anyone called unwanted."""
    rows = []
    for path in sorted((clone / "data_for_release").glob("*.json")):
        for sample in json.loads(path.read_text("utf-8"))["samples"]:
            spans = tuple(
                (one["summary_start"], one["summary_end"])
                for one in sample["annotations"]
                if any(label.startswith("Unwanted") for label in one["label"])
            )
            source, id = sample["source"], f"{path.stem}/{sample['sample_id']}"
            rows.append(
                Row("faithbench", id, source, sample["summary"], bool(spans),
                    document=digest(source), spans=spans)
            )  # fmt: skip
    return rows


def kept(path: Path | None) -> list[tuple[Any, ...]]:
    """Return the finished rows of a file; none without one."""
    if path is None or not path.exists():
        return []
    lines = path.read_text("utf-8").splitlines()
    return [tuple(json.loads(line)) for line in lines]


def compared(options: argparse.Namespace, rows: Sequence[Row]) -> list[tuple[Any, ...]]:
    """Return dataset, id, source, counts by way, seconds of check and removal of each row."""
    if not rows:
        return []
    detector = Detector(verifier=verifier_of(options))
    found = []
    block = 1 if options.device == "cpu" or options.verifier == "base" else BLOCK
    for start in range(0, len(rows), block):
        some = rows[start : start + block]
        began = time.process_time()
        reports = detector.check_many([(row.source, row.response, row.question) for row in some])
        checked = time.process_time()
        searched = find_words(reports, detector.verifier, detector.models.calibration)
        seconds = checked - began, time.process_time() - checked
        for row, report, more in zip(some, reports, searched, strict=True):
            gold = {at for begin, end in row.spans for at in range(begin, end)}
            sets = marks_by_way(report, more)
            counts = {
                way: (len(marked & gold), len(marked), len(gold)) for way, marked in sets.items()
            }
            found.append((row.dataset, row.id, row.document, counts, seconds))
            if options.kept:
                with options.kept.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found[-1]) + "\n")
        print(f"{start + len(some)} of {len(rows)}", flush=True)
    return found


def words(options: argparse.Namespace) -> dict[str, Any]:
    """Return precision, recall and F1 of marked words, claims and sentences."""
    names = TRAINED if options.train else DATASETS
    loaded = (
        [faithbench_rows(options.faithbench)]
        if options.faithbench
        else [load_dataset(name, root=options.data).rows for name in names]
    )
    rows = chosen(loaded, options.rows)
    wanted = {(row.dataset, row.id) for row in rows}
    found = [item for item in kept(options.kept) if item[:2] in wanted]
    done = {item[:2] for item in found}
    rest = [row for row in rows if (row.dataset, row.id) not in done]
    parts = [rest[at :: options.jobs] for at in range(options.jobs)]
    with ProcessPoolExecutor(options.jobs, mp_context=get_context("spawn")) as pool:
        run = map if options.jobs == 1 else pool.map
        found += chain.from_iterable(run(compared, [options] * len(parts), parts))
    checked, searched = map(sum, zip(*(item[-1] for item in found), strict=True))
    figures: dict[str, Any] = {
        "responses": len(found), "marked": sum(bool(row.spans) for row in rows),
        "sources": len({(dataset, source) for dataset, _, source, *_ in found}),
        "flagged": sum(counts["claims"][1] > 0 for *_, counts, _ in found),
        "removal_ratio": round(1 + searched / checked, 2),
    }  # fmt: skip
    for way in found[0][3]:
        figures[way] = dict(figures_of(found, way))
    return figures


def figures_of(found: Sequence[tuple[Any, ...]], way: str) -> Iterator[tuple[str, Any]]:
    """Yield precision, recall, F1 with its interval, and F1 by dataset, of one way to mark."""
    by_source: dict[str, list[Counts]] = {}
    by_dataset: dict[str, list[Counts]] = {}
    for dataset, _, source, counts, _ in found:
        by_source.setdefault(f"{dataset} {source}", []).append(counts[way])
        by_dataset.setdefault(dataset.removeprefix("ragtruth-selection-"), []).append(counts[way])
    every = [counts for some in by_source.values() for counts in some]
    shared, marked, gold = (sum(column) for column in zip(*every, strict=True))
    yield "precision", round(shared / (marked or 1), 4)
    yield "recall", round(shared / (gold or 1), 4)
    yield "f1", round(f1(every), 4)
    chance, groups = random.Random(0), list(by_source.values())
    drawn = sorted(
        f1(counts for some in chance.choices(groups, k=len(groups)) for counts in some)
        for _ in range(RESAMPLES)
    )
    yield "interval", [round(drawn[25], 4), round(drawn[-26], 4)]
    yield "by_dataset", {name: round(f1(some), 4) for name, some in sorted(by_dataset.items())}


def main() -> None:
    """Measure, print and store the figures."""
    measures = {"disputes": disputes, "identifiers": identifiers, "missing": missing}
    parser = command(__doc__, "findings.json")
    parser.add_argument("what", choices=(*measures, "time", "words"))
    add_verifier_options(parser)
    parser.add_argument("--data", default="data", help="the folder of the datasets")
    parser.add_argument("--faithbench", type=Path, help="a clone of vectara/FaithBench")
    parser.add_argument("--rows", type=int, help="default: all")
    parser.add_argument("--train", action="store_true", help="the training half")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--kept", type=Path, help="a file of finished rows, to continue")
    options = parser.parse_args()
    figures = words(options) if options.what == "words" else {}
    detector = Detector(verifier=verifier_of(options))
    if options.what == "time":
        figures = time_added(detector, options.data, options.rows)
    elif options.what in measures:
        figures = measures[options.what](detector)
    figures["weights"] = detector.verifier.description["digest"]
    part = " faithbench" if options.faithbench else " train" if options.train else ""
    known = stored(options.out) | {f"{options.what}{part} {options.verifier}": figures}
    store(options.out, known)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
