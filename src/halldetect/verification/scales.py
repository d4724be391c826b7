"""The windows of a source at several scales (Phase II)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.reading.document import Document, Span
from halldetect.reading.references import begins_with_pronoun

GRANULARITIES = (1, 2, 4, 8, 16)
# So many sentences at most come along with a window that begins with a pronoun.
MAX_LEAD_IN = 2


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


def group_spans(document: Document, granularity: int, *, lead_in: bool = True) -> list[Span]:
    """The spans of the groups of a document's sentences at one scale.

    document     its sentences
    granularity  into how many groups they are cut
    lead_in      a group that begins with a pronoun begins one sentence earlier, twice at most
    """
    sentences = document.sentences
    spans: list[Span] = []
    for group in group_sentences(len(sentences), granularity):
        first = group.start
        while (
            lead_in
            and first > 0
            and group.start - first < MAX_LEAD_IN
            and begins_with_pronoun(sentences[first].cut(document.text))
        ):
            first -= 1
        spans.append(Span(sentences[first].start, sentences[group.stop - 1].end))
    return spans


def source_windows(
    documents: Sequence[Document],
    granularities: Sequence[int] = GRANULARITIES,
    *,
    lead_in: bool = True,
) -> tuple[Window, ...]:
    """The windows of each document, coarse to fine.

    The same run of sentences at several scales is one window with all those scales. Documents
    are never joined.

    documents      of the source
    granularities  the scales
    lead_in        as in `group_spans`
    """
    windows: list[Window] = []
    for index, document in enumerate(documents):
        scales: dict[Span, list[int]] = {}
        for granularity in granularities:
            for span in group_spans(document, granularity, lead_in=lead_in):
                scales.setdefault(span, []).append(granularity)
        windows += [
            Window(document.readable(span), index, span, tuple(found))
            for span, found in scales.items()
        ]
    return tuple(windows)
