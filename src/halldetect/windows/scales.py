"""The multi-scale library of source windows (Phase II)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.text.sentences import Span, sentences

GRANULARITIES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Window:
    """A run of whole sentences of one document.

    `sentences` are their spans, so that a window too long for a verifier can be divided;
    `scales` are all the m at which this very run of sentences came up.
    """

    text: str
    document: int
    span: Span
    scales: tuple[int, ...]
    sentences: tuple[Span, ...]


def cut(count: int, granularity: int) -> list[range]:
    """Groups of ceil(count / m) sentence indices; the last may be shorter."""
    if count == 0:
        return []
    size = -(-count // granularity)
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def library(
    documents: Sequence[str], granularities: Sequence[int] = GRANULARITIES
) -> tuple[Window, ...]:
    """The windows of each document, coarse to fine; repeats are merged, keeping all scales."""
    windows: list[Window] = []
    for document, text in enumerate(documents):
        spans = sentences(text)
        scales: dict[tuple[int, int], list[int]] = {}
        for granularity in granularities:
            for group in cut(len(spans), granularity):
                scales.setdefault((group.start, group.stop), []).append(granularity)
        for (start, stop), found in scales.items():
            span = Span(spans[start].start, spans[stop - 1].end)
            windows.append(Window(span.cut(text), document, span, tuple(found), spans[start:stop]))
    return tuple(windows)
