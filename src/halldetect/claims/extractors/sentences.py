"""Claims without a model: the sentences as they stand."""

from __future__ import annotations

from typing import Any

from halldetect.claims.extraction import Draft
from halldetect.text.sentences import sentences


class SentenceExtractor:
    """Proposes every sentence of a block, word for word."""

    name = "sentences"

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name}

    def draft(self, block: str, limit: int) -> Draft:
        spans = sentences(block)
        return Draft(tuple(span.cut(block) for span in spans[:limit]))
