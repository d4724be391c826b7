"""Claims on the datasets: detection with and without the reading rules.

    python -m benchmarks.claims_on_datasets detection --data DIR --limit 40
    ... --verifier large --device cuda

`detection`: AUROC, balanced accuracy and false alarms of the detector, and of the same detector
with whole sentences: each sentence of the raw text is a claim and is read as it stands, the source
is read as it stands, and windows begin where they are cut. Differences are paired, with 95 %
intervals; a false alarm is a faithful row that is not called faithful. The verifier answers each
pair once.

The results go to benchmarks/results/claims.json.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.claims import RESULTS, write_section
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector, Pair, inputs
from halldetect.claims import extraction
from halldetect.protocols import Verifier
from halldetect.reading.document import Document, TrackedText, Unit
from halldetect.reading.sentences import sentences
from halldetect.report import Probabilities, Report, Status, Verdict
from halldetect.verification import scales
from halldetect_bench.registry import load_dataset
from halldetect_bench.runner import sample
from halldetect_bench.stats.bootstrap import difference
from halldetect_bench.stats.classification_metrics import at_threshold, auroc

DETECTION = ("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test")


class Remembering:
    """A verifier that answers each pair once."""

    def __init__(self, verifier: Verifier) -> None:
        self._verifier = verifier
        self._known: dict[tuple[str, str], Probabilities] = {}
        self.max_tokens = verifier.max_tokens
        self.description = verifier.description
        self.count_tokens = verifier.count_tokens
        for name in ("pairs_at_once", "reads_whole_sources"):
            if hasattr(verifier, name):
                setattr(self, name, getattr(verifier, name))

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """The probabilities of each pair."""
        new = [pair for pair in dict.fromkeys(pairs) if pair not in self._known]
        if new:
            self._known.update(zip(new, self._verifier.judge(new), strict=True))
        return [self._known[pair] for pair in pairs]


def plain_source(text: str) -> Document:
    """A source without the reading rules: its sentences as they stand."""
    return Document(text, sentences(text))


def plain_response(text: str, question: str | None = None, names: Sequence[str] = ()) -> Document:
    """A response without the reading rules: each of its sentences is a claim."""
    units = tuple(
        Unit(TrackedText.of(text, span.start, span.end), span, asserts=True)
        for span in sentences(text)
    )
    return Document(text, sentences(text), units)


def detection(verifier: Verifier, data: Path, limit: int, names: Sequence[str]) -> dict[str, Any]:
    """The detector with its reading rules, and with whole sentences, on samples of the datasets.

    verifier  judges
    data      the folder of the datasets
    limit     rows per dataset
    names     of the datasets
    """
    found: dict[str, Any] = {}
    for name in names:
        remembering = Remembering(verifier)
        rows = sample(load_dataset(name, data).rows, limit, 0)
        pairs = [Pair(row.source, row.response, row.question) for row in rows]
        gold = [bool(row.hallucinated) for row in rows]
        started = time.perf_counter()
        shipped = Detector(verifier=remembering).check_many(pairs)
        with (
            patch.object(extraction, "in_context", list),
            patch.object(scales, "MAX_LEAD_IN", 0),
            patch.object(inputs, "read_response", plain_response),
            patch.object(inputs, "read_source", plain_source),
        ):
            whole = Detector("sentences", remembering).check_many(pairs)
        found[name] = {
            "rows": len(rows),
            "faithful_rows": gold.count(False),
            "as_shipped": _figures(gold, shipped),
            "whole_sentences": _figures(gold, whole),
            "auroc_gain": _gain(auroc, gold, whole, shipped),
            "balanced_accuracy_gain": _gain(_balanced_accuracy, gold, whole, shipped),
            "claims_read_otherwise": sum(
                claim.read_as is not None for report in shipped for claim in report.claims
            ),
            "claims_with_parts": sum(
                bool(claim.parts) for report in shipped for claim in report.claims
            ),
            "verdicts_changed": sum(
                one.verdict != other.verdict for one, other in zip(shipped, whole, strict=True)
            ),
            "seconds": round(time.perf_counter() - started, 1),
        }
        print(name, json.dumps(found[name]), flush=True)
    return {**found, "all": _together(found)}


def _together(found: dict[str, Any]) -> dict[str, Any]:
    """Means over the datasets, and false alarms over all faithful rows."""
    ways = ("as_shipped", "whole_sentences")
    faithful = sum(item["faithful_rows"] for item in found.values())
    alarms = {way: sum(item[way]["false_alarms"] for item in found.values()) for way in ways}
    return {
        "rows": sum(item["rows"] for item in found.values()),
        "faithful_rows": faithful,
        **{
            f"mean_{figure}": {
                way: round(sum(item[way][figure] for item in found.values()) / len(found), 4)
                for way in ways
            }
            for figure in ("auroc", "balanced_accuracy")
        },
        "false_alarms": alarms,
        "false_alarms_share_gain": round(
            (alarms["as_shipped"] - alarms["whole_sentences"]) / max(faithful, 1), 4
        ),
    }


def _scores(reports: Sequence[Report]) -> list[float]:
    return [1.0 if report.score is None else report.score for report in reports]


def _balanced_accuracy(gold: Sequence[bool], scores: Sequence[float]) -> float | None:
    return at_threshold(gold, scores).balanced_accuracy


def _figures(gold: Sequence[bool], reports: Sequence[Report]) -> dict[str, Any]:
    cut = at_threshold(gold, _scores(reports))
    states = Counter(claim.status for report in reports for claim in report.claims)
    return {
        "auroc": _rounded(auroc(gold, _scores(reports))),
        "balanced_accuracy": _rounded(cut.balanced_accuracy),
        "recall": _rounded(cut.recall),
        "precision": _rounded(cut.precision),
        "false_alarms": sum(
            not hallucinated and report.verdict is not Verdict.FAITHFUL
            for hallucinated, report in zip(gold, reports, strict=True)
        ),
        "claims": sum(states.values()),
        "supported": states[Status.SUPPORTED],
        "verifier_tokens": sum(report.cost.verifier_tokens for report in reports),
    }


def _gain(
    metric: Any, gold: Sequence[bool], first: Sequence[Report], second: Sequence[Report]
) -> list[float]:
    gained = difference(metric, gold, _scores(first), _scores(second), seed=0)
    if gained is None:
        return []
    return [round(value, 4) for value in (gained.value, gained.low, gained.high)]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("detection",))
    parser.add_argument("--data", type=Path, required=True, help="the folder of the datasets")
    parser.add_argument("--limit", type=int, default=40, help="rows per dataset: 40")
    parser.add_argument("--datasets", nargs="+", default=DETECTION, help="default: the six")
    parser.add_argument("--out", type=Path, default=RESULTS, help="the results file")
    add_verifier_options(parser)
    given = parser.parse_args(arguments)
    verifier = verifier_of(given)
    found = {given.what: detection(verifier, given.data, given.limit, given.datasets)}
    write_section(given.out, given.verifier, found, verifier)
    print(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
