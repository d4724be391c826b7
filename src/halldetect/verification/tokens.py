"""The tokens of a source as a verifier counts them; every sentence is tokenized once.

Most tokenizers for English treat the text between spaces independently. The tokens of a window are
then those of its sentences in a row. Where that does not hold, or where two sentences meet without
a plain space between them, the tokenizer gets the text of the window.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

from halldetect.protocols import TokenVerifier, Verifier
from halldetect.reading.document import Document, Span

# Every such tokenizer splits at these characters. It may remove other spaces first.
PLAIN_SPACES = " \t\n\r"


def token_verifier(verifier: Verifier) -> TokenVerifier | None:
    """Return the verifier if it accepts tokens; None if it needs texts."""
    if isinstance(verifier, TokenVerifier) and verifier.adds_up:
        return verifier
    return None


class SourceTokens:
    """Counts the tokens of any part of some documents, and keeps them where they add up."""

    def __init__(self, verifier: Verifier, documents: Sequence[Document]) -> None:
        self._verifier = verifier
        self._documents = documents
        self._counts: dict[tuple[int, Span], int] = {}
        by_tokens = token_verifier(verifier)
        self._tokenized = [
            None if by_tokens is None else _TokenizedDocument(by_tokens, document)
            for document in documents
        ]

    def count(self, document: int, spans: Sequence[Span]) -> list[int]:
        """Return the number of tokens of each span of a document, without special tokens."""
        counts = {span: self._known_count(document, span) for span in spans}
        unknown = [span for span, count in counts.items() if count is None]
        readable = self._documents[document].readable
        asked = self._verifier.count_tokens([readable(span) for span in unknown])
        for span, count in zip(unknown, asked, strict=True):
            counts[span] = self._counts[document, span] = count
        return [counts[span] or 0 for span in spans]

    def tokens(self, document: int, span: Span) -> Sequence[int] | None:
        """Return the tokens of a span; None if the tokenizer needs its text."""
        tokenized = self._tokenized[document]
        return None if tokenized is None else tokenized.tokens(span)

    def _known_count(self, document: int, span: Span) -> int | None:
        tokenized = self._tokenized[document]
        count = None if tokenized is None else tokenized.count(span)
        return self._counts.get((document, span)) if count is None else count


class _TokenizedDocument:
    """The tokens of a document in one sequence, and where each sentence begins in it."""

    def __init__(self, verifier: TokenVerifier, document: Document) -> None:
        text, sentences = document.text, document.sentences
        self._starts = [span.start for span in sentences]
        self._ends = [span.end for span in sentences]
        self._ids = array("i")
        self._offsets = [0]
        for ids in verifier.tokenize([document.readable(span) for span in sentences]):
            self._ids.extend(ids)
            self._offsets.append(len(self._ids))
        no_plain_space = [
            before.end >= after.start or bool(text[before.end : after.start].strip(PLAIN_SPACES))
            for before, after in pairwise(sentences)
        ]
        # A run of sentences adds up if this count is the same at its first and last sentence.
        self._breaks = [0, *accumulate(no_plain_space)]

    def count(self, span: Span) -> int | None:
        """Return the number of tokens of a run of sentences; None if they do not add up."""
        found = self._range(span)
        return None if found is None else len(found)

    def tokens(self, span: Span) -> Sequence[int] | None:
        """Return the tokens of a run of sentences; None if they do not add up."""
        found = self._range(span)
        return None if found is None else self._ids[found.start : found.stop]

    def _range(self, span: Span) -> range | None:
        first = bisect_left(self._starts, span.start)
        last = bisect_left(self._ends, span.end)
        if (
            first > last
            or last >= len(self._ends)
            or self._starts[first] != span.start
            or self._ends[last] != span.end
            or self._breaks[last] != self._breaks[first]
        ):
            return None
        return range(self._offsets[first], self._offsets[last + 1])
