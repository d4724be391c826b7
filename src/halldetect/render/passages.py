"""Which part of a window proves a point: a window may be a whole document."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from halldetect.report import ClaimReport, Evidence, Report
from halldetect.text.sentences import Span, sentences

_WORD = re.compile(r"\w+(?:[.,:]\d+)*")
# Inflections share their beginning; six letters tell most words apart and join most forms.
_STEM = 6
_COMMON = frozenset(
    "a an and are as at be been but by for from had has have he her his in is it its of on or "
    "she so than that the their them then there they this to was we were which who will with "
    "you your".split()
)


def _stems(text: str) -> list[tuple[str, int, int]]:
    return [
        (match[0].casefold()[:_STEM], match.start(), match.end())
        for match in _WORD.finditer(text)
        if match[0].casefold() not in _COMMON
    ]


@dataclass(frozen=True, slots=True)
class _Sentence:
    span: Span
    stems: frozenset[str]


class Passages:
    """Finds the sentence of a window that a claim is about; each window is read once."""

    def __init__(self, report: Report) -> None:
        self._documents = report.documents
        self._windows: dict[tuple[int, Span], list[_Sentence]] = {}

    def focus(self, claim: ClaimReport, evidence: Evidence) -> Span:
        """The span, in its document, of the sentence sharing most with the claim."""
        window = self._read(evidence)
        if len(window) < 2:
            return window[0].span if window else evidence.span
        wanted = {stem for stem, _, _ in _stems(claim.text)}
        shared = [wanted & sentence.stems for sentence in window]
        spread = Counter(stem for found in shared for stem in found)
        # A word found in few sentences of the window points at its sentence more sharply.
        weights = [
            math.fsum(math.log1p(len(window) / spread[stem]) for stem in sorted(found))
            for found in shared
        ]
        return window[weights.index(max(weights))].span

    def quote(self, claim: ClaimReport, evidence: Evidence, limit: int) -> str:
        """The proving sentence, shortened around what it shares with the claim."""
        sentence = self.focus(claim, evidence).cut(self._documents[evidence.document])
        return shorten(sentence, claim.text, limit)

    def _read(self, evidence: Evidence) -> list[_Sentence]:
        key = (evidence.document, evidence.span)
        if key not in self._windows:
            start = evidence.span.start
            text = evidence.span.cut(self._documents[evidence.document])
            self._windows[key] = [
                _Sentence(
                    Span(start + found.start, start + found.end),
                    frozenset(stem for stem, _, _ in _stems(found.cut(text))),
                )
                for found in sentences(text)
            ]
        return self._windows[key]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text and the (indices of) spans that all cover it."""

    start: int
    end: int
    covers: tuple[int, ...]


def segments(length: int, spans: Sequence[Span | None]) -> list[Segment]:
    """A text of this length cut wherever one of the spans, which may overlap, begins or ends."""
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for index, span in enumerate(spans):
        if span is not None and 0 <= span.start < min(span.end, length):
            starts.setdefault(span.start, []).append(index)
            ends.setdefault(min(span.end, length), []).append(index)
    cuts = sorted({0, length, *starts, *ends})
    covering: set[int] = set()
    found = []
    for start, end in pairwise(cuts):
        covering.difference_update(ends.get(start, ()))
        covering.update(starts.get(start, ()))
        found.append(Segment(start, end, tuple(sorted(covering))))
    return found


def shorten(text: str, about: str, limit: int) -> str:
    """At most about `limit` characters of the text, around the words it shares with `about`."""
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    wanted = {stem for stem, _, _ in _stems(about)}
    hits = [(start, end) for stem, start, end in _stems(text) if stem in wanted]
    best, most = (0, 0), 0
    right = 0
    for left, (start, _) in enumerate(hits):
        right = max(right, left)
        while right + 1 < len(hits) and hits[right + 1][1] - start <= limit:
            right += 1
        if right - left + 1 > most:
            best, most = (start, hits[right][1]), right - left + 1
    spare = max(0, limit - (best[1] - best[0]))
    start = max(0, min(best[0] - spare // 2, len(text) - limit))
    end = min(len(text), start + limit)
    if start > 0:
        start = _word_edge(text, start, best[0], forward=True)
    if end < len(text):
        end = _word_edge(text, end, max(best[1], start + 1), forward=False)
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")


def _word_edge(text: str, at: int, stop: int, *, forward: bool) -> int:
    """The nearest word boundary on the way to `stop`; `at` itself inside one endless word."""
    if forward:
        space = text.find(" ", at, stop)
        return at if space < 0 else space + 1
    space = text.rfind(" ", stop, at)
    return at if space < 0 else space
