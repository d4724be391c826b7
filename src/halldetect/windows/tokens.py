"""A source as a verifier reads it: every sentence turned into tokens once.

Most tokenizers for English treat what stands between spaces on its own. Then the tokens of a
window are those of its sentences, one after the other, and nothing is ever read twice, however
many scales and claims there are. Where that does not hold, or where two sentences meet without
a plain space between them, the window itself is given to the tokenizer.
"""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise

from halldetect.protocols import TokenVerifier, Verifier
from halldetect.text.sentences import Span
from halldetect.windows.scales import Window

# Every tokenizer of the kind splits at these. Of other spaces some are removed before that.
PLAIN_SPACES = " \t\n\r"


class Reading:
    """The documents of one source; tokens are counted and, where they add up, kept."""

    def __init__(
        self, verifier: Verifier, documents: Sequence[str], windows: Iterable[Window]
    ) -> None:
        self._verifier = verifier
        self._documents = documents
        self._counts: dict[tuple[int, Span], int] = {}
        found: list[set[Span]] = [set() for _ in documents]
        for window in windows:
            found[window.document].update(window.sentences)
        self.sentences = [sorted(spans) for spans in found]
        self._kept = [
            _Kept(verifier, text, spans) if adds_up(verifier) else None
            for text, spans in zip(documents, self.sentences, strict=True)
        ]

    def count(self, document: int, spans: Sequence[Span]) -> list[int]:
        """The tokens of each span, special tokens not counted."""
        found = {span: self._known(document, span) for span in spans}
        unknown = [span for span, tokens in found.items() if tokens is None]
        text = self._documents[document]
        counts = self._verifier.count_tokens([span.cut(text) for span in unknown])
        for span, tokens in zip(unknown, counts, strict=True):
            found[span] = self._counts[document, span] = tokens
        return [found[span] or 0 for span in spans]

    def _known(self, document: int, span: Span) -> int | None:
        kept = self._kept[document]
        place = None if kept is None else kept.place(span)
        return self._counts.get((document, span)) if place is None else place[1] - place[0]

    def tokens(self, window: Window) -> Sequence[int] | None:
        """The tokens of a window; None where only the tokenizer can say."""
        kept = self._kept[window.document]
        place = None if kept is None else kept.place(window.span)
        return None if kept is None or place is None else kept.ids[place[0] : place[1]]


def adds_up(verifier: Verifier) -> bool:
    """Whether the tokens of a text are those of its parts between spaces."""
    return isinstance(verifier, TokenVerifier) and verifier.adds_up


class _Kept:
    """The tokens of a document in one run, and where each sentence begins in it."""

    def __init__(self, verifier: Verifier, text: str, spans: Sequence[Span]) -> None:
        assert isinstance(verifier, TokenVerifier)
        self._starts = [span.start for span in spans]
        self._ends = [span.end for span in spans]
        self.ids = array("i")
        self._first = [0]
        for ids in verifier.tokenize([span.cut(text) for span in spans]):
            self.ids.extend(ids)
            self._first.append(len(self.ids))
        doubtful = [
            before.end >= after.start or bool(text[before.end : after.start].strip(PLAIN_SPACES))
            for before, after in pairwise(spans)
        ]
        self._doubts = [0, *accumulate(doubtful)]

    def place(self, span: Span) -> tuple[int, int] | None:
        """Where the tokens of a run of whole sentences lie."""
        first = bisect_left(self._starts, span.start)
        last = bisect_left(self._ends, span.end)
        if (
            first > last
            or last >= len(self._ends)
            or self._starts[first] != span.start
            or self._ends[last] != span.end
            or self._doubts[last] != self._doubts[first]
        ):
            return None
        return self._first[first], self._first[last + 1]
