"""How well responses are repaired, and how much of faithful ones is left alone.

    HALLDETECT_DATA=DIR python -m benchmarks.repair --rows 40
    HALLDETECT_DATA=DIR python -m benchmarks.repair --rows 400 --judge large --rewriter gguf
    HALLDETECT_DATA=DIR python -m benchmarks.repair --verifier large --judge base --out FILE

Per dataset, half of the rows are hallucinated and half faithful, chosen by a seed. Ways to
repair: `rules` (replace, shorten, remove), `model` (the same with a language model, with
--rewriter), and two baselines: `delete` removes each sentence that fails the check, `blind` has
the language model write the failing sentences again without evidence and takes what it writes.

For each way: the share of hallucinated responses that were flagged at all; the share that another
verifier (--judge) calls faithful before and after; the share of words of faithful responses that
is left alone; seconds per response, and of the processor; for DeFacto the closeness to the human
correction, as the share of words in common, in order (2 x common / all words of both), before and
after.

Writes benchmarks/results/repair.json, figures only.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.machine import processor
from halldetect import Detector, Status, Verdict
from halldetect.inputs import Pair
from halldetect.repair.outcome import Method
from halldetect.repair.repairer import STEPS, Repairer
from halldetect.repair.rewriters import Rewriter, first_sentence, load_rewriter
from halldetect.text.sentences import read_document
from halldetect.verification.remembering import RememberingVerifier
from halldetect_bench.datasets import defacto
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.registry import data_root, load_dataset

RESULTS = Path(__file__).parent / "results" / "repair.json"
DATASETS = ("defacto", "bump", "qags-cnndm", "summedits")
# A way to repair: the new text, None if there is none, and whether the response was flagged.
Repaired = tuple[str | None, bool]
Way = Callable[[Row], Repaired]


def by_steps(detector: Detector, steps: Iterable[Method], rewriter: Rewriter | None = None) -> Way:
    """Our repair with some of its steps; none of them removes each sentence that fails."""

    def repair(row: Row) -> Repaired:
        remembering = copy(detector)
        remembering.verifier = RememberingVerifier(detector.verifier)
        repairer = Repairer(remembering, rewriter, steps=tuple(steps))
        outcome = repairer.repair(Pair(row.source, row.response, row.question))
        return outcome.text, outcome.original.verdict is Verdict.HALLUCINATED

    return repair


def blindly(detector: Detector, rewriter: Rewriter) -> Way:
    """A language model writes the failing sentences again, with no passage, and is believed."""

    def repair(row: Row) -> Repaired:
        report = detector.check(row.source, row.response)
        wrong = [claim.span for claim in report.claims if claim.status is not Status.SUPPORTED]
        text = report.response
        for sentence in reversed(read_document(text).sentences):
            if any(
                span and span.start < sentence.end and sentence.start < span.end for span in wrong
            ):
                before = sentence.cut(text)
                after = first_sentence(rewriter.rewrite(before, "(none)")) or before
                text = text[: sentence.start] + after + text[sentence.end :]
        return text, report.verdict is Verdict.HALLUCINATED

    return repair


@dataclass(frozen=True, slots=True)
class Measured:
    """One response and what a way to repair made of it."""

    row: Row
    text: str | None
    flagged: bool
    seconds: float
    cpu_seconds: float


def common_words(before: str, after: str) -> int:
    """The number of words that two texts have in common, in order."""
    matcher = SequenceMatcher(None, before.split(), after.split(), autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def closeness(left: str, right: str) -> float:
    """Twice the words in common over all words of both."""
    return 2 * common_words(left, right) / max(1, len(left.split()) + len(right.split()))


def sample(rows: Iterable[Row], count: int, seed: int) -> list[Row]:
    """So many rows, half of them hallucinated as far as there are enough."""
    shuffled = sorted(rows, key=lambda row: row.id)
    random.Random(seed).shuffle(shuffled)
    wrong = [row for row in shuffled if row.hallucinated][: count // 2]
    right = [row for row in shuffled if row.hallucinated is False][: count - len(wrong)]
    return wrong + right


def figures(
    measured: list[Measured], judge: Detector | None, corrected: dict[str, str]
) -> dict[str, Any]:
    """The figures of one way on one dataset."""
    wrong = [item for item in measured if item.row.hallucinated]
    right = [item for item in measured if not item.row.hallucinated]
    words = sum(len(item.row.response.split()) for item in right)
    kept = sum(common_words(item.row.response, item.text or "") for item in right)
    result: dict[str, Any] = {
        "hallucinated": len(wrong),
        "faithful": len(right),
        "flagged": _share(item.flagged for item in wrong),
        "no_text": _share(item.text is None for item in wrong),
        "words_left_alone": round(kept / max(1, words), 4),
        "seconds": round(fmean(item.seconds for item in measured), 2),
        "cpu_seconds": round(fmean(item.cpu_seconds for item in measured), 2),
    }
    if judge is not None:
        result["judged_faithful_before"] = _share(
            judge.check(item.row.source, item.row.response).ok for item in wrong
        )
        result["judged_faithful_after"] = _share(
            item.text is not None and judge.check(item.row.source, item.text).ok for item in wrong
        )
    known = [item for item in wrong if item.row.id in corrected]
    if known:
        result["closeness_before"] = round(
            fmean(closeness(item.row.response, corrected[item.row.id]) for item in known), 4
        )
        result["closeness_after"] = round(
            fmean(closeness(item.text or "", corrected[item.row.id]) for item in known), 4
        )
    return result


def _share(values: Iterable[bool]) -> float:
    return round(fmean([float(value) for value in values] or [0.0]), 4)


def measure(arguments: argparse.Namespace) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """The figures of a run: dataset, way, figures."""
    detector = Detector(verifier=_verifier(arguments.verifier))
    judge = Detector(verifier=_verifier(arguments.judge)) if arguments.judge else None
    ways: dict[str, Way] = {
        "rules": by_steps(detector, STEPS),
        "delete": by_steps(detector, ()),
    }
    if arguments.rewriter:
        rewriter = load_rewriter(arguments.rewriter)
        ways["model"] = by_steps(detector, STEPS, rewriter)
        ways["blind"] = blindly(detector, rewriter)
    for name in arguments.datasets:
        rows = sample(load_dataset(name).rows, arguments.rows, arguments.seed)
        corrected: dict[str, str] = {}
        if name == "defacto":
            fixed = defacto.corrections(data_root() / "defacto", "test").rows
            corrected = {row.id.removesuffix("/corrected"): row.response for row in fixed}
        for way, repair in ways.items():
            measured = []
            for row in rows:
                started, used = time.perf_counter(), time.process_time()
                text, flagged = repair(row)
                seconds, cpu = time.perf_counter() - started, time.process_time() - used
                measured.append(Measured(row, text, flagged, seconds, cpu))
            yield name, way, figures(measured, judge, corrected)


def _verifier(name: str | None) -> str | None:
    return None if name == "base" else name


def main() -> None:
    """Measure and write the results file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=40, help="rows per dataset")
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--verifier", default="base", help="what the repair is checked with")
    parser.add_argument("--judge", help="another verifier, which judges the outcome")
    parser.add_argument("--rewriter", help="gguf, gguf:NAME or openai:MODEL")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    results: dict[str, Any] = {
        "command": {key: value for key, value in vars(arguments).items() if key != "out"},
        "processor": processor(),
        "datasets": {},
    }
    for dataset, way, measured in measure(arguments):
        results["datasets"].setdefault(dataset, {})[way] = measured
        arguments.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
        print(dataset, way, measured, flush=True)


if __name__ == "__main__":
    main()
