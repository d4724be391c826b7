"""Methods that judge units of the response against parts of the source with one verifier.

They differ only in the parts of the source, the units of the response, and the combination of the
judgements. The methods with a name in `-style` follow a published method on a verifier of your
choice; `peers` has the published methods with their own weights. `one-prompt` judges the sentences
together.
"""

from __future__ import annotations

import json
import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.resources import files
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.large.verifier import Group, LargeVerifier
from halldetect.paper.contrast import judge_claims
from halldetect.protocols import Verifier
from halldetect.reading.claims import Claim
from halldetect.reading.document import Document, Span
from halldetect.reading.sentences import read_document, sentences
from halldetect.report import Cost, Probabilities
from halldetect.verification.judging import Judgement
from halldetect.verification.windows import Window
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents

HISTOGRAM_BINS = 50
SUMMAC_LAYER = "summac_conv.json"
NO_SENTENCE = "the response has no sentence to judge"


class PairwiseMethod(ABC):
    """The base class; subclasses define the parts, the units and the combination."""

    name: str

    def __init__(self, verifier: Verifier) -> None:
        self.verifier = verifier

    @property
    def description(self) -> dict[str, Any]:
        """Return the method's name and the verifier's description."""
        return {"name": self.name, "verifier": self.verifier.description}

    @abstractmethod
    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        """Return the parts of the source; text that the verifier cannot read is cut off.

        The longest unit of the response leaves `room` tokens for a part.
        """

    def response_units(self, response: str) -> tuple[Claim, ...]:
        """Return the units of the response; by default its sentences."""
        return tuple(Claim(span.cut(response), span) for span in sentences(response))

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        """Return the support of a unit from its judgement against each part; higher is better."""
        return max(item.entailment for item in probabilities)

    @abstractmethod
    def hallucination_score(self, supports: Sequence[float]) -> float:
        """Return the score of the response, from 0 (faithful) to 1, from those of its units."""

    def judge(self, row: Row) -> list[tuple[Claim, Judgement]]:
        """Return each unit of a row with the judgements against every part."""
        source = tuple(map(read_document, documents(row)))
        units = self.response_units(row.response)
        longest = max(self.verifier.count_tokens([unit.text for unit in units]), default=0)
        parts = self.source_parts(source, self.verifier.max_tokens - longest)
        return list(zip(units, judge_claims(units, parts, self.verifier), strict=True))

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Judge the pairs of each row."""
        return list(map(self._score, rows))

    def _score(self, row: Row) -> Scored:
        start = time.perf_counter()
        units = self.judge(row)
        seconds = time.perf_counter() - start
        judged = [item for _, item in units]
        cost = Cost(
            pairs_judged=sum(len(item.probabilities) for item in judged),
            verifier_tokens=sum(item.tokens for item in judged),
            seconds={"verify": seconds},
        )
        if not judged:
            return Scored(None, NO_SENTENCE, cost=cost)
        supports = [
            self.support(item.probabilities) if item.probabilities else None for item in judged
        ]
        known = [support for support in supports if support is not None]
        claims = tuple(
            (unit.text, None if support is None else self.hallucination_score([support]))
            for (unit, _), support in zip(units, supports, strict=True)
        )
        if len(known) < len(supports):
            missing = next(item for item in judged if not item.probabilities)
            return Scored(None, missing.reason or "the source has no sentence", claims, cost)
        return Scored(self.hallucination_score(known), None, claims, cost)


class NliOnly(PairwiseMethod):
    """One judgement of the whole response against the whole source: 1 - P(entailment).

    The source is truncated to the verifier's input, as in the paper; several documents are joined.
    A response too long for the verifier is not scored.
    """

    name = "nli-only"

    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        return tuple(
            Window(document.text, index, Span(0, len(document.text)))
            for index, document in enumerate(source)
            if document.sentences
        )

    def response_units(self, response: str) -> tuple[Claim, ...]:
        text = response.strip()
        return (Claim(text, Span(0, len(text))),) if text else ()

    def hallucination_score(self, supports: Sequence[float]) -> float:
        return 1 - supports[0]

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        joined = [replace(row, source="\n\n".join(documents(row))) for row in rows]
        return super().score_many(joined)


class SummacZsStyle(PairwiseMethod):
    """The style of SummaC-ZS: every sentence of the response against every sentence of the source.

    The value of a sentence is its best entailment minus contradiction, that of the response the
    mean over its sentences. The mean, from -1 to 1, is mapped to a score from 1 to 0. A two-way
    verifier gives no contradiction to subtract.
    """

    name = "summac-zs-style"

    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        return tuple(
            Window(span.cut(document.text), index, span)
            for index, document in enumerate(source)
            for span in document.sentences
        )

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        return max(item.entailment - (item.contradiction or 0.0) for item in probabilities)

    def hallucination_score(self, supports: Sequence[float]) -> float:
        return (1 - sum(supports) / len(supports)) / 2


class SummacConvStyle(SummacZsStyle):
    """The style of SummaC-Conv: that of SummaC-ZS with a fitted layer instead of the maximum.

    The layer reads the histogram of P(E) over all source sentences and has one weight per bin.
    The value of a sentence is the weighted sum, that of the response their mean, mapped to 0 to 1.
    The layer of the package was fitted on data with a licence for training, with the verifier that
    it names (`training/base/README.md`).
    """

    name = "summac-conv-style"

    def __init__(self, verifier: Verifier, layer: dict[str, Any] | None = None) -> None:
        super().__init__(verifier)
        # The weights, the offset, and the data they were fitted on.
        self.layer = layer or packaged_layer()

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "layer": self.layer}

    def support(self, probabilities: Sequence[Probabilities]) -> float:
        spread = histogram([item.entailment for item in probabilities])
        return float(spread @ np.asarray(self.layer["weights"])) + float(self.layer["offset"])

    def hallucination_score(self, supports: Sequence[float]) -> float:
        return 1 / (1 + math.exp(min(700.0, sum(supports) / len(supports))))


def histogram(values: Sequence[float]) -> NDArray[np.float64]:
    """Return the number of values in each bin between 0 and 1."""
    counts, _ = np.histogram(np.clip(values, 0, 1), bins=HISTOGRAM_BINS, range=(0, 1))
    return counts.astype(np.float64)


def packaged_layer() -> dict[str, Any]:
    """Return the fitted SummaC-Conv layer of the package."""
    text = (files("halldetect_bench") / "methods" / SUMMAC_LAYER).read_text(encoding="utf-8")
    return dict(json.loads(text))


class _Chunked(PairwiseMethod):
    """The best support of each sentence over chunks of the source.

    The chunk size is in the verifier's tokens; chunks are smaller if the longest sentence of the
    response leaves less room.
    """

    chunk_tokens: int

    @property
    def description(self) -> dict[str, Any]:
        return {**super().description, "chunk_tokens": self.chunk_tokens}

    def source_parts(self, source: tuple[Document, ...], room: int) -> tuple[Window, ...]:
        size = max(1, min(self.chunk_tokens, room))
        return sentence_runs(source, size, self.verifier.count_tokens)


class MiniCheckStyle(_Chunked):
    """The style of MiniCheck: chunks of 500 tokens; the worst sentence gives the score."""

    name = "minicheck-style"
    chunk_tokens = 500

    def hallucination_score(self, supports: Sequence[float]) -> float:
        return 1 - min(supports)


class AlignScoreStyle(_Chunked):
    """The style of AlignScore: chunks of 350 tokens; the mean over the sentences is the score."""

    name = "alignscore-style"
    chunk_tokens = 350

    def hallucination_score(self, supports: Sequence[float]) -> float:
        return 1 - sum(supports) / len(supports)


def sentence_runs(
    source: tuple[Document, ...], size: int, count: Callable[[Sequence[str]], Sequence[int]]
) -> tuple[Window, ...]:
    """Return runs of whole sentences of up to a size; longer sentences stay whole.

    `count` measures texts, for instance in tokens.
    """
    parts: list[Window] = []
    for index, document in enumerate(source):
        text, spans = document.text, document.sentences
        runs: list[list[Span]] = []
        filled = 0
        counts = count([span.cut(text) for span in spans])
        for span, length in zip(spans, counts, strict=True):
            if not runs or filled + length > size:
                runs.append([])
                filled = 0
            runs[-1].append(span)
            filled += length
        for run in runs:
            span = Span(run[0].start, run[-1].end)
            parts.append(Window(span.cut(text), index, span))
    return tuple(parts)


class OnePrompt:
    """One call of the verifier `large` per response, with all its sentences in one prompt.

    The prompt has the source, then every sentence with its question. The detector instead reads
    each claim separately after the source. Answers are not written back into the prompt, so that
    one pass gives all of them. The score is 1 - the least P(entailment) of the sentences.
    """

    name = "one-prompt"

    def __init__(self, verifier: LargeVerifier) -> None:
        self.verifier = verifier

    @property
    def description(self) -> dict[str, Any]:
        """Return the method's name and the verifier's description."""
        return {"name": self.name, "verifier": self.verifier.description}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Answer the prompts of all rows together."""
        start = time.perf_counter()
        units = [[span.cut(row.response) for span in sentences(row.response)] for row in rows]
        sources = ["\n\n".join(documents(row)) for row in rows]
        found = self._answers(sources, units)
        seconds = (time.perf_counter() - start) / max(1, len(rows))
        return [_scored(*item, seconds) for item in zip(units, found, strict=True)]

    def _answers(
        self, sources: Sequence[str], units: Sequence[Sequence[str]]
    ) -> list[tuple[list[Probabilities], int] | None]:
        """Return the probabilities of each response's sentences and the tokens of its prompt."""
        verifier = self.verifier
        passages = verifier.prompt.passages(sources)
        groups: dict[int, Group] = {}
        for at, (passage, texts) in enumerate(zip(passages, units, strict=True)):
            # An answer depends only on the text before it. So the prompt up to each question
            # gives the same answer as one pass over the whole prompt.
            claims = tuple(accumulate(verifier.prompt.claims(texts), lambda one, two: one + two))
            if claims and len(passage) + len(claims[-1]) <= verifier.context:
                groups[at] = Group(passage, claims)
        logits = dict(zip(groups, verifier.backend.answer(list(groups.values())), strict=True))
        return [
            (
                verifier.probabilities(logits[at]),
                len(groups[at].passage) + len(groups[at].claims[-1]),
            )
            if at in groups
            else None
            for at in range(len(sources))
        ]


def _scored(
    units: Sequence[str], answer: tuple[list[Probabilities], int] | None, seconds: float
) -> Scored:
    if not units:
        return Scored(None, NO_SENTENCE)
    if answer is None:
        return Scored(None, "the prompt does not fit into the model's context")
    probabilities, tokens = answer
    cost = Cost(pairs_judged=len(units), verifier_tokens=tokens, seconds={"verify": seconds})
    scores = [1 - item.entailment for item in probabilities]
    return Scored(max(scores), None, tuple(zip(units, scores, strict=True)), cost)
