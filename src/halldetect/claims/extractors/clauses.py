"""Claims by rule, without a model: every sentence in its finest parts that the guard allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from halldetect.claims.extraction import Draft
from halldetect.claims.extractors.cover import MOST_CLAIMS, finest
from halldetect.claims.extractors.names import Names
from halldetect.claims.extractors.splits import split
from halldetect.claims.guard.assertions import plain
from halldetect.text.sentences import sentences


def shares(count: int, limit: int) -> Iterator[int]:
    """How many claims each of so many sentences may give, so that every one gives at least one."""
    spare = limit - count
    for _ in range(count):
        extra = max(0, min(MOST_CLAIMS - 1, spare))
        spare -= extra
        yield 1 + extra


class ClauseExtractor:
    """Takes each sentence apart as far as the guard lets it; the same in, the same out."""

    name = "clauses"

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name}

    def draft(self, block: str, limit: int) -> Draft:
        claims: list[str] = []
        spans = sentences(block)[: max(limit, 0)]
        bare = [plain(block, span, starts_line=True).cut(block) for span in spans]
        names = Names(bare)
        for number, most in enumerate(shares(len(bare), limit)):
            found = split(bare[number])
            if found.splittable and most > 1:
                texts = [found.text(claim) for claim in finest(found, most)]
            else:
                texts = [spans[number].cut(block)]
            claims += [names.put(text, number) for text in texts]
        return Draft(tuple(claims))
