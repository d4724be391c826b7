"""The ablation: every claim is judged against every window of every scale, once.

For each claim and scale the maxima of P(E), P(C) and calibrated support are kept. The score of
any set of scales under any scoring follows from these maxima (`score_from_maxima`), so no pair
is judged twice. The method's own score is that of all scales, calibrated: HallDetect's score
with every pair judged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from halldetect.claims.extraction import extract_claims
from halldetect.claims.extractors import load_extractor
from halldetect.verification.rounds import JudgedClaim, verify
from halldetect.verification.scales import GRANULARITIES, source_windows
from halldetect.verification.tasks import Task

from halldetect.claims import Claim
from halldetect.errors import ConfigurationError
from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.reading.response import read_response
from halldetect.reading.sources import read_source
from halldetect.report import Cost, rounded
from halldetect.scoring import Calibration, contradiction_of, fed
from halldetect.verification.injections import blank_injections
from halldetect_bench.datasets.labelled_rows import Row
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
    """Return the hallucination score of a response under one set of scales and one scoring.

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


@dataclass(frozen=True, slots=True)
class ClaimSplitter:
    """A way to split a response into claims: its name in the results, and the function."""

    name: str
    split: Callable[[str], tuple[Claim, ...]]


def claim_splitter(name: str) -> ClaimSplitter:
    """Return the splitter of a name.

    name: `whole` (the response is one claim), `sentences`, or `groups:N` to judge N neighbouring
        sentences as one claim (`groups` alone: 2).
    """
    if name == "whole":
        return ClaimSplitter(name, _one_claim)
    if name == "sentences":
        return ClaimSplitter(name, _sentence_claims)
    kind, _, size = name.partition(":")
    if kind != "groups":
        raise ConfigurationError(f"no claims {name!r}; there are whole, sentences and groups:N")
    if not (size or "2").isdecimal() or int(size or 2) < 1:
        raise ConfigurationError(f"groups:N needs a whole number from 1 up, not {size!r}")
    count = int(size or 2)
    return ClaimSplitter(f"sentences, groups of {count}", lambda text: _grouped(text, count))


def _one_claim(text: str) -> tuple[Claim, ...]:
    start = len(text) - len(text.lstrip())
    clean = text.strip()
    return (Claim(clean, Span(start, start + len(clean))),) if clean else ()


def _sentence_claims(text: str) -> tuple[Claim, ...]:
    return extract_claims(read_response(text), load_extractor("sentences")).claims


def _grouped(text: str, size: int) -> tuple[Claim, ...]:
    claims = _sentence_claims(text)
    return tuple(_joined(claims[at : at + size]) for at in range(0, len(claims), size))


def _joined(claims: Sequence[Claim]) -> Claim:
    if len(claims) == 1:
        return claims[0]
    text = " ".join(claim.text for claim in claims)
    return Claim(text, None, "several claims are judged as one")


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
        """The method's name, how claims are made, and the verifier's description."""
        return {
            "name": self.name,
            "extractor": {"name": self.splitter.name},
            "verifier": self.verifier.description,
        }

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Split all responses, then judge all pairs together.

        rows: the rows to score.
        """
        start = time.perf_counter()
        tasks = [
            Task(self.splitter.split(row.response), source_windows(source), source)
            for row in rows
            for source in [_read_as_the_detector_does(row)]
        ]
        results = verify(self.verifier, tasks)
        seconds = {"verify": (time.perf_counter() - start) / max(1, len(rows))}
        return [self._scored(judged, seconds) for judged in results]

    def _scored(self, judged: Sequence[JudgedClaim], seconds: dict[str, float]) -> Scored:
        cost = Cost(
            pairs_judged=sum(len(item.probabilities) for item in judged),
            verifier_tokens=sum(item.tokens for item in judged),
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
