"""Windows that fit what a verifier reads, of sources of any length.

A source is cut into pages once: runs of whole sentences, as few as fit and as even as can be.
Where a window is too long, the pages it touches stand for it, at whatever scale, so that coarse
scales of a long source are one pass over it, not one each. If even the finest windows are long,
finer scales follow, by doubling. A source of any length is thus read about as many times as one
that fits, and its cost grows with its length and no faster.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import pairwise

from halldetect.protocols import Verifier
from halldetect.text.sentences import Span
from halldetect.windows.scales import Window, cut
from halldetect.windows.tokens import Reading

# Finer scales are added to one at least so fine, where its windows take up more than this share
# of what can be read on average, until they take up as little as a sixteenth.
FINE, TOO_COARSE, FINEST = 16, 1 / 2, 1 / 16


def divide(
    windows: Sequence[Window], documents: Sequence[str], reading: Reading, room: int, finer: bool
) -> tuple[Window, ...]:
    """The windows that fit and, for the others, pages and parts of finer scales."""
    found: dict[tuple[int, Span], Window] = {}

    def keep(document: int, sentences: Sequence[Span], scales: Sequence[int]) -> None:
        span = Span(sentences[0].start, sentences[-1].end)
        known = found.get((document, span))
        merged = tuple(sorted({*scales, *(known.scales if known else ())}))
        text = known.text if known else span.cut(documents[document])
        found[document, span] = Window(text, document, span, merged, tuple(sentences))

    for document in range(len(documents)):
        own = [window for window in windows if window.document == document]
        counts = reading.count(document, [window.span for window in own])
        pages: list[list[Span]] | None = None

        def fill(
            sentences: Sequence[Span], scales: Sequence[int], document: int = document
        ) -> None:
            nonlocal pages
            if pages is None:
                pages = paginate(reading, document, documents[document], room)
            first = bisect_right(pages, sentences[0].start, key=lambda page: page[-1].end)
            for at in range(first, len(pages)):
                if pages[at][0].start >= sentences[-1].end:
                    break
                keep(document, pages[at], scales)

        for window, tokens in zip(own, counts, strict=True):
            if tokens <= room:
                key = (document, window.span)
                if key in found:
                    keep(document, window.sentences, window.scales)
                else:
                    found[key] = window
            else:
                fill(window.sentences, window.scales)
        if not finer or not own:
            continue
        finest = max(scale for window in own for scale in window.scales)
        for scale in finer_scales(reading, document, finest, room):
            spans = reading.sentences[document]
            groups = [spans[group.start : group.stop] for group in cut(len(spans), scale)]
            sizes = reading.count(document, [Span(g[0].start, g[-1].end) for g in groups])
            for group, tokens in zip(groups, sizes, strict=True):
                if tokens <= room:
                    keep(document, group, [scale])
                else:
                    fill(group, [scale])
    return tuple(found.values())


def finer_scales(reading: Reading, document: int, finest: int, room: int) -> list[int]:
    """The scales that a long document needs beyond its finest."""
    spans = reading.sentences[document]
    total = sum(reading.count(document, spans))
    added: list[int] = []
    if finest < FINE or total <= finest * room * TOO_COARSE:
        return added
    while finest < len(spans) and total > finest * room * FINEST:
        finest *= 2
        if total <= finest * room:
            added.append(finest)
    return added


def paginate(reading: Reading, document: int, text: str, room: int) -> list[list[Span]]:
    """The document in the fewest runs that fit, the longest as short as can be.

    A sentence too long to be read is cut at spaces first.
    """
    units: list[Span] = []
    spans = reading.sentences[document]
    for span, tokens in zip(spans, reading.count(document, spans), strict=True):
        units.extend([span] if tokens <= room else pieces(reading, document, text, span, room))
    sizes = reading.count(document, units)
    few = len(_filled(sizes, room))
    low, high = max(sizes, default=1), max(room, max(sizes, default=1))
    while low < high:
        middle = (low + high) // 2
        if len(_filled(sizes, middle)) <= few:
            high = middle
        else:
            low = middle + 1
    bounds = [*_filled(sizes, low), len(units)]
    runs = [units[start:end] for start, end in pairwise(bounds)]
    return [part for run in runs for part in _halves(reading, document, run, room)]


def _filled(sizes: Sequence[int], room: int) -> list[int]:
    """Where each run begins if every run takes as much as fits."""
    starts: list[int] = []
    taken = 0
    for at, size in enumerate(sizes):
        if not starts or taken + size > room:
            starts.append(at)
            taken = 0
        taken += size
    return starts


def _halves(reading: Reading, document: int, part: list[Span], room: int) -> list[list[Span]]:
    """The part, or its halves: what lies between two sentences may cost tokens of its own."""
    span = Span(part[0].start, part[-1].end)
    if len(part) == 1 or reading.count(document, [span])[0] <= room:
        return [part]
    middle = len(part) // 2
    return [
        *_halves(reading, document, part[:middle], room),
        *_halves(reading, document, part[middle:], room),
    ]


def pieces(reading: Reading, document: int, text: str, sentence: Span, room: int) -> list[Span]:
    """Halve a sentence at the space nearest its middle until every piece fits."""
    if reading.count(document, [sentence])[0] <= room or len(sentence) < 2:
        return [sentence]
    middle = (sentence.start + sentence.end) // 2
    before = text.rfind(" ", sentence.start + 1, middle)
    after = text.find(" ", middle, sentence.end - 1)
    candidates = [place for place in (before, after) if place > 0]
    place = min(candidates, key=lambda at: abs(at - middle)) if candidates else middle
    left, right = Span(sentence.start, place), Span(place, sentence.end)
    while right.start < right.end - 1 and text[right.start].isspace():
        right = Span(right.start + 1, right.end)
    return [
        *pieces(reading, document, text, left, room),
        *pieces(reading, document, text, right, room),
    ]


def beginning(verifier: Verifier, window: Window, room: int) -> Window:
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
    end = window.span.start + len(window.text[:fits].rstrip())
    kept = tuple(
        Span(span.start, min(span.end, end)) for span in window.sentences if span.start < end
    )
    return Window(
        window.text[: end - window.span.start],
        window.document,
        Span(window.span.start, end),
        window.scales,
        kept,
    )
