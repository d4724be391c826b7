"""Methods that compare vectors of texts: `embedding` and `selfcheck`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from halldetect.paper import prompt
from halldetect.report import Cost
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents, has_words
from halldetect_bench.methods.prompted import Asking, PromptedMethod, source_text, user_turn
from halldetect_bench.models.embedders import Embedder, Embedding, cosine
from halldetect_bench.models.llm import Llm, Question


class EmbeddingDivergence:
    """The score 1 - cosine of the vectors of source and response.

    With Qwen's embedding model this is the paper's QwenScore. A cosine below 0 counts as 0.
    """

    name = "embedding"

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @property
    def description(self) -> dict[str, Any]:
        """Return the method's name and the embedder's description."""
        return {"name": self.name, "embedder": self.embedder.description}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Embed all sources and responses in one call."""
        texts = [
            ["\n\n".join(documents(row)), row.response] if has_words(row.response) else []
            for row in rows
        ]
        pairs, seconds = _embed_groups(self.embedder, texts)
        return [
            _source_distance(pair, seconds) if pair else Scored(None, "the response has no words")
            for pair in pairs
        ]


class SelfCheck(PromptedMethod):
    """SelfCheck: the mean distance of the response to five samples of the model.

    A distance is 1 - the cosine of two vectors. A cosine below 0 counts as 0.
    """

    name = "selfcheck"
    SAMPLES = 5
    TEMPERATURE = 1.0
    SUMMARISE = "Summarise the source in about {words} words.\n\nSOURCE\n{source}"
    ANSWER = (
        "Answer the question from the source in about {words} words.\n\n"
        "SOURCE\n{source}\n\nQUESTION\n{question}"
    )
    _MAX_TOKENS = 512

    def __init__(self, llm: Llm, embedder: Embedder, *, seed: int = 0) -> None:
        super().__init__(llm)
        self.embedder = embedder
        self.seed = seed

    @property
    def description(self) -> dict[str, Any]:
        return {
            **super().description,
            "embedder": self.embedder.description,
            "samples": self.SAMPLES,
            "temperature": self.TEMPERATURE,
            "seed": self.seed,
        }

    def prompts(self) -> tuple[str, ...]:
        return self.SUMMARISE, self.ANSWER

    def score_row(self, row: Row) -> Asking[Scored]:
        """Draw the samples; `score_many` compares them."""
        words = len(row.response.split())
        source = source_text(row)
        if row.question is None:
            task = self.SUMMARISE.format(words=words, source=source)
        else:
            question = prompt.prepare(row.question)
            task = self.ANSWER.format(words=words, source=source, question=question)
        room = min(self._MAX_TOKENS, 2 * words + 32)
        replies = yield [
            Question([user_turn(task)], room, self.TEMPERATURE, self.seed + number)
            for number in range(1, self.SAMPLES + 1)
        ]
        samples = [reply.text for reply in replies if reply.text.strip()]
        if not samples:
            return Scored(None, "the model wrote nothing")
        return Scored(None, details={"samples": samples})

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Draw the samples of all rows, then embed all of them in one call."""
        drawn = super().score_many(rows)
        texts = [
            [row.response, *scored.details["samples"]] if scored.details else []
            for row, scored in zip(rows, drawn, strict=True)
        ]
        groups, seconds = _embed_groups(self.embedder, texts)
        return [
            _sample_distance(scored, group, seconds) if group else scored
            for scored, group in zip(drawn, groups, strict=True)
        ]


def _embed_groups(
    embedder: Embedder, groups: Sequence[Sequence[str]]
) -> tuple[list[list[Embedding]], float]:
    """Return the vectors of each group of texts, and the seconds per group."""
    start = time.perf_counter()
    vectors = iter(embedder.embed([text for group in groups for text in group]))
    embedded = [[next(vectors) for _ in group] for group in groups]
    return embedded, (time.perf_counter() - start) / max(1, len(groups))


def _distance(one: Embedding, other: Embedding) -> float:
    return min(1.0, 1 - max(0.0, cosine(one, other)))


def _source_distance(pair: Sequence[Embedding], seconds: float) -> Scored:
    source, response = pair
    cost = Cost(verifier_tokens=source.tokens + response.tokens, seconds={"embed": seconds})
    return Scored(_distance(source, response), cost=cost)


def _sample_distance(scored: Scored, vectors: Sequence[Embedding], seconds: float) -> Scored:
    response, *samples = vectors
    distances = [_distance(response, sample) for sample in samples]
    cost = replace(
        scored.cost,
        verifier_tokens=sum(vector.tokens for vector in vectors),
        seconds={**scored.cost.seconds, "embed": seconds},
    )
    return Scored(sum(distances) / len(distances), cost=cost)
