"""SelfCheck: five other responses are drawn from the model; how far is this one from them?

The mean of 1 - the cosine of their vectors. A cosine below zero counts as zero.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from halldetect.claims.extractors import prompt
from halldetect_bench.datasets.rows import Row
from halldetect_bench.embed import Embedder, Embedding, cosine
from halldetect_bench.llm import Llm, Question
from halldetect_bench.methods.prompted import Asked, PromptedMethod, source_text, user
from halldetect_bench.methods.scored import Scored

SAMPLES = 5
TEMPERATURE = 1.0
SUMMARISE = "Summarise the source in about {words} words.\n\nSOURCE\n{source}"
ANSWER = (
    "Answer the question from the source in about {words} words.\n\n"
    "SOURCE\n{source}\n\nQUESTION\n{question}"
)
_MOST_TOKENS = 512


class SelfCheck(PromptedMethod):
    name = "selfcheck"

    def __init__(self, llm: Llm, embedder: Embedder, *, seed: int = 0) -> None:
        super().__init__(llm)
        self.embedder = embedder
        self.seed = seed

    @property
    def description(self) -> dict[str, Any]:
        return {
            **super().description,
            "embedder": self.embedder.description,
            "samples": SAMPLES,
            "temperature": TEMPERATURE,
            "seed": self.seed,
        }

    def prompts(self) -> tuple[str, ...]:
        return SUMMARISE, ANSWER

    def judge(self, row: Row, asked: Asked) -> Scored:
        words = len(row.response.split())
        source = source_text(row)
        task = (
            SUMMARISE.format(words=words, source=source)
            if row.question is None
            else ANSWER.format(words=words, source=source, question=prompt.prepare(row.question))
        )
        room = min(_MOST_TOKENS, 2 * words + 32)
        drawn = [
            reply.text
            for reply in asked.ask_many(
                [
                    Question([user(task)], room, TEMPERATURE, self.seed + number)
                    for number in range(1, SAMPLES + 1)
                ]
            )
        ]
        others = [text for text in drawn if text.strip()]
        if not others:
            return Scored(None, "the model wrote nothing")
        return Scored(None, details={"others": others})

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """What was drawn for all rows is embedded in one go."""
        drawn = super().score_many(rows)
        start = time.perf_counter()
        texts = [
            [row.response, *found.details["others"]] if found.details else []
            for row, found in zip(rows, drawn, strict=True)
        ]
        vectors = iter(self.embedder.embed([text for group in texts for text in group]))
        embedded = [[next(vectors) for _ in group] for group in texts]
        seconds = (time.perf_counter() - start) / max(1, len(rows))
        return [
            _compared(found, group, seconds) if group else found
            for found, group in zip(drawn, embedded, strict=True)
        ]


def _compared(found: Scored, vectors: Sequence[Embedding], seconds: float) -> Scored:
    response, *others = vectors
    gaps = [min(1.0, 1 - max(0.0, cosine(response, vector))) for vector in others]
    cost = replace(
        found.cost,
        verifier_tokens=sum(vector.tokens for vector in vectors),
        seconds={**found.cost.seconds, "embed": seconds},
    )
    return Scored(sum(gaps) / len(gaps), cost=cost)
