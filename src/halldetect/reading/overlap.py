"""The words that two texts share: the only module that compares content words.

Words are compared by their first letters, so that "elected", "election" and "elects" are equal.
Numbers are compared whole, scripts without spaces by two letters at a time. Words such as "the",
"of" and "was" do not count.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from halldetect.reading.document import Document, Span
from halldetect.reading.words import (
    FUNCTION_WORDS,
    UNSPACED,
    WORD,
    forms,
    normalize,
    remembered,
    remembered_words,
)

LETTERS = 5
_UNSPACED = re.compile(f"[{UNSPACED}]")
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")
_CHUNK = re.compile(r"\S+")


# The places of some words in a document, in order, and the word at each place.
_Hits = tuple[list[int], list[str]]


class ContentWord(NamedTuple):
    """A word with meaning; words with the same `key` are equal."""

    key: str
    start: int
    end: int


@remembered(4096, longest=1_000)
def content_words(text: str) -> tuple[ContentWord, ...]:
    """Return the content words of a text, in order."""
    return tuple(
        ContentWord(key, chunk.start() + start, chunk.start() + end)
        for chunk in _CHUNK.finditer(text)
        for key, start, end in _keys(chunk[0])
    )


@remembered(4096)
def content_keys(text: str) -> frozenset[str]:
    """Return the keys of the content words of a text."""
    return frozenset([key for chunk in set(text.split()) for key, _, _ in _keys(chunk)])


@remembered_words
def _keys(chunk: str) -> tuple[tuple[str, int, int], ...]:
    """Return the keys of the words in a text without white space, with their places.

    A word without spaces has a key for two letters at a time, and for the numbers in it.
    """
    found: list[tuple[str, int, int]] = []
    for match in WORD.finditer(chunk):
        for norm, _ in forms(match[0]):
            if _UNSPACED.search(norm) is not None:
                for part in _RUN.finditer(chunk, *match.span()):
                    size = 2 if _UNSPACED.match(part[0]) else len(part[0])
                    for start in range(part.start(), max(part.end() - size, part.start()) + 1):
                        end = min(start + size, part.end())
                        found.append((normalize(chunk[start:end]), start, end))
            elif norm not in FUNCTION_WORDS and norm != "'s" and any(map(str.isalnum, norm)):
                key = norm if any(map(str.isdigit, norm)) else norm[:LETTERS]
                found.append((key, *match.span()))
    return tuple(found)


def shared_part(keys: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the keys, from 0 to 1, found in another text; 0 without any key."""
    return len(keys & other) / max(len(keys), 1)


class WordIndex:
    """The content words of documents by position, and the sentences that contain each."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._ends = [[sentence.end for sentence in document.sentences] for document in documents]
        self._sentences = sum(map(len, self._ends))
        self._hits_of: dict[str, tuple[dict[str, float], list[_Hits]]] = {}
        # A document without sentences shares no words.
        self._places = [_places(item.text) if item.sentences else {} for item in documents]

    def shares(
        self,
        claim: str,
        parts: Iterable[tuple[int, Span]],
        besides: Sequence[tuple[int, Span]] = (),
    ) -> list[float]:
        """Return for each part the share, from 0 to 1, of the claim's content words in it.

        Rare words count more than common ones, those that occur `besides` do not count. Every part
        gets 1 if no content word counts. A part is the index of a document, and a span in it.
        """
        weights, hits = self._hits(claim)
        if besides:
            known = frozenset[str]().union(*(_inside(hits[at], span) for at, span in besides))
            weights = {key: 0.0 if key in known else weights[key] for key in weights}
        total = math.fsum(weights.values())
        if total == 0.0:
            return [1.0 for _ in parts]
        return [
            math.fsum(map(weights.__getitem__, _inside(hits[at], span))) / total
            for at, span in parts
        ]

    def _hits(self, claim: str) -> tuple[dict[str, float], list[_Hits]]:
        """Return the weights of the content words of a claim, and their places by document."""
        if claim not in self._hits_of:
            keys = dict.fromkeys([word.key for word in content_words(claim)])
            found = [
                sorted((place, key) for key in keys for place in places.get(key, ()))
                for places in self._places
            ]
            counts: Counter[str] = Counter()
            for ends, hits in zip(self._ends, found, strict=True):
                counts.update(key for _, key in {(bisect_right(ends, at), key) for at, key in hits})
            weights = {key: math.log1p(self._sentences / (counts[key] + 0.5)) for key in keys}
            split = [([at for at, _ in hits], [key for _, key in hits]) for hits in found]
            self._hits_of[claim] = weights, split
        return self._hits_of[claim]


@remembered(128, longest=16_000)
def _places(text: str) -> dict[str, list[int]]:
    """Return the places of each content word."""
    found: dict[str, list[int]] = {}
    for word in content_words(text):
        found.setdefault(word.key, []).append(word.start)
    return found


def _inside(hits: _Hits, span: Span) -> set[str]:
    places, keys = hits
    return set(keys[bisect_left(places, span.start) : bisect_left(places, span.end)])
