"""The ablation: every claim is judged against every window of every scale, once.

For each claim and scale the maxima of P(E), P(C) and calibrated support are kept. The score of
any set of scales under any scoring follows from these maxima (`score_from_maxima`), so no pair
is judged twice. The method's own score is that of all scales, calibrated: HallDetect's score
with every pair judged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from halldetect.claims.extraction import Extraction
from halldetect.protocols import Verifier
from halldetect.reading.document import Document
from halldetect.reading.sources import read_source
from halldetect.report import Cost, rounded
from halldetect.scoring import Calibration, contradiction_of, fed
from halldetect.verification.injections import blank_injections
from halldetect.verification.rounds import JudgedClaim, verify
from halldetect.verification.scales import GRANULARITIES, source_windows
from halldetect.verification.tasks import Task
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.claim_splitters import ClaimSplitter
from halldetect_bench.methods.method import Scored, documents

# Of one claim, by scale: the maxima of P(E), P(C) and calibrated support over its windows.
ScaleMaxima = dict[str, list[float]]

ALL_SCALES = GRANULARITIES
SCALE_SETS: dict[str, tuple[int, ...]] = {
    "1": (1,),
    "16": (16,),
    "1, 16": (1, 16),
    "1, 4, 16": (1, 4, 16),
    "all": ALL_SCALES,
}
ABLATION_SCORINGS = ("fed", "calibrated", "support only")


def score_from_maxima(claims: Sequence[ScaleMaxima], scoring: str, scales: Sequence[int]) -> float:
    """The hallucination score of a response under one set of scales and one scoring.

    claims: the maxima of each claim.
    scoring: `fed` (the paper's: best entailment minus best contradiction, geometric mean),
        `calibrated` (1 - the least calibrated support) or `support only` (1 - the least of the
        maxima of P(E), without contradiction).
    scales: the scales to use.
    """
    best = [_maxima([seen[str(m)] for m in scales if str(m) in seen]) for seen in claims]
    if scoring == "fed":
        return fed([entailment - contradiction for entailment, contradiction, _ in best])
    column = {"support only": 0, "calibrated": 2}[scoring]
    return 1 - min(values[column] for values in best)


def _maxima(scales: Sequence[Sequence[float]]) -> list[float]:
    return [max(values) for values in zip(*scales, strict=True)]


def _read_as_the_detector_does(row: Row) -> tuple[Document, ...]:
    return tuple(read_source(blank_injections(text)[0]) for text in documents(row))


class Ablation:
    """HallDetect with every pair judged, and the maxima of each scale in the details."""

    name = "ablation"

    def __init__(self, splitter: ClaimSplitter, verifier: Verifier) -> None:
        """splitter: gives the claims. verifier: judges them."""
        self.splitter = splitter
        self.verifier = verifier
        stated = verifier.description.get("calibration") or {}
        self.calibration = Calibration.from_mapping(stated)

    @property
    def description(self) -> dict[str, Any]:
        """The method's name with the splitter's and the verifier's descriptions."""
        return {
            "name": self.name,
            "extractor": self.splitter.description,
            "verifier": self.verifier.description,
        }

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Split all responses, then judge all pairs together.

        rows: the rows to score.
        """
        start = time.perf_counter()
        extractions = self.splitter.split([row.response for row in rows])
        extracted = time.perf_counter()
        tasks = [
            Task(found.claims, source_windows(source), source)
            for row, found in zip(rows, extractions, strict=True)
            for source in [_read_as_the_detector_does(row)]
        ]
        results = verify(self.verifier, tasks)
        done = time.perf_counter()
        seconds = {
            "extract": (extracted - start) / max(1, len(rows)),
            "verify": (done - extracted) / max(1, len(rows)),
        }
        return [
            self._scored(found, judged, seconds)
            for found, judged in zip(extractions, results, strict=True)
        ]

    def _scored(
        self, extraction: Extraction, judged: Sequence[JudgedClaim], seconds: dict[str, float]
    ) -> Scored:
        cost = Cost(
            generative_passes=extraction.generative_passes,
            extractor_tokens_in=extraction.tokens_in,
            extractor_tokens_out=extraction.tokens_out,
            pairs_judged=sum(len(item.probabilities) for item in judged),
            verifier_tokens=sum(item.tokens for item in judged),
            claims_dropped=extraction.dropped,
            claims_restored=extraction.restored,
            seconds=seconds,
        )
        if not judged:
            return Scored(None, "the response has no claim", cost=cost)
        unread = next((item for item in judged if not item.probabilities), None)
        if unread is not None:
            return Scored(None, unread.reason or "the source has no sentence", cost=cost)
        maxima = [self._scale_maxima(item) for item in judged]
        return Scored(
            score_from_maxima(maxima, "calibrated", ALL_SCALES),
            claims=tuple(
                (item.claim.text, score_from_maxima([seen], "calibrated", ALL_SCALES))
                for item, seen in zip(judged, maxima, strict=True)
            ),
            cost=cost,
            details={
                "scales": maxima,
                "pairs": {
                    name: sum(
                        bool(set(window.scales) & set(scales))
                        for item in judged
                        for window in item.windows
                    )
                    for name, scales in SCALE_SETS.items()
                },
            },
        )

    def _scale_maxima(self, judged: JudgedClaim) -> ScaleMaxima:
        maxima: ScaleMaxima = {}
        for window, item in zip(judged.windows, judged.probabilities, strict=True):
            support = self.calibration.window_support(item)
            values = (item.entailment, contradiction_of(item), support)
            for scale in window.scales:
                before = maxima.get(str(scale), [0.0, 0.0, 0.0])
                maxima[str(scale)] = [
                    max(old, rounded(new)) for old, new in zip(before, values, strict=True)
                ]
        return maxima
