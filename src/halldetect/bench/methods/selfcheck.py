"""SelfCheck: five other responses are drawn from the model; how far is this one from them?

The mean of 1 - the cosine of their vectors. A cosine below zero counts as zero.
"""

from __future__ import annotations

from typing import Any

from halldetect.bench.datasets.rows import Row
from halldetect.bench.embed import Embedder, cosine
from halldetect.bench.llm import Llm
from halldetect.bench.methods.prompted import Asked, PromptedMethod, source_text, user
from halldetect.bench.methods.scored import Scored
from halldetect.extractors import prompt

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
            asked.ask([user(task)], room, temperature=TEMPERATURE, seed=self.seed + number).text
            for number in range(1, SAMPLES + 1)
        ]
        others = [text for text in drawn if text.strip()]
        if not others:
            return Scored(None, "the model wrote nothing")
        response, *vectors = self.embedder.embed([row.response, *others])
        asked.embedded += response.tokens + sum(vector.tokens for vector in vectors)
        gaps = [min(1.0, 1 - max(0.0, cosine(response, vector))) for vector in vectors]
        return Scored(sum(gaps) / len(gaps))
