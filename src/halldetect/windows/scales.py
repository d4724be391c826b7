"""The windows of a source at several scales (Phase II)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.text.document import Document, Span

GRANULARITIES = (1, 2, 4, 8, 16)


@dataclass(frozen=True, slots=True)
class Window:
    """A run of sentences of one document.

    text      the text of the window
    document  the index of its document
    span      where it stands there
    scales    all the m at which this very run of sentences came up
    """

    text: str
    document: int
    span: Span
    scales: tuple[int, ...]


def group_sentences(count: int, granularity: int) -> list[range]:
    """The indices of `count` sentences in groups of ceil(count / granularity).

    The last group may be shorter.
    """
    if count == 0:
        return []
    size = -(-count // granularity)
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def group_spans(document: Document, granularity: int) -> list[Span]:
    """The spans of the groups of a document's sentences at one scale."""
    sentences = document.sentences
    return [
        Span(sentences[group.start].start, sentences[group.stop - 1].end)
        for group in group_sentences(len(sentences), granularity)
    ]


def source_windows(
    documents: Sequence[Document], granularities: Sequence[int] = GRANULARITIES
) -> tuple[Window, ...]:
    """The windows of each document, coarse to fine.

    The same run of sentences at several scales is one window with all those scales. Documents
    are never joined.
    """
    windows: list[Window] = []
    for index, document in enumerate(documents):
        scales: dict[Span, list[int]] = {}
        for granularity in granularities:
            for span in group_spans(document, granularity):
                scales.setdefault(span, []).append(granularity)
        windows += [
            Window(span.cut(document.text), index, span, tuple(found))
            for span, found in scales.items()
        ]
    return tuple(windows)
