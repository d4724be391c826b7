"""Measure the findings by rule: disputes between documents, and the marked words of responses.

    python -m benchmarks.findings disputes                    tests/data/disputes.jsonl
    python -m benchmarks.findings numbers --data DIR
    python -m benchmarks.findings words --data DIR [--rows 100]

`disputes` counts disputed claims that are found, and undisputed ones that are called disputed.
`numbers` counts the labelled sentences of RAGTruth's training half that would fail for a number if
the verifier gave each a support of 0.9; it loads no model.
`words` draws responses with marked spans from the test parts of RAGTruth and compares, character by
character, the marks of flagged responses: `wrong` of each failing claim (the whole claim if it has
none) beside whole failing claims, with bootstrap intervals of F1 over responses. Writes
benchmarks/results/findings.json; no text.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.suites import DATA
from halldetect.detector import Detector
from halldetect.explanation.explain import Findings
from halldetect.findings.numbers import check_numbers
from halldetect.inputs import Pair, clean_pair, read_texts
from halldetect.reading.claims import read_claims
from halldetect.reading.document import Span
from halldetect.report import ClaimReport, Report, Status
from halldetect.scoring import Calibration
from halldetect_bench.registry import load_dataset

RESULTS = Path(__file__).parent / "results" / "findings.json"
DATASETS = ("ragtruth-selection-qa", "ragtruth-selection-summary", "ragtruth-selection-data2txt")
RESAMPLES = 1000


def disputes(detector: Detector) -> dict[str, Any]:
    """Return how many disputes are found and how many are false."""
    lines = (DATA / "disputes.jsonl").read_text(encoding="utf-8").splitlines()
    entries = [json.loads(line) for line in lines]
    pairs = [
        Pair(
            [{"id": name, "text": text} for name, text in entry["documents"].items()],
            entry["claim"],
        )
        for entry in entries
    ]
    found = [bool(report.disputed) for report in detector.check_many(pairs)]
    marked = [entry["disputed"] for entry in entries]
    hits = sum(mark and hit for mark, hit in zip(marked, found, strict=True))
    return {
        "disputed": sum(marked), "found": hits, "undisputed": len(marked) - sum(marked),
        "false": sum(found) - hits,
    }  # fmt: skip


def numbers(data: str) -> dict[str, Any]:
    """Return the right and wrong sentences, and those with an unknown number."""
    counts: Counter[str] = Counter()
    for name in ("ragtruth-selection-qa-train", "ragtruth-selection-summary-train"):
        for row in load_dataset(name, root=data).rows:
            labels = [(text, wrong) for text, wrong in row.sentences if text in row.response]
            pair = clean_pair(Pair(row.source, row.response, row.question))
            read = read_texts(pair)
            claims = read_claims(read.response)
            reports = tuple(
                ClaimReport(claim.text, claim.span, None, Status.SUPPORTED, None, 0.9)
                for claim in claims
            )
            item = Findings(
                claims, reports, read.documents, length=len(claims),
                response=pair.response, question=pair.question or "",
            )  # fmt: skip
            (found,) = check_numbers([item], lambda *_, **__: [[]], Calibration())
            for claim in found.reports:
                wrong = any(bad and claim.text in text for text, bad in labels)
                right = any(not bad and claim.text in text for text, bad in labels)
                if wrong or right:
                    counts["wrong" if wrong else "right"] += 1
                    counts[f"{'wrong' if wrong else 'right'}_unknown"] += claim.failing
    return dict(sorted(counts.items()))


def _documents(entry: dict[str, Any]) -> list[dict[str, str]]:
    return [{"id": name, "text": text} for name, text in entry["documents"].items()]


def marks(report: Report, *, words: bool) -> set[int]:
    """Return the marked characters of a response."""
    places: list[Span] = []
    for claim in report.claims:
        if claim.failing and claim.span is not None:
            spans = [item.span for item in claim.wrong if item.span] if words else []
            places += spans or [claim.span]
    return {at for span in places for at in range(span.start, span.end)}


def f1(counts: Sequence[tuple[int, int, int]]) -> float:
    """Return F1 over (shared, marked, gold) characters of some responses."""
    shared, marked, gold = (sum(column) for column in zip(*counts, strict=True))
    return 2 * shared / (marked + gold) if marked + gold else 0.0


def words(detector: Detector, data: str, rows: int) -> dict[str, Any]:
    """Return precision, recall and F1 of marked words and of whole claims."""
    drawn = [row for name in DATASETS for row in load_dataset(name, root=data).rows if row.spans]
    random.Random(0).shuffle(drawn)
    counts: dict[str, list[tuple[int, int, int]]] = {"words": [], "claims": []}
    for row in drawn[:rows]:
        report = detector.check(row.source, row.response, question=row.question)
        if not any(claim.failing for claim in report.claims):
            continue
        gold = {at for start, end in row.spans for at in range(start, end)}
        for name, found in counts.items():
            marked = marks(report, words=name == "words")
            found.append((len(marked & gold), len(marked), len(gold)))
    chance = random.Random(0)
    figures: dict[str, Any] = {"responses": rows, "flagged": len(counts["words"])}
    for name, found in counts.items():
        shared, marked, gold = (sum(column) for column in zip(*found, strict=True))
        drawn_again = sorted(f1(chance.choices(found, k=len(found))) for _ in range(RESAMPLES))
        figures[name] = {
            "precision": round(shared / marked, 4), "recall": round(shared / gold, 4),
            "f1": round(f1(found), 4),
            "interval": [round(drawn_again[25], 4), round(drawn_again[-26], 4)],
        }  # fmt: skip
    return figures


def main() -> None:
    """Measure, print and store the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("disputes", "numbers", "words"))
    parser.add_argument("--data", default="data", help="the folder of the datasets")
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--verifier", default="base")
    options = parser.parse_args()
    detector = Detector(verifier=options.verifier)
    if options.what == "disputes":
        figures = disputes(detector)
    elif options.what == "numbers":
        figures = numbers(options.data)
    else:
        figures = words(detector, options.data, options.rows)
    known = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.is_file() else {}
    known |= {f"{options.what} {options.verifier}": figures}
    RESULTS.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
