"""Phase II: the windows of a source at several scales."""

from __future__ import annotations

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
    if count == 0:
        return []
    size = -(-count // granularity)
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
    if verifier.count_tokens([window.text])[0] <= room:
        return window
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
    end = min(window.span.start + len(text), window.span.end)
    return replace(window, text=text, span=Span(window.span.start, end))
