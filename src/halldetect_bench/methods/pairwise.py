"""Methods that judge units of the response against parts of the source with one verifier.

They differ in three things only: the units, the parts, and how the judgements are put together.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from halldetect.claims.extraction import Claim
from halldetect.protocols import Verifier
from halldetect.report import Cost, Probabilities
from halldetect.text.sentences import Span, sentences
from halldetect.verification.rounds import Judged, Task, verify
from halldetect.windows.scales import Window
from halldetect_bench.datasets.rows import Row
from halldetect_bench.methods.scored import Scored, documents


class PairwiseMethod(ABC):
    """Subclasses say what is judged against what (`parts`, `units`) and what it means."""

    name: str
    # Whether a part the verifier cannot read whole is cut off, as the original method does,
    # instead of being divided.
    truncate = False

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name, "verifier": self.verifier.description}

    @abstractmethod
    def parts(self, texts: tuple[str, ...]) -> tuple[Window, ...]:
        """The parts of the source."""

    def units(self, response: str) -> tuple[Claim, ...]:
        """The units of the response; its sentences unless a method says otherwise."""
        return tuple(Claim(span.cut(response), span) for span in sentences(response))

    @abstractmethod
    def support(self, probabilities: Sequence[Probabilities]) -> float:
        """How well one unit is supported by the parts together, higher is better."""

    @abstractmethod
    def hallucination(self, supports: Sequence[float]) -> float:
        """The score of the response, from 0 (faithful) to 1, from its units' support."""

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        start = time.perf_counter()
        tasks = []
        for row in rows:
            texts = documents(row)
            tasks.append(Task(self.units(row.response), self.parts(texts), texts))
        results = verify(self.verifier, tasks, truncate=self.truncate)
        # Rows are judged together, so each bears its share of the time.
        seconds = (time.perf_counter() - start) / max(1, len(rows))
        return [self._scored(judged, seconds) for judged in results]

    def _scored(self, judged: Sequence[Judged], seconds: float) -> Scored:
        cost = Cost(
            pairs_judged=sum(len(item.probabilities) for item in judged),
            verifier_tokens=sum(item.tokens for item in judged),
            seconds={"verify": seconds},
        )
        if not judged:
            return Scored(None, "the response has no sentence to judge", cost=cost)
        supports = [
            self.support(item.probabilities) if item.probabilities else None for item in judged
        ]
        known = [support for support in supports if support is not None]
        claims = tuple(
            (item.claim.text, None if support is None else self.hallucination([support]))
            for item, support in zip(judged, supports, strict=True)
        )
        if len(known) < len(supports):
            missing = next(item for item in judged if not item.probabilities)
            return Scored(None, missing.reason or "the source has no sentence", claims, cost)
        return Scored(self.hallucination(known), None, claims, cost)


def whole(texts: tuple[str, ...]) -> tuple[Window, ...]:
    """Each document as one part."""
    return tuple(
        Window(text, place, Span(0, len(text)), (1,), spans)
        for place, text in enumerate(texts)
        if (spans := sentences(text))
    )


def single(texts: tuple[str, ...]) -> tuple[Window, ...]:
    """Each sentence as one part."""
    return tuple(
        Window(span.cut(text), place, span, (len(spans),), (span,))
        for place, text in enumerate(texts)
        if (spans := sentences(text))
        for span in spans
    )


def packed(verifier: Verifier, texts: tuple[str, ...], tokens: int) -> tuple[Window, ...]:
    """Runs of whole sentences of at most so many tokens; a longer sentence is a part alone."""
    parts: list[Window] = []
    for place, text in enumerate(texts):
        spans = sentences(text)
        runs: list[list[Span]] = []
        size = 0
        counts = verifier.count_tokens([span.cut(text) for span in spans])
        for span, count in zip(spans, counts, strict=True):
            if not runs or size + count > tokens:
                runs.append([])
                size = 0
            runs[-1].append(span)
            size += count
        for run in runs:
            span = Span(run[0].start, run[-1].end)
            parts.append(Window(span.cut(text), place, span, (len(runs),), tuple(run)))
    return tuple(parts)
