"""Claims by rule, without a model: sentences as they stand, with or without their parts."""

from __future__ import annotations

from typing import Any

from halldetect.claims.extraction import Draft
from halldetect.claims.guard.sentence_parts import sentence_parts
from halldetect.reading.sentences import sentences


class SentenceExtractor:
    """Proposes every sentence of a block, word for word."""

    name = "sentences"

    @property
    def description(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}

    def draft(self, block: str, limit: int) -> Draft:
        """The first `limit` sentences of the block."""
        spans = sentences(block)
        return Draft(tuple(span.cut(block) for span in spans[:limit]))


class ClauseExtractor:
    """Proposes every sentence of a block, and its parts where the rules are sure of them."""

    name = "clauses"

    @property
    def description(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}

    def draft(self, block: str, limit: int) -> Draft:
        """The first `limit` sentences, and parts of them as far as the limit allows."""
        texts = [span.cut(block) for span in sentences(block)[: max(limit, 0)]]
        spare = limit - len(texts)
        claims: list[str] = []
        for text in texts:
            parts = [part for part, _ in sentence_parts(text)]
            claims.append(text)
            if len(parts) <= spare:
                claims += parts
                spare -= len(parts)
        return Draft(tuple(claims))
