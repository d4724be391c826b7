"""Check a few rows of eight public sets with the verifier of the package.

    python -m benchmarks.sample

Twenty right and twenty wrong responses of each set, the same ones every time: few enough to be
checked on every change. AUROC, balanced accuracy, false alarms and the share found are those of the
sample, not of the set. Needs ../shared beside the checkout; writes benchmarks/results/sample.json.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.golden import SHARED, sample
from benchmarks.store import RESULTS, base_weights, command, store
from halldetect.detector import Detector
from halldetect.inputs import Pair
from halldetect.report import Report, Verdict
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.registry import load_dataset
from halldetect_bench.stats.classification_metrics import auroc

SETS = """qags-cnndm xsumfaith summedits defacto-test wice bump ragtruth-selection-qa
    ragtruth-selection-summary""".split()
PATH = RESULTS / "sample.json"
EACH, LONGEST = 20, 6_000  # rows of a label; characters of a source


def draw(name: str) -> list[Row]:
    """Return the rows of a set: wrong ones, then right ones."""
    rows = [row for row in load_dataset(name, SHARED).rows if len(row.source) <= LONGEST]
    return [
        row
        for label in (True, False)
        for row in sample(
            f"{name} {label}", [one for one in rows if one.hallucinated is label], EACH
        )
    ]


def figures(rows: Sequence[Row], reports: Sequence[Report]) -> dict[str, Any]:
    """Return the figures of a sample; a response that was not checked counts as faithful."""
    wrong = [bool(row.hallucinated) for row in rows]
    flagged = [report.verdict is Verdict.HALLUCINATED for report in reports]
    both = list(zip(wrong, flagged, strict=True))
    share_found = both.count((True, True)) / wrong.count(True)
    false_alarms = both.count((False, True)) / wrong.count(False)
    return {
        "rows": len(rows),
        "auroc": auroc(wrong, [report.score or 0.0 for report in reports]),
        "balanced_accuracy": (share_found + 1 - false_alarms) / 2,
        "false_alarms": false_alarms,
        "share_found": share_found,
    }


def measure(detector: Detector, name: str) -> dict[str, Any]:
    """Return the figures of a set."""
    rows = draw(name)
    pairs = [Pair(row.source, row.response, row.question) for row in rows]
    return figures(rows, detector.check_many(pairs))


def main() -> None:
    """Measure all sets and store the figures."""
    command(__doc__).parse_args()
    detector, sets = Detector(), {}
    for name in SETS:
        sets[name] = measure(detector, name)
        print(name, sets[name], flush=True)
    store(PATH, {"weights": {"base": base_weights()}, "sets": sets})


if __name__ == "__main__":
    main()
