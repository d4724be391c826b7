"""The passage of the source that a view shows with a claim, and the shortening of long texts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex, content_keys, content_words
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, Report, Status

# Evidence that settles a claim is shown whole up to this length.
_MAX_PROOF = 1_200
_MARKDOWN = re.compile(r"\*\*|__|`+|^[ \t]*(?:#{1,6}|>+|[-*+])[ \t]+", re.MULTILINE)


class Passages:
    """Finds the passage of each claim of a report; every view uses it.

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

    def span(self, claim: ClaimReport) -> Span | None:
        """Return the place of the passage in the document of `claim.proof`.

        The passage is the evidence. Evidence that settles nothing can be a whole page; the passage
        is then its sentence that shares most with the claim.
        """
        evidence = claim.proof
        if evidence is None:
            return None
        settled = claim.status in (Status.SUPPORTED, Status.CONTRADICTED)
        if settled and len(evidence.span) <= _MAX_PROOF:
            return evidence.span
        inside = self._documents[evidence.document].sentences_in(evidence.span)
        if len(inside) < 2:
            return evidence.span
        shares = self._index.shares(claim.text, [(evidence.document, span) for span in inside])
        return inside[shares.index(max(shares))]

    def quote(self, claim: ClaimReport, limit: int) -> str:
        """Return the passage as it is read, shortened around the words of the claim.

        A table row has its headers, a record the names of its values; the punctuation of Markdown
        is left out. The result is empty if the claim has no passage.

        Args:
            claim: the claim.
            limit: approximate number of characters.
        """
        span = self.span(claim)
        if span is None or claim.proof is None:
            return ""
        read = self._documents[claim.proof.document].readable(span)
        return shorten(_MARKDOWN.sub("", read) or read, claim.text, limit)


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a text, from `start` to `end`; `covers` has the indices of the spans on it."""

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
    covering: set[int] = set()
    parts = []
    for start, end in pairwise(sorted({0, length, *starts, *ends})):
        covering.difference_update(ends.get(start, ()))
        covering.update(starts.get(start, ()))
        parts.append(Segment(start, end, tuple(sorted(covering))))
    return parts


def shorten(text: str, about: str, limit: int) -> str:
    """Return the part of a text around the words it shares with another text.

    Args:
        text: the text.
        about: the other text.
        limit: approximate number of characters.
    """
    text = " ".join(text.split())
    if len(text) <= limit:
        return text
    wanted = content_keys(about)
    hits = [(word.start, word.end) for word in content_words(text) if word.key in wanted]
    best, most, right = (0, 0), 0, 0
    for left, (start, _) in enumerate(hits):
        right = max(right, left)
        while right + 1 < len(hits) and hits[right + 1][1] - start <= limit:
            right += 1
        if right - left + 1 > most:
            best, most = (start, hits[right][1]), right - left + 1
    spare = max(0, limit - (best[1] - best[0]))
    start = max(0, min(best[0] - spare // 2, len(text) - limit))
    end = min(len(text), start + limit)
    if start > 0 and (space := text.find(" ", start, best[0])) >= 0:
        start = space + 1
    if end < len(text) and (space := text.rfind(" ", max(best[1], start + 1), end)) >= 0:
        end = space
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")
