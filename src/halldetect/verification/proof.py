"""Where the proof of a claim stands: the shortest passage found that settles the claim by itself.

A claim may be settled by a window of many sentences, or by the whole source. What a reader is shown
must hold by itself, so the verifier is asked again about short passages of that window: the
sentence that shares most words with the claim, the second of these, both with what stands between
them, and the first with more and more sentences around it. The first round with a passage that
settles the claim ends it. These answers decide nothing else: states and scores are those of the
windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from halldetect.claims import Claim
from halldetect.protocols import Verifier
from halldetect.report import Probabilities
from halldetect.text.document import Document, Span
from halldetect.text.overlap import WordIndex
from halldetect.verification.rounds import JudgedClaim
from halldetect.windows.scales import Window

# A passage settles a claim from this probability on.
SETTLED_FROM = 0.5
# Sentences on each side of the best one, round by round.
_AROUND = (1, 3, 7)
# The two best sentences are taken together if no more lie between them.
_MOST_BETWEEN = 4


@dataclass(frozen=True, slots=True)
class ProofRequest:
    """A claim and a window that settles it.

    claim      the claim
    window     of several sentences
    documents  of the source
    settling   the probability that matters: of entailment or of contradiction
    """

    claim: Claim
    window: Window
    documents: tuple[Document, ...]
    settling: Callable[[Probabilities], float]


@dataclass(frozen=True, slots=True)
class Proof:
    """What was found for a request.

    window         the shortest passage that settles the claim; that of the request if none is
                   shorter
    probabilities  of that passage; None where it is the window of the request
    judged         the passages that were tried
    """

    window: Window
    probabilities: Probabilities | None
    judged: JudgedClaim


def find_proofs(verifier: Verifier, requests: Sequence[ProofRequest]) -> list[Proof]:
    """Look for short passages that settle claims, in rounds that are batched over all claims.

    verifier  judges the passages
    requests  claims and the windows to look in
    """
    searches = [_Search(request) for request in requests]
    while rounds := [(search, spans) for search in searches if (spans := search.next_round())]:
        pairs = [
            (search.text(span), search.hypothesis) for search, spans in rounds for span in spans
        ]
        distinct = list(dict.fromkeys(pairs))
        answers = dict(zip(distinct, verifier.judge(distinct), strict=True))
        for search, spans in rounds:
            search.record([(span, answers[search.text(span), search.hypothesis]) for span in spans])
    return [search.proof(verifier) for search in searches]


class _Search:
    """The search for one claim."""

    def __init__(self, request: ProofRequest) -> None:
        self._request = request
        self._document = request.documents[request.window.document]
        self.hypothesis = request.claim.hypothesis
        self._tried: dict[Span, Probabilities] = {}
        self._rounds = self._candidates()

    def text(self, span: Span) -> str:
        """The text of a passage."""
        return span.cut(self._document.text)

    def next_round(self) -> list[Span]:
        """The passages to judge next; none when one has settled the claim or all are tried."""
        if self._settled():
            return []
        for spans in self._rounds:
            window = self._request.window.span
            if new := [span for span in spans if span not in self._tried and span != window]:
                return new
        return []

    def record(self, answers: Sequence[tuple[Span, Probabilities]]) -> None:
        """Take the answers of a round."""
        self._tried.update(answers)

    def proof(self, verifier: Verifier) -> Proof:
        """What was found."""
        window = self._request.window
        windows = tuple(
            Window(self.text(span), window.document, span, window.scales) for span in self._tried
        )
        counts = verifier.count_tokens([self.hypothesis, *(item.text for item in windows)])
        judged = JudgedClaim(
            self._request.claim,
            windows,
            tuple(self._tried.values()),
            tokens=sum(counts[1:]) + counts[0] * len(windows),
        )
        settled = self._settled()
        if not settled:
            return Proof(window, None, judged)
        shortest = min(settled, key=len)
        return Proof(
            next(item for item in windows if item.span == shortest), self._tried[shortest], judged
        )

    def _settled(self) -> list[Span]:
        settling = self._request.settling
        return [span for span, found in self._tried.items() if settling(found) >= SETTLED_FROM]

    def _candidates(self) -> Iterator[list[Span]]:
        window = self._request.window
        sentences = self._document.sentences_in(window.span)
        index = WordIndex([Document(self._document.text, sentences)])
        shares = index.shares(self.hypothesis, [(0, span) for span in sentences])
        best, *others = sorted(range(len(sentences)), key=lambda at: (-shares[at], at))
        second = others[0] if others and shares[others[0]] > 0.0 else best
        yield [sentences[best]]
        yield [sentences[second]]

        def run(first: int, last: int) -> Span:
            first, last = max(first, 0), min(last, len(sentences) - 1)
            return Span(sentences[first].start, sentences[last].end)

        first, last = sorted((best, second))
        for around in _AROUND:
            spans = [run(best - around, best + around)]
            if around == _AROUND[0] and 0 < last - first <= _MOST_BETWEEN + 1:
                spans.append(run(first, last))
            yield spans
