"""Measure the quality of repairs, and the unchanged share of faithful responses.

    python -m benchmarks.repair DATA --verifier base --judge large --rows 100

Rows of each dataset are drawn by a seed, half of them hallucinated. They are repaired with one
verifier in several ways, and the other verifier judges the outcomes:

    rules    replace, shorten, remove
    careful  the same at the operating point "precision": uncertain parts are kept

Figures of a way: the shares of hallucinated responses that were flagged and that lost all text; the
share that the judge calls faithful before and after; the share of words kept in faithful and in
hallucinated responses; seconds per response. benchmarks/results/repair.json holds them, a section
per verifier, with the figures of ways that are no longer measured.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.store import command, processor, store, stored
from halldetect import Detector, Verdict
from halldetect.inputs import Pair
from halldetect.repair.repairer import Repairer
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.registry import load_dataset

DATASETS = ("defacto", "bump", "qags-cnndm", "summedits")


@dataclass(frozen=True, slots=True)
class Outcome:
    """The repair of a response; no text is left if `text` equals None."""

    row: Row
    text: str | None
    flagged: bool
    seconds: float = 0.0


def sample(rows: Iterable[Row], count: int, seed: int) -> list[Row]:
    """Return a number of rows, half of them hallucinated if enough are."""
    shuffled = sorted(rows, key=lambda row: row.id)
    random.Random(seed).shuffle(shuffled)
    wrong = [row for row in shuffled if row.hallucinated][: count // 2]
    right = [row for row in shuffled if row.hallucinated is False][: count - len(wrong)]
    return wrong + right


def repairers(verifier: str, device: str) -> dict[str, Repairer]:
    """Return the ways to repair by name."""
    plain = Detector(verifier=verifier, device=device)
    precise = Detector(verifier=verifier, device=device, threshold="precision")
    return {"rules": Repairer(plain), "careful": Repairer(precise)}


def outcome_of(row: Row, repairer: Repairer) -> Outcome:
    """Repair a response."""
    began = time.perf_counter()
    found = repairer.repair(Pair(row.source, row.response))
    flagged = found.original.verdict is Verdict.HALLUCINATED
    return Outcome(row, found.text, flagged, time.perf_counter() - began)


def common_words(before: str, after: str) -> int:
    """Count the words that two texts have in common, in order."""
    matcher = SequenceMatcher(None, before.split(), after.split(), autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks())


def words_left(items: Sequence[Outcome]) -> float | None:
    """Return the share of the responses' words in their repairs; None without words."""
    words = sum(len(item.row.response.split()) for item in items)
    kept = sum(common_words(item.row.response, item.text or "") for item in items)
    return round(kept / words, 4) if words else None


def share(values: Iterable[bool]) -> float | None:
    """Return the share of true values; None without values."""
    found = [float(value) for value in values]
    return round(fmean(found), 4) if found else None


def figures(items: Sequence[Outcome]) -> dict[str, Any]:
    """Return the figures of one way on one dataset, without the judge's."""
    wrong = [item for item in items if item.row.hallucinated]
    right = [item for item in items if not item.row.hallucinated]
    return {
        "hallucinated": len(wrong),
        "faithful": len(right),
        "flagged": share(item.flagged for item in wrong),
        "flagged_of_faithful": share(item.flagged for item in right),
        "no_text": share(item.text is None for item in wrong),
        "words_left_in_faithful": words_left(right),
        "words_left_in_hallucinated": words_left(wrong),
        "seconds": round(fmean(item.seconds for item in items), 2),
    }


def judged(items: Sequence[Outcome], judge: Detector) -> dict[str, Any]:
    """Return the verdicts of another verifier on hallucinated responses, before and after."""
    wrong = [item for item in items if item.row.hallucinated]
    texts = [(item, text) for item in wrong for text in (item.row.response, item.text) if text]
    reports = judge.check_many([Pair(item.row.source, text) for item, text in texts])
    good = {
        (item.row.id, text): report.ok for (item, text), report in zip(texts, reports, strict=True)
    }
    return {
        "faithful_before": share(good[item.row.id, item.row.response] for item in wrong),
        "faithful_after": share(good.get((item.row.id, item.text or ""), False) for item in wrong),
    }


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Repair and judge the rows of all datasets."""
    judge = Detector(verifier=options.judge, device=options.device)
    found: dict[str, Any] = {}
    ways = repairers(options.verifier, options.device)
    for dataset in options.datasets:
        rows = sample(load_dataset(dataset, options.data).rows, options.rows, options.seed)
        for way, repairer in ways.items():
            items = [outcome_of(row, repairer) for row in rows]
            told = {**figures(items), "judged_by": {options.judge: judged(items, judge)}}
            found.setdefault(way, {})[dataset] = told
            print(way, dataset, json.dumps(told), flush=True)
    return found


def main() -> None:
    """Run the command."""
    parser = command(__doc__, "repair.json")
    parser.add_argument("data", type=Path, help="the folder of the datasets")
    parser.add_argument("--verifier", default="base", help="repairs")
    parser.add_argument("--judge", default="large", help="judges the outcomes")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--rows", type=int, default=100, help="rows per dataset")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    written = stored(options.out)
    written["processor"] = processor()
    written.setdefault("verifiers", {})[options.verifier] = measure(options)
    store(options.out, written)


if __name__ == "__main__":
    main()
