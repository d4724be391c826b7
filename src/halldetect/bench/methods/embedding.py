"""Embedding divergence: 1 - the cosine of the source's and the response's vectors.

With Qwen's embedding model this is what the paper calls QwenScore. A cosine below zero counts
as zero.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from halldetect.bench.datasets.rows import Row
from halldetect.bench.embed import Embedder, cosine
from halldetect.bench.methods.scored import Scored, documents, has_words
from halldetect.report import Cost


class EmbeddingDivergence:
    name = "embedding"

    def __init__(self, embedder: Embedder) -> None:
        self.embedder = embedder

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name, "embedder": self.embedder.description}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        return [self._one(row) for row in rows]

    def _one(self, row: Row) -> Scored:
        start = time.perf_counter()
        if not has_words(row.response):
            return Scored(None, "the response has no words")
        source, response = self.embedder.embed(["\n\n".join(documents(row)), row.response])
        cost = Cost(
            verifier_tokens=source.tokens + response.tokens,
            seconds={"embed": time.perf_counter() - start},
        )
        return Scored(min(1.0, 1 - max(0.0, cosine(source, response))), cost=cost)
