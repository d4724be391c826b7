"""Windows that fit what a verifier can read, of sources of any length.

A document is cut into pages once: runs of whole sentences, as few as fit and as even as can be.
Where a window is too long, the pages it overlaps replace it, at whatever scale, so that all coarse
scales of a long source together are one pass over it. If even the finest windows are long, finer
scales are added by doubling. A source of any length is thus read about as many times as one that
fits, and the cost grows with its length and no faster.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.verification.scales import Window, group_spans
from halldetect.verification.tokens import SourceTokens

# Pages that share sentences are cut shorter by this share of the room, for sentences of the page
# before, of which they take so many at most.
OVERLAP_SHARE, OVERLAP_SENTENCES = 1 / 16, 3
# Finer scales are added where the finest scale has at least MIN_SCALE windows per document and
# these take up more than MAX_FILLED of what can be read on average, until they take up as little
# as ENOUGH_FILLED.
MIN_SCALE, MAX_FILLED, ENOUGH_FILLED = 16, 1 / 2, 1 / 16


def fit_windows(
    windows: Sequence[Window],
    documents: Sequence[Document],
    tokens: SourceTokens,
    room: int,
    *,
    finer: bool,
    overlap: bool = False,
) -> tuple[Window, ...]:
    """The windows that fit and, for the others, pages; with `finer` windows of finer scales too.

    windows    of the documents, in their order
    documents  of the source
    tokens     of the documents
    room       the greatest number of tokens of a window
    finer      whether to add finer scales where all windows of a document are long
    overlap    whether a page begins with the last sentences of the page before it
    """
    kept: dict[tuple[int, Span], Window] = {}
    for index, document in enumerate(documents):
        wanted = [(window.span, window.scales) for window in windows if window.document == index]
        if finer and wanted:
            finest = max(scale for _, scales in wanted for scale in scales)
            for scale in finer_scales(tokens, index, document, finest, room):
                wanted += [(span, (scale,)) for span in group_spans(document, scale)]
        counts = tokens.count(index, [span for span, _ in wanted])
        pages: list[Span] | None = None
        for (span, scales), count in zip(wanted, counts, strict=True):
            fitting = [span]
            if count > room:
                if pages is None:
                    pages = cut_pages(tokens, index, document, room, overlap=overlap)
                fitting = _overlapping(pages, span)
            for part in fitting:
                _keep(kept, Window(document.readable(part), index, part, scales))
    return tuple(kept.values())


def truncate_windows(
    windows: Sequence[Window], verifier: Verifier, tokens: SourceTokens, room: int
) -> tuple[Window, ...]:
    """The windows, each cut off where the verifier stops reading, as in the paper."""
    kept: dict[tuple[int, Span], Window] = {}
    for window, count in zip(windows, tokens.count_windows(windows), strict=True):
        _keep(kept, window if count <= room else _beginning(verifier, window, room))
    return tuple(kept.values())


def _keep(kept: dict[tuple[int, Span], Window], window: Window) -> None:
    """Add a window; one of the same span gets its scales."""
    known = kept.get((window.document, window.span))
    if known is not None:
        window = replace(known, scales=tuple(sorted({*known.scales, *window.scales})))
    kept[window.document, window.span] = window


def _overlapping(pages: Sequence[Span], span: Span) -> list[Span]:
    first = bisect_right(pages, span.start, key=lambda page: page.end)
    last = first
    while last < len(pages) and pages[last].start < span.end:
        last += 1
    return list(pages[first:last])


def finer_scales(
    tokens: SourceTokens, index: int, document: Document, finest: int, room: int
) -> list[int]:
    """The scales that a long document needs beyond its finest."""
    total = sum(tokens.count(index, document.sentences))
    added: list[int] = []
    if finest < MIN_SCALE or total <= finest * room * MAX_FILLED:
        return added
    while finest < len(document.sentences) and total > finest * room * ENOUGH_FILLED:
        finest *= 2
        if total <= finest * room:
            added.append(finest)
    return added


def cut_pages(
    tokens: SourceTokens, index: int, document: Document, room: int, *, overlap: bool = False
) -> list[Span]:
    """The document in the fewest runs of sentences that fit, the longest as short as can be.

    A sentence that is too long is cut at spaces first. With `overlap` what two sentences say
    together is on one page even where a page ends between them.
    """
    if overlap:
        pages = cut_pages(tokens, index, document, room - int(room * OVERLAP_SHARE))
        return _overlapped(tokens, index, document, pages, room)
    units: list[Span] = []
    counts = tokens.count(index, document.sentences)
    for span, count in zip(document.sentences, counts, strict=True):
        units += [span] if count <= room else cut_sentence(tokens, index, document, span, room)
    sizes = tokens.count(index, units)
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
    return [page for run in runs for page in _halved(tokens, index, run, room)]


def _overlapped(
    tokens: SourceTokens, index: int, document: Document, pages: Sequence[Span], room: int
) -> list[Span]:
    """Pages that begin with as many sentences of the page before as fit, up to the limit."""
    found = list(pages[:1])
    for before, page in pairwise(pages):
        starts = [span.start for span in document.sentences_in(before)][-OVERLAP_SENTENCES:]
        # A page that is a part of one long sentence is not taken into the next as a whole.
        longer = [Span(start, page.end) for start in starts if start > before.start]
        counts = tokens.count(index, longer)
        fitting = [span for span, count in zip(longer, counts, strict=True) if count <= room]
        found.append(fitting[0] if fitting else page)
    return found


def _run_starts(sizes: Sequence[int], room: int) -> list[int]:
    """Where each run begins if every run takes as many units as fit."""
    starts: list[int] = []
    filled = 0
    for at, size in enumerate(sizes):
        if not starts or filled + size > room:
            starts.append(at)
            filled = 0
        filled += size
    return starts


def _halved(tokens: SourceTokens, index: int, run: list[Span], room: int) -> list[Span]:
    """The run, or its halves: what stands between two sentences may have tokens of its own."""
    span = Span(run[0].start, run[-1].end)
    if len(run) == 1 or tokens.count(index, [span])[0] <= room:
        return [span]
    middle = len(run) // 2
    return [
        *_halved(tokens, index, run[:middle], room),
        *_halved(tokens, index, run[middle:], room),
    ]


def cut_sentence(
    tokens: SourceTokens, index: int, document: Document, sentence: Span, room: int
) -> list[Span]:
    """The sentence halved at the space nearest its middle until every part fits."""
    if tokens.count(index, [sentence])[0] <= room or len(sentence) < 2:
        return [sentence]
    text = document.text
    middle = (sentence.start + sentence.end) // 2
    before = text.rfind(" ", sentence.start + 1, middle)
    after = text.find(" ", middle, sentence.end - 1)
    spaces = [at for at in (before, after) if at > 0]
    cut = min(spaces, key=lambda at: abs(at - middle)) if spaces else middle
    left, right = Span(sentence.start, cut), Span(cut, sentence.end)
    while right.start < right.end - 1 and text[right.start].isspace():
        right = Span(right.start + 1, right.end)
    return [
        *cut_sentence(tokens, index, document, left, room),
        *cut_sentence(tokens, index, document, right, room),
    ]


def _beginning(verifier: Verifier, window: Window, room: int) -> Window:
    """As much of the beginning of a window as fits."""
    fits, over = 0, 16
    while over < len(window.text) and verifier.count_tokens([window.text[:over]])[0] <= room:
        fits, over = over, 2 * over
    over = min(over, len(window.text))
    while over - fits > 1:
        middle = (fits + over) // 2
        if verifier.count_tokens([window.text[:middle]])[0] <= room:
            fits = middle
        else:
            over = middle
    text = window.text[:fits].rstrip()
    span = Span(window.span.start, min(window.span.start + len(text), window.span.end))
    return Window(text, window.document, span, window.scales)
