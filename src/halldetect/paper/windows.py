"""Phase II: the windows of a source at several scales."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace

from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.verification.windows import Window

GRANULARITIES = (1, 2, 4, 8, 16)


def group_sentences(count: int, granularity: int) -> list[range]:
    """Return the indices of sentences in groups of ceil(count / granularity).

    The last group may be shorter.
    """
    size = max(-(-count // granularity), 1)
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def source_windows(documents: Sequence[Document]) -> tuple[Window, ...]:
    """Return the windows of each document, coarse to fine.

    A run of sentences that occurs at several scales is one window with all these scales.
    """
    windows: list[Window] = []
    for index, document in enumerate(documents):
        sentences = document.sentences
        scales: dict[Span, list[int]] = {}
        for granularity in GRANULARITIES:
            for group in group_sentences(len(sentences), granularity):
                span = Span(sentences[group.start].start, sentences[group.stop - 1].end)
                scales.setdefault(span, []).append(granularity)
        windows += [
            Window(document.readable(span), index, span, scales=tuple(found))
            for span, found in scales.items()
        ]
    return tuple(windows)


def truncated(window: Window, verifier: Verifier, room: int) -> Window:
    """Return a window truncated to the verifier's limit."""

    def tokens(end: int) -> int:
        return verifier.count_tokens([window.text[:end]])[0]

    length = len(window.text)
    if tokens(length) <= room:
        return window
    fits = bisect_right(range(length), room, key=tokens) - 1
    text = window.text[:fits].rstrip()
    end = min(window.span.start + len(text), window.span.end)
    return replace(window, text=text, span=Span(window.span.start, end))
