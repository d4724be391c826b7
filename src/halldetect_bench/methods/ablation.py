"""The grid behind the ablations: every claim against every window of every scale, judged once.

What each scale alone says of a claim is kept, so that the score of any set of scales under
any scoring is a matter of maxima (`bench.ablation`), and no pair is judged twice for it. The
method's own score is that of all scales, calibrated: HallDetect's with every pair judged.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from halldetect.claims.extraction import Claim, Extraction, extract_claims
from halldetect.protocols import Extractor, Verifier
from halldetect.report import Cost, rounded
from halldetect.scoring import Calibration, contradiction_of
from halldetect.text.sentences import Span
from halldetect.verification.rounds import Judged, Task, verify
from halldetect.windows.scales import library
from halldetect_bench.ablation import ALL_SCALES, SETS, Seen, scored
from halldetect_bench.datasets.rows import Row
from halldetect_bench.llm import BatchLlm, Llm
from halldetect_bench.llm_extractor import LlmExtractor
from halldetect_bench.methods.scored import Scored, documents
from halldetect_bench.together import together


class Splitter(Protocol):
    """A way to get the claims of many responses."""

    @property
    def description(self) -> dict[str, Any]: ...

    def split(self, responses: Sequence[str]) -> list[Extraction]: ...


class Whole:
    """No decomposition: the response is one claim."""

    description = {"name": "whole"}  # noqa: RUF012

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        return [Extraction(_whole(text)) for text in responses]


def _whole(text: str) -> tuple[Claim, ...]:
    start = len(text) - len(text.lstrip())
    clean = text.strip()
    return (Claim(clean, Span(start, start + len(clean))),) if clean else ()


@dataclass(frozen=True, slots=True)
class Extracted:
    """The claims of an extractor, behind the guard as in a check."""

    extractor: Extractor

    @property
    def description(self) -> dict[str, Any]:
        return self.extractor.description

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        return [extract_claims(text, self.extractor) for text in responses]


@dataclass(frozen=True, slots=True)
class Grouped:
    """Claim grouping: so many neighbouring claims are judged as one, for fewer pairs."""

    splitter: Splitter
    size: int

    @property
    def description(self) -> dict[str, Any]:
        inner = self.splitter.description
        return {**inner, "name": f"{inner['name']}, groups of {self.size}"}

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        return [
            replace(found, claims=tuple(map(_joined, self._groups(found.claims))))
            for found in self.splitter.split(responses)
        ]

    def _groups(self, claims: Sequence[Claim]) -> list[Sequence[Claim]]:
        return [claims[at : at + self.size] for at in range(0, len(claims), self.size)]


def _joined(claims: Sequence[Claim]) -> Claim:
    if len(claims) == 1:
        return claims[0]
    text = " ".join(claim.text for claim in claims)
    return Claim(text, None, "several claims are judged as one")


@dataclass(frozen=True, slots=True)
class Asked:
    """The claims of a language model, behind the guard, for all responses at once if it can."""

    llm: Llm
    seed: int = 0

    @property
    def description(self) -> dict[str, Any]:
        return LlmExtractor(self.llm, seed=self.seed).description

    def split(self, responses: Sequence[str]) -> list[Extraction]:
        def one(text: str, llm: Llm) -> Extraction:
            return extract_claims(text, LlmExtractor(llm, seed=self.seed))

        if isinstance(self.llm, BatchLlm):
            return together(self.llm, responses, one)
        return [one(text, self.llm) for text in responses]


class Ablation:
    name = "ablation"

    def __init__(self, splitter: Splitter, verifier: Verifier) -> None:
        self.splitter = splitter
        self.verifier = verifier
        stated = verifier.description.get("calibration") or {}
        self.calibration = Calibration.from_mapping(stated)

    @property
    def description(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "extractor": self.splitter.description,
            "verifier": self.verifier.description,
        }

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        start = time.perf_counter()
        extractions = self.splitter.split([row.response for row in rows])
        extracted = time.perf_counter()
        tasks = [
            Task(found.claims, library(documents(row)), documents(row))
            for row, found in zip(rows, extractions, strict=True)
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
        self, extraction: Extraction, judged: Sequence[Judged], seconds: dict[str, float]
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
        seen = [self._seen(item) for item in judged]
        support = [1 - scored([one], "calibrated", ALL_SCALES) for one in seen]
        return Scored(
            scored(seen, "calibrated", ALL_SCALES),
            claims=tuple(
                (item.claim.text, 1 - value) for item, value in zip(judged, support, strict=True)
            ),
            cost=cost,
            details={
                "scales": seen,
                "pairs": {
                    name: sum(
                        bool(set(window.scales) & set(scales))
                        for item in judged
                        for window in item.windows
                    )
                    for name, scales in SETS.items()
                },
            },
        )

    def _seen(self, judged: Judged) -> Seen:
        """For each scale the greatest P(E), P(C) and calibrated support of its windows."""
        seen: Seen = {}
        for window, item in zip(judged.windows, judged.probabilities, strict=True):
            support = self.calibration.window_support(item)
            values = (item.entailment, contradiction_of(item), support)
            for scale in window.scales:
                before = seen.get(str(scale), [0.0, 0.0, 0.0])
                seen[str(scale)] = [
                    max(old, rounded(new)) for old, new in zip(before, values, strict=True)
                ]
        return seen
