"""The windows of a source: pages up to the verifier's limit, and runs of a few sentences.

The pages of a document cover it once. A short window shows the exact passage, and often settles a
claim at a fraction of the cost. `FittedTask` chooses those that a statement is judged against. Its
numbers lose nothing measurable against judging many more windows
(`benchmarks/results/method_gate.json`).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from operator import attrgetter

from halldetect.protocols import Verifier
from halldetect.reading.copies import Copies
from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex
from halldetect.reading.references import begins_with_pronoun
from halldetect.reading.sentences import trimmed

# Sentences to add before a run that begins with a pronoun.
MAX_LEAD_IN = 2
# Overlapping pages reserve this share for the last sentences of the previous page.
OVERLAP_SHARE, OVERLAP_SENTENCES = 1 / 16, 3
# A statement meets the best short window of each of these sizes, in sentences, and this number of
# pages: those that share most of its words; short windows are ranked relative to their length.
SHORT_SIZES, PAGES = (1, 3), 2
# The exponent of a window's length in its rank: twice the overlap is worth four times the tokens.
LENGTH_EXPONENT = 0.5
# The greatest number of documents whose runs of sentences are judged together.
JOINED = 3
# Joining two texts may change the number of tokens at the seam.
SEAM = 4
# A statement may take at most this share of the verifier's limit. Its size is rounded up to steps,
# so that its pages never depend on the other statements of a batch.
STATEMENT_SHARE, STATEMENT_STEP = 0.5, 64
_place = attrgetter("document", "span")


@dataclass(frozen=True, slots=True)
class Window:
    """A run of sentences of one document, or runs of several documents read together."""

    text: str  # as the verifier reads it
    document: int
    span: Span
    page: bool = True  # False for a short window
    scales: tuple[int, ...] = ()  # the granularities m of the paper
    others: tuple[tuple[int, Span], ...] = ()  # the runs of further documents, in order
    tokens: int = field(default=0, compare=False)  # 0 if they were not counted

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
    largest = max(sizes, default=1)
    rooms = range(largest, max(room, largest))
    even = bisect_left(rooms, True, key=lambda less: len(_run_starts(sizes, less)) <= fewest)
    bounds = [*_run_starts(sizes, largest + even), len(units)]
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
    filled = math.inf  # the first unit begins a run
    for at, size in enumerate(sizes):
        if filled + size > room:
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
    text, middle = counted.document.text, (sentence.start + sentence.end) // 2
    before = text.rfind(" ", sentence.start + 1, middle)
    after = text.find(" ", middle, sentence.end - 1)
    spaces = [at for at in (before, after) if at > 0]
    cut = min(spaces, key=lambda at: abs(at - middle), default=middle)
    halves = (Span(sentence.start, cut), trimmed(text, cut, sentence.end))
    return [part for half in halves if half for part in _cut_sentence(counted, half, room)]


@dataclass(frozen=True, slots=True)
class Task:
    """Statements about one source, its documents, and their names if they have any.

    With `windows` for each statement, these are judged, in their order, and no others.
    """

    statements: tuple[str, ...]
    documents: tuple[Document, ...] = ()
    names: tuple[str, ...] = ()
    windows: tuple[Sequence[Window], ...] = ()


class FittedTask:
    """A task with its windows fitted to the verifier's limit beside each statement.

    With `whole`, a statement meets all pages instead of the best ones; with `short`, no page.
    """

    def __init__(self, verifier: Verifier, task: Task, *, whole: bool, short: bool) -> None:
        self.task = task
        self._whole, self._short_only = whole, short
        self._verifier = verifier
        self._longest = int(verifier.max_tokens * STATEMENT_SHARE)
        self.sizes = verifier.count_tokens(task.statements)
        self._sources = [CountedDocument(verifier, document) for document in task.documents]
        self._pages: dict[int, list[Window]] = {}

    @cached_property
    def _copies(self) -> Copies:
        return Copies(self.task.documents)

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex(self.task.documents)

    @cached_property
    def _short(self) -> list[list[Window]]:
        """Return all short windows, by their size."""
        documents = self.task.documents
        return [
            self._windows([short_spans(document, size) for document in documents], page=False)
            for size in SHORT_SIZES
        ]

    def given(self, at: int) -> list[Window]:
        """Return the given windows of a statement, with their tokens."""
        windows = self.task.windows[at]
        counts = self._verifier.count_tokens([window.text for window in windows])
        counted = zip(windows, counts, strict=True)
        return [replace(window, tokens=count) for window, count in counted]

    def reason(self, at: int) -> str | None:
        """Return why a statement cannot be judged; None if it can."""
        if self.sizes[at] > self._longest:
            return f"the claim has {self.sizes[at]} tokens; the verifier reads {self._longest}"
        # A word without tokens would be ignored.
        unknown = self._verifier.unknown_words(self.task.statements[at])
        if not unknown:
            return None
        shown = ", ".join(repr(word[:40]) for word in dict.fromkeys(unknown[:3]))
        return f"the verifier cannot read {shown}"

    def _windows(self, spans: Iterable[Sequence[Span]], *, page: bool) -> list[Window]:
        """Return a window for each span of each document."""
        return [
            Window(source.texts[span], index, span, page, tokens=count)
            for index, (source, parts) in enumerate(zip(self._sources, spans, strict=True))
            for span, count in zip(parts, source.count(parts), strict=True)
        ]

    def plan(self, at: int) -> list[Window]:
        """Return the windows of a statement."""
        steps = -(-max(self.sizes[at], 1) // STATEMENT_STEP)
        room = self._verifier.max_tokens - min(steps * STATEMENT_STEP, self._longest)
        pages = [] if self._short_only else self._all_pages(room)
        if self._whole:
            return pages
        chosen = {window.places: window for window in self._ranked(at, pages, 0.0)[:PAGES]}
        short = {
            window.places: window
            for windows in self._short
            for window in self._best_run(at, windows, room)
        }
        # A page with the same span as a short window counts as a page.
        return [*(short | chosen).values(), *self._joined(at, room)]

    def _all_pages(self, room: int) -> list[Window]:
        """Return the pages of the source, cut once for each room."""
        if room not in self._pages:
            spans = [cut_pages(source, room, overlap=self._whole) for source in self._sources]
            pages = self._windows(spans, page=True)
            joined = self._whole and len(self.task.documents) > 1
            self._pages[room] = self._joined_pages(pages, room) if joined else pages
        return self._pages[room]

    def copy(self, at: int) -> Window | None:
        """Return the sentences that make a statement word for word."""
        found = self._copies.find(self.task.statements[at])
        if found is None:
            return None
        return Window(self.task.documents[found[0]].readable(found[1]), *found, page=False)

    def _best_run(
        self, at: int, windows: Sequence[Window], room: int, besides: Sequence[Window] = ()
    ) -> list[Window]:
        """Return the best short window that fits beside others, if any does."""
        fitting = [window for window in windows if window.tokens <= room]
        return self._ranked(at, fitting, LENGTH_EXPONENT, besides)[:1]

    def _ranked(
        self, at: int, windows: Sequence[Window], exponent: float, besides: Sequence[Window] = ()
    ) -> list[Window]:
        """Sort windows by the words that they share with a statement, relative to their length."""
        places, beside = [*map(_place, windows)], [*map(_place, besides)]
        shares = self._index.shares(self.task.statements[at], places, beside)
        ranks = [
            -share / math.pow(max(window.tokens + self.sizes[at], 1), exponent)
            for window, share in zip(windows, shares, strict=True)
        ]
        return [windows[at] for at in sorted(range(len(windows)), key=ranks.__getitem__)]

    def _joined(self, at: int, room: int) -> list[Window]:
        """Return the best runs of two documents as one window, then those of three."""
        chosen: list[Window] = []
        found: list[Window] = []
        count = min(len(self.task.documents), JOINED)
        while 1 < count > len(chosen):
            known = {window.document for window in chosen}
            left = room - sum(window.tokens + SEAM for window in chosen)
            others = [window for window in self._short[-1] if window.document not in known]
            best = self._best_run(at, others, left, chosen)
            if not best:
                break
            chosen = sorted([*chosen, *best], key=lambda window: window.document)
            if len(chosen) > 1:
                found.append(self._join(chosen, [window.text for window in chosen]))
        return found

    def _joined_pages(self, pages: Sequence[Window], room: int) -> list[Window]:
        """Return pages of several documents, each under its name, as few as possible."""
        names = self.task.names or [f"Document {at + 1}" for at in range(len(self.task.documents))]
        texts = [f"{names[window.document]}\n{window.text}" for window in pages]
        sizes = [size + SEAM for size in self._verifier.count_tokens(texts)]
        return [
            pages[start]
            if end - start == 1
            else self._join(pages[start:end], texts[start:end], "\n\n")
            for start, end in pairwise([*_run_starts(sizes, room), len(pages)])
        ]

    def _join(self, windows: Sequence[Window], texts: Sequence[str], seam: str = " ") -> Window:
        """Return one window with the texts of several."""
        (document, span), *others = [window.places[0] for window in windows]
        text = seam.join(texts)
        (tokens,) = self._verifier.count_tokens([text])
        return Window(text, document, span, windows[0].page, others=tuple(others), tokens=tokens)
