"""ROUGE-L: the share of the response's words not in its longest common subsequence with the source.

Precision, not F1: a summary must leave most of its source out, and recall would punish that.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from halldetect.report import Cost
from halldetect_bench.datasets.rows import Row
from halldetect_bench.methods.scored import Scored, documents

_WORD = re.compile(r"\w+")


class RougeL:
    name = "rouge-l"

    @property
    def description(self) -> dict[str, Any]:
        return {"name": self.name}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        return [_scored(row) for row in rows]


def _scored(row: Row) -> Scored:
    start = time.perf_counter()
    response = _words(row.response)
    common = common_length(_words("\n".join(documents(row))), response)
    cost = Cost(seconds={"score": time.perf_counter() - start})
    if not response:
        return Scored(None, "the response has no words", cost=cost)
    return Scored(1 - common / len(response), cost=cost)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def common_length(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence, one bit of an integer for each word.

    The rows of the usual table differ by at most one from place to place, so a row fits into
    the bits of one number (Hyyrö's form of Allison and Dix's algorithm).
    """
    places: dict[str, int] = {}
    for place, word in enumerate(other):
        places[word] = places.get(word, 0) | 1 << place
    every = (1 << len(other)) - 1
    row = every
    for word in one:
        matches = row & places.get(word, 0)
        row = (row + matches | row - matches) & every
    return len(other) - row.bit_count()
