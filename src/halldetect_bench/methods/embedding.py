"""Embedding divergence: 1 - the cosine of the source's and the response's vectors.

With Qwen's embedding model this is what the paper calls QwenScore. A cosine below zero counts
as zero.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from halldetect.report import Cost
from halldetect_bench.datasets.rows import Row
from halldetect_bench.embed import Embedder, Embedding, cosine
from halldetect_bench.methods.scored import Scored, documents, has_words


class EmbeddingDivergence:
    name = "embedding"

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name, "embedder": self.embedder.description}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        start = time.perf_counter()
        texts = [
            ["\n\n".join(documents(row)), row.response] if has_words(row.response) else []
            for row in rows
        ]
        vectors = iter(self.embedder.embed([text for pair in texts for text in pair]))
        pairs = [[next(vectors) for _ in pair] for pair in texts]
        seconds = (time.perf_counter() - start) / max(1, len(rows))
        return [
            _scored(pair, seconds) if pair else Scored(None, "the response has no words")
            for pair in pairs
        ]


def _scored(pair: Sequence[Embedding], seconds: float) -> Scored:
    source, response = pair
    cost = Cost(verifier_tokens=source.tokens + response.tokens, seconds={"embed": seconds})
    return Scored(min(1.0, 1 - max(0.0, cosine(source, response))), cost=cost)
