"""How much of a claim's wording a window of the source shares: cheap, and no model needed.

The source is read once into an index of where each content word stands; the promise of any
window for any claim is then looked up, without a copy of the source for each claim.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence

from halldetect.text.sentences import Span
from halldetect.text.words import EVERYDAY, words
from halldetect.windows.scales import Window

# Words are compared by their first letters: "elected", "election" and "elects" are one.
LETTERS = 5


class Promise:
    """The content words of the documents, by place, and how telling each is."""

    def __init__(self, documents: Sequence[str], windows: Iterable[Window]) -> None:
        spans: list[set[Span]] = [set() for _ in documents]
        for window in windows:
            spans[window.document].update(window.sentences)
        self._places: list[dict[str, list[int]]] = []
        self._found_in: dict[str, int] = {}
        self._sentences = 0
        for text, found in zip(documents, spans, strict=True):
            ends = sorted(span.end for span in found)
            self._sentences += len(ends)
            self._places.append(self._read(text, ends))

    def _read(self, text: str, ends: Sequence[int]) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        last: dict[str, int] = {}
        for word in words(text):
            key = _key(word.norm)
            if key is None:
                continue
            places.setdefault(key, []).append(word.start)
            sentence = bisect_left(ends, word.end)
            if last.get(key) != sentence:
                last[key] = sentence
                self._found_in[key] = self._found_in.get(key, 0) + 1
        return places

    def of(self, claim: str, windows: Sequence[Window]) -> list[float]:
        """For each window the share, from 0 to 1, of the claim's content words that it has.

        A word counts the more, the fewer sentences of the source have it.
        """
        keys = dict.fromkeys(filter(None, (_key(word.norm) for word in words(claim))))
        weights = {key: self._weight(key) for key in keys}
        whole = math.fsum(weights.values())
        if whole == 0.0:  # nothing to go by: no window may be passed over
            return [1.0] * len(windows)
        return [
            math.fsum(weight for key, weight in weights.items() if self._has(window, key)) / whole
            for window in windows
        ]

    def _weight(self, key: str) -> float:
        return math.log1p(self._sentences / (self._found_in.get(key, 0) + 0.5))

    def _has(self, window: Window, key: str) -> bool:
        places = self._places[window.document].get(key, ())
        at = bisect_left(places, window.span.start)
        return at < len(places) and places[at] < window.span.end


def _key(norm: str) -> str | None:
    """What a word is compared by; None for one that says nothing of what a text is about."""
    if norm in EVERYDAY or norm == "'s" or not any(map(str.isalnum, norm)):
        return None
    return norm if any(map(str.isdigit, norm)) else norm[:LETTERS]
