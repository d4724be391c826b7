"""Plain sentences, tables and formatted answers of our own: right ones passed, wrong ones caught.

    python -m benchmarks.plain --verifier base
    python -m benchmarks.plain --verifier large [--base BASE.gguf] [--suites plain]
    python -m benchmarks.plain --verifier auto      # from the stored results of the two

tests/data/README.md describes the suites. Each sentence is a response of its own. A right one
passes if its verdict is faithful, a wrong one is caught if its verdict is hallucinated. Half of the
sources are `development`; nothing is chosen on the other half, `report`. Writes
benchmarks/results/plain/VERIFIER.json with verdict and support of every sentence; no text.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.store import RESULTS, base_weights, command, entries, store, stored
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect.detector import Detector
from halldetect.inputs import Pair
from halldetect.machine.integrity import WEIGHTS, digest_of
from halldetect.report import Report, Verdict
from halldetect.verification.cascade import is_unsure
from halldetect.verification.presets import CASCADE, DEFAULT, LARGE

SUITES = ("plain", "tables", "formatted")
FOLDER = RESULTS / "plain"
RIGHT, WRONG = "right", "wrong"
Results = list[dict[str, Any]]
BLOCK = 48  # sentences a call, so that an interrupted run has said how far it is


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence, or a formatted answer, with its label."""

    suite: str
    id: str
    split: str
    form: str
    kind: str
    label: str
    pair: Pair

    def result(self, report: Report) -> dict[str, Any]:
        """Return what is stored of a checked sentence."""
        return {
            "suite": self.suite, "id": self.id, "split": self.split, "form": self.form,
            "kind": self.kind, "label": self.label, "verdict": report.verdict.value,
            "support": None if report.score is None else round(1 - report.score, 6),
            "supports": [claim.support for claim in report.claims],
            "unchecked": len(report.left_out),
        }  # fmt: skip


def sentences(suite: str) -> Iterator[Sentence]:
    """Yield the sentences of a suite."""
    for entry in entries(suite):
        split, form = entry["split"], entry["form"]
        if suite == "formatted":
            pair = Pair(entry["source"], entry["answer"], entry["question"])
            yield Sentence(suite, entry["id"], split, form, form, entry["label"], pair)
            continue
        for at, item in enumerate(_labelled(entry), 1):
            kind, pair = item["kind"], Pair(entry["documents"], item["text"])
            yield Sentence(suite, f"{entry['id']}-{at}", split, form, kind, item["label"], pair)


def _labelled(entry: dict[str, Any]) -> Iterator[dict[str, str]]:
    """Yield the sentences of an entry; those of a table are of the kind that they speak about."""
    for item in entry.get("claims", ()):
        yield {**item, "kind": item["about"]}
    for label in (RIGHT, WRONG):
        for item in entry.get(label, ()):
            yield {**item, "label": label}


def check(detector: Detector, items: Sequence[Sentence]) -> Results:
    """Check sentences in blocks, and say how far it is."""
    rows: Results = []
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK]
        reports = detector.check_many([item.pair for item in block])
        rows += [item.result(report) for item, report in zip(block, reports, strict=True)]
        print(f"{len(rows)} of {len(items)}", flush=True)
    return rows


def cascade(first: Results, second: Results) -> Results:
    """Return the results of `auto`: those of the second verifier where the first is unsure."""
    other = {(row["suite"], row["id"]): row for row in second}
    return [other[row["suite"], row["id"]] if is_unsure(row["supports"]) else row for row in first]


def is_right(row: dict[str, Any]) -> bool:
    """Return True if a right sentence passed, or a wrong one was caught."""
    wanted = Verdict.FAITHFUL if row["label"] == RIGHT else Verdict.HALLUCINATED
    return bool(row["verdict"] == wanted.value)


def shares(rows: Sequence[dict[str, Any]], field: str) -> dict[str, dict[str, list[int]]]:
    """Return, by a field, how many right ones passed and wrong ones were caught, of how many."""
    counts: dict[str, dict[str, list[int]]] = defaultdict(dict)
    for row in rows:
        count = counts[row[field]].setdefault(row["label"], [0, 0])
        count[0] += is_right(row)
        count[1] += 1
    return counts


def main() -> None:
    """Check the suites and store the verdicts."""
    parser = command(__doc__)
    add_verifier_options(parser)
    parser.add_argument("--suites", nargs="+", choices=SUITES, default=SUITES)
    options = parser.parse_args()
    path = FOLDER / f"{options.verifier}.json"
    kept = [row for row in stored(path).get("rows", ()) if row["suite"] not in options.suites]
    if options.verifier == CASCADE:
        first, second = (stored(FOLDER / f"{name}.json")["rows"] for name in (DEFAULT, LARGE))
        rows = [row for row in cascade(first, second) if row["suite"] in options.suites]
    else:
        detector = Detector(verifier_of(options) if options.base else options.verifier)
        rows = check(detector, [item for suite in options.suites for item in sentences(suite)])
    digests = {"base": base_weights(), "large": digest_of(WEIGHTS / "large" / "adapter.lora8")}
    store(path, {"verifier": options.verifier, "weights": digests, "rows": [*kept, *rows]})
    for split in ("development", "report"):
        for suite in options.suites:
            chosen = [row for row in rows if (row["suite"], row["split"]) == (suite, split)]
            for field in ("suite", "kind"):
                for name, counts in sorted(shares(chosen, field).items()):
                    texts = (f"{label} {a} of {b}" for label, (a, b) in sorted(counts.items()))
                    print(f"{split:12} {suite:10} {name:14}", ", ".join(texts))


if __name__ == "__main__":
    main()
