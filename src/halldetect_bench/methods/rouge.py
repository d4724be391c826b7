"""`rouge-l`: the share of the response outside its longest common subsequence with the source.

It uses precision instead of F1: a summary leaves out most of its source, which recall penalises.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from halldetect.report import Cost
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Scored, documents

_WORD = re.compile(r"\w+")


class RougeL:
    """The score 1 - precision of ROUGE-L."""

    name = "rouge-l"

    @property
    def description(self) -> dict[str, Any]:
        """Return the method's name."""
        return {"name": self.name}

    def score_many(self, rows: Sequence[Row]) -> list[Scored]:
        """Score rows one after the other."""
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
    """Return the length of the longest common subsequence of two lists of words.

    Neighbouring cells in a row of the usual table differ by at most one, so a row fits into the
    bits of one integer (Hyyrö's form of the algorithm of Allison and Dix).
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
