"""The windows of a source: pages up to the verifier's limit, and runs of a few sentences.

The pages of a document cover it once. A short window shows the exact passage, and often settles a
claim at a fraction of the cost.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.reading.references import begins_with_pronoun

# Sentences to add before a run that begins with a pronoun.
MAX_LEAD_IN = 2
# Overlapping pages reserve this share for the last sentences of the previous page.
OVERLAP_SHARE, OVERLAP_SENTENCES = 1 / 16, 3


@dataclass(frozen=True, slots=True)
class Window:
    """A run of sentences of one document, or runs of several documents read together."""

    text: str  # as the verifier reads it
    document: int
    span: Span
    page: bool = True  # False for a short window
    scales: tuple[int, ...] = ()  # the granularities m of the paper
    others: tuple[tuple[int, Span], ...] = ()  # the runs of further documents, in order

    @property
    def places(self) -> tuple[tuple[int, Span], ...]:
        """Return the document and the span of every run."""
        return (self.document, self.span), *self.others


class CountedDocument:
    """A document whose parts are counted in the tokens of a verifier, each of them once."""

    def __init__(self, verifier: Verifier, document: Document) -> None:
        self.document = document
        self._verifier = verifier
        self._counts: dict[Span, int] = {}
        self.texts: dict[Span, str] = {}

    def count(self, spans: Sequence[Span]) -> list[int]:
        """Return the number of tokens of each span, without special tokens."""
        new = [span for span in dict.fromkeys(spans) if span not in self._counts]
        self.texts |= {span: self.document.readable(span) for span in new}
        counts = self._verifier.count_tokens([self.texts[span] for span in new])
        self._counts.update(zip(new, counts, strict=True))
        return [self._counts[span] for span in spans]


def short_spans(document: Document, size: int) -> list[Span]:
    """Return every run of `size` sentences; for a shorter document, one run.

    A run that begins with a pronoun includes the sentence before it, at most twice.
    """
    sentences = document.sentences
    spans = []
    for start in range(max(len(sentences) - size + 1, min(len(sentences), 1))):
        first = start
        while (
            first > 0
            and start - first < MAX_LEAD_IN
            and begins_with_pronoun(sentences[first].cut(document.text))
        ):
            first -= 1
        last = min(start + size, len(sentences)) - 1
        spans.append(Span(sentences[first].start, sentences[last].end))
    return spans


def cut_pages(counted: CountedDocument, room: int, *, overlap: bool = False) -> list[Span]:
    """Return the document in the fewest runs of sentences that fit, as even as possible.

    A sentence of more tokens than `room` is cut at spaces. With `overlap`, a page begins with the
    last sentences of the previous page.
    """
    if overlap:
        return _overlapped(counted, cut_pages(counted, room - int(room * OVERLAP_SHARE)), room)
    sentences = counted.document.sentences
    units: list[Span] = []
    for span, count in zip(sentences, counted.count(sentences), strict=True):
        units += [span] if count <= room else _cut_sentence(counted, span, room)
    sizes = counted.count(units)
    fewest = len(_run_starts(sizes, room))
    low, high = max(sizes, default=1), max(room, max(sizes, default=1))
    while low < high:
        middle = (low + high) // 2
        if len(_run_starts(sizes, middle)) <= fewest:
            high = middle
        else:
            low = middle + 1
    bounds = [*_run_starts(sizes, low), len(units)]
    runs = [units[start:end] for start, end in pairwise(bounds)]
    return [page for run in runs for page in _halved(counted, run, room)]


def _overlapped(counted: CountedDocument, pages: Sequence[Span], room: int) -> list[Span]:
    """Begin each page with the last sentences of the previous page that fit, up to the limit."""
    found = list(pages[:1])
    for before, page in pairwise(pages):
        starts = [span.start for span in counted.document.sentences_in(before)][-OVERLAP_SENTENCES:]
        # A page that is part of one long sentence is not repeated whole in the next page.
        longer = [Span(start, page.end) for start in starts if start > before.start]
        sizes = zip(longer, counted.count(longer), strict=True)
        found.append(next((span for span, count in sizes if count <= room), page))
    return found


def _run_starts(sizes: Sequence[int], room: int) -> list[int]:
    """Return the start of each run if every run takes all units that fit."""
    starts: list[int] = []
    filled = 0
    for at, size in enumerate(sizes):
        if not starts or filled + size > room:
            starts.append(at)
            filled = 0
        filled += size
    return starts


def _halved(counted: CountedDocument, run: list[Span], room: int) -> list[Span]:
    """Return the run, or its halves: text between two sentences may have tokens of its own."""
    span = Span(run[0].start, run[-1].end)
    if len(run) == 1 or counted.count([span])[0] <= room:
        return [span]
    middle = len(run) // 2
    return [*_halved(counted, run[:middle], room), *_halved(counted, run[middle:], room)]


def _cut_sentence(counted: CountedDocument, sentence: Span, room: int) -> list[Span]:
    """Halve a sentence at the space nearest its middle until every part fits."""
    if counted.count([sentence])[0] <= room or len(sentence) < 2:
        return [sentence]
    text = counted.document.text
    middle = (sentence.start + sentence.end) // 2
    before = text.rfind(" ", sentence.start + 1, middle)
    after = text.find(" ", middle, sentence.end - 1)
    spaces = [at for at in (before, after) if at > 0]
    cut = min(spaces, key=lambda at: abs(at - middle)) if spaces else middle
    left, right = Span(sentence.start, cut), Span(cut, sentence.end)
    while right.start < right.end - 1 and text[right.start].isspace():
        right = Span(right.start + 1, right.end)
    return [part for half in (left, right) for part in _cut_sentence(counted, half, room)]
