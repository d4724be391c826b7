"""The words that two texts share: the only module that compares content words.

Words are compared by their first letters, so that "elected", "election" and "elects" are equal.
Numbers are compared whole, scripts without spaces by two letters at a time. Words such as "the",
"of" and "was" do not count.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from halldetect.reading.document import Document, Span
from halldetect.reading.words import FUNCTION_WORDS, UNSPACED, WORD, forms, normalize, remembered

LETTERS = 5
_UNSPACED = re.compile(f"[{UNSPACED}]")
_RUN = re.compile(f"[{UNSPACED}]+|[^{UNSPACED}]+")


class ContentWord(NamedTuple):
    """A word with meaning; words with the same `key` are equal."""

    key: str
    start: int
    end: int


@remembered(4096, longest=1_000)
def content_words(text: str) -> tuple[ContentWord, ...]:
    """Return the content words of a text, in order."""
    return tuple(
        ContentWord(key, match.start() + start, match.start() + end)
        for match in WORD.finditer(text)
        for key, start, end in _keys(match[0])
    )


@remembered(4096)
def content_keys(text: str) -> frozenset[str]:
    """Return the keys of the content words of a text."""
    return frozenset(key for word in WORD.findall(text) for key, _, _ in _keys(word))


@remembered(16_384, longest=40)
def _keys(word: str) -> tuple[tuple[str, int, int], ...]:
    """Return the keys of a word with their places in it.

    A run without spaces has a key for two letters at a time, and for the numbers in it.
    """
    found: list[tuple[str, int, int]] = []
    for norm, _ in forms(word):
        if _UNSPACED.search(norm) is not None:
            for part in _RUN.finditer(word):
                size = 2 if _UNSPACED.match(part[0]) else len(part[0])
                for start in range(part.start(), max(part.end() - size, part.start()) + 1):
                    end = min(start + size, part.end())
                    found.append((normalize(word[start:end]), start, end))
        elif norm not in FUNCTION_WORDS and norm != "'s" and any(map(str.isalnum, norm)):
            key = norm if any(map(str.isdigit, norm)) else norm[:LETTERS]
            found.append((key, 0, len(word)))
    return tuple(found)


def shared_part(keys: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of the keys, from 0 to 1, found in another text; 0 without any key."""
    return len(keys & other) / max(len(keys), 1)


class WordIndex:
    """The content words of documents by position, and the sentences that contain each."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._ends = [[sentence.end for sentence in document.sentences] for document in documents]
        self._sentences = sum(map(len, self._ends))
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
        keys = dict.fromkeys(word.key for word in content_words(claim))
        weights = {
            key: math.log1p(self._sentences / (self._sentences_with(key) + 0.5))
            for key in keys
            if not any(_within(self._places[at].get(key, ()), span) for at, span in besides)
        }
        total = math.fsum(weights.values())
        if total == 0.0:
            return [1.0 for _ in parts]
        # Each list ends with a place after every span.
        known = [
            [([*places[key], math.inf], weight) for key, weight in weights.items() if key in places]
            for places in self._places
        ]
        return [
            math.fsum(
                [
                    weight
                    for places, weight in known[at]
                    if places[bisect_left(places, span.start)] < span.end
                ]
            )
            / total
            for at, span in parts
        ]

    def _sentences_with(self, key: str) -> int:
        return sum(
            len({bisect_right(ends, place) for place in places.get(key, ())})
            for ends, places in zip(self._ends, self._places, strict=True)
        )


@remembered(128, longest=16_000)
def _places(text: str) -> dict[str, list[int]]:
    """Return the places of each content word."""
    found: dict[str, list[int]] = {}
    for match in WORD.finditer(text):
        for key, start, _ in _keys(match[0]):
            found.setdefault(key, []).append(match.start() + start)
    return found


def _within(places: Sequence[int], span: Span) -> bool:
    at = bisect_left(places, span.start)
    return at < len(places) and places[at] < span.end
