"""The sentence of a window that decides a claim, and how texts are cut for display.

A window may be a whole document, so a view quotes one sentence of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex, content_keys, content_words
from halldetect.reading.sources import read_source
from halldetect.render.text_layout import Block, readable_text, text_layout
from halldetect.report import ClaimReport, Evidence, Report, Status


class Passages:
    """Finds the sentence of a window that a claim is about; each document is read once.

    Args:
        report: the report whose evidence is quoted.
    """

    def __init__(self, report: Report) -> None:
        self._texts = report.documents

    @cached_property
    def _documents(self) -> tuple[Document, ...]:
        return tuple(map(read_source, self._texts))

    @cached_property
    def _index(self) -> WordIndex:
        return WordIndex(self._documents)

    @cached_property
    def _layouts(self) -> tuple[tuple[Block, ...] | None, ...]:
        return tuple(map(text_layout, self._texts))

    def focus(self, claim: ClaimReport, evidence: Evidence) -> Span:
        """Return the span, in its document, of the passage that settles the claim by itself.

        Where the window has none, it is the sentence that shares most with the claim: the fewer
        sentences of the source have a word, the more it counts.

        Args:
            claim: the claim.
            evidence: one of its windows.
        """
        proof, other = claim.proof, claim.contradicting
        if claim.status is Status.CONTRADICTED:
            other = claim.entailing
        if (
            proof is not None
            and evidence != other
            and evidence.document == proof.document
            and evidence.span.start <= proof.span.start
            and proof.span.end <= evidence.span.end
        ):
            return proof.span
        inside = self._documents[evidence.document].sentences_in(evidence.span)
        if len(inside) < 2:
            return inside[0] if inside else evidence.span
        shares = self._index.shares(claim.text, [(evidence.document, span) for span in inside])
        return inside[shares.index(max(shares))]

    def quote(self, claim: ClaimReport, evidence: Evidence, limit: int) -> str:
        """Return the sentence of `focus`, shortened around what it shares with the claim.

        The punctuation of Markdown is left out.

        Args:
            claim: the claim.
            evidence: one of its windows.
            limit: number of characters, about.
        """
        span = self.focus(claim, evidence)
        text, layout = self._texts[evidence.document], self._layouts[evidence.document]
        sentence = readable_text(text, layout, span.start, span.end)
        return shorten(sentence or span.cut(text), claim.text, limit)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text that is covered by the same spans.

    start, end  its place in the text
    covers      indices of the spans
    """

    start: int
    end: int
    covers: tuple[int, ...]


def segments(length: int, spans: Sequence[Span | None]) -> list[Segment]:
    """Cut a text wherever one of the spans, which may overlap, begins or ends.

    Args:
        length: length of the text.
        spans: places in the text; None is skipped.
    """
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for index, span in enumerate(spans):
        if span is not None and 0 <= span.start < min(span.end, length):
            starts.setdefault(span.start, []).append(index)
            ends.setdefault(min(span.end, length), []).append(index)
    cuts = sorted({0, length, *starts, *ends})
    covering: set[int] = set()
    parts = []
    for start, end in pairwise(cuts):
        covering.difference_update(ends.get(start, ()))
        covering.update(starts.get(start, ()))
        parts.append(Segment(start, end, tuple(sorted(covering))))
    return parts


def shorten(text: str, about: str, limit: int) -> str:
    """Return a part of a text around the words that it shares with another text.

    Args:
        text: the text.
        about: the other text.
        limit: number of characters, about.
    """
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    wanted = content_keys(about)
    hits = [(word.start, word.end) for word in content_words(text) if word.key in wanted]
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
    """Return the nearest word boundary between `at` and `stop`; `at` if there is none."""
    if forward:
        space = text.find(" ", at, stop)
        return at if space < 0 else space + 1
    space = text.rfind(" ", stop, at)
    return at if space < 0 else space
