"""The proof of a claim: the shortest passage found that settles the claim alone.

A claim may be settled by a window of many sentences, or by the whole source. A reader needs a short
passage, so the verifier is asked again about parts of that window: the sentence that shares most
words with the claim, the second of these, both with the text between them, and the first with more
and more sentences around it. The first round with a passage that settles the claim is the last.
These answers decide nothing else: states and scores are those of the windows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from halldetect.claims import Claim
from halldetect.explanation.explain import Explained, Findings
from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex
from halldetect.report import Evidence, Probabilities
from halldetect.scoring import SETTLED_FROM, Settling, settling_probability, shown_evidence
from halldetect.verification.rounds import JudgedClaim
from halldetect.verification.scales import Window

# Sentences on each side of the best one, round by round.
_AROUND = (1, 3, 7)
# The two best sentences are taken together if no more lie between them.
_MOST_BETWEEN = 4
# Passages per call of the verifier: a check can be stopped between calls.
_PASSAGES_AT_ONCE = 16


def find_proofs(
    findings: Sequence[Findings],
    verifier: Verifier,
    progress: Callable[[int, int], None] | None = None,
) -> list[Explained]:
    """Look for short passages that settle claims, in rounds that are batched over all claims.

    Only claims whose proof has several sentences are searched.

    findings  of each response
    verifier  judges the passages
    progress  is called with the number of finished searches and of all
    """
    searches = [dict(_searches(item)) for item in findings]
    everywhere = [search for of_response in searches for search in of_response.values()]
    while rounds := [(search, spans) for search in everywhere if (spans := search.next_round())]:
        pairs = [
            (search.text(span), search.hypothesis) for search, spans in rounds for span in spans
        ]
        distinct = list(dict.fromkeys(pairs))
        answers: dict[tuple[str, str], Probabilities] = {}
        for start in range(0, len(distinct), _PASSAGES_AT_ONCE):
            if progress is not None:
                progress(len(everywhere) - len(rounds), len(everywhere))
            batch = distinct[start : start + _PASSAGES_AT_ONCE]
            answers.update(zip(batch, verifier.judge(batch), strict=True))
        for search, spans in rounds:
            search.record([(span, answers[search.text(span), search.hypothesis]) for span in spans])
    explained = []
    for item, of_response in zip(findings, searches, strict=True):
        claims = list(item.reports)
        for at, search in of_response.items():
            claims[at] = replace(claims[at], proof=search.proof())
        judged = tuple(search.judged(verifier) for search in of_response.values())
        explained.append(Explained(tuple(claims), judged))
    return explained


def _searches(item: Findings) -> Iterator[tuple[int, _Search]]:
    """Yield the searches by the index of the claim."""
    for at, (claim, report) in enumerate(zip(item.claims, item.reports, strict=True)):
        settling = settling_probability(report.status)
        if report.proof is not None and settling is not None:
            document = item.documents[report.proof.document]
            if len(document.sentences_in(report.proof.span)) > 1:
                yield at, _Search(claim, report.proof, document, settling)


class _Search:
    """The search for one claim.

    claim     the claim
    known     a passage of several sentences that settles it
    document  the one of the passage
    settling  the probability that matters: of entailment or of contradiction
    """

    def __init__(
        self, claim: Claim, known: Evidence, document: Document, settling: Settling
    ) -> None:
        self.hypothesis = claim.hypothesis
        self._claim = claim
        self._known = known
        self._document = document
        self._settling = settling
        self._tried: dict[Span, Probabilities] = {}
        self._rounds = self._candidates()

    def text(self, span: Span) -> str:
        """Return the text of a passage."""
        return span.cut(self._document.text)

    def next_round(self) -> list[Span]:
        """Return the passages to judge next; none when the claim is settled or all are tried."""
        if self._settled():
            return []
        tried = {self._known.span, *self._tried}
        for spans in self._rounds:
            if new := [span for span in spans if span not in tried]:
                return new
        return []

    def record(self, answers: Sequence[tuple[Span, Probabilities]]) -> None:
        """Take the answers of a round."""
        self._tried.update(answers)

    def proof(self) -> Evidence:
        """Return the shortest passage that settles the claim; the known one if none is shorter."""
        settled = self._settled()
        if not settled:
            return self._known
        shortest = min(settled, key=len)
        return shown_evidence(self._window(shortest), self._tried[shortest])

    def judged(self, verifier: Verifier) -> JudgedClaim:
        """Return the passages that were tried, for the cost."""
        windows = tuple(map(self._window, self._tried))
        counts = verifier.count_tokens([self.hypothesis, *(item.text for item in windows)])
        return JudgedClaim(
            self._claim,
            windows,
            tuple(self._tried.values()),
            tokens=sum(counts[1:]) + counts[0] * len(windows),
        )

    def _window(self, span: Span) -> Window:
        return Window(self.text(span), self._known.document, span, self._known.scales)

    def _settled(self) -> list[Span]:
        return [
            span for span, found in self._tried.items() if self._settling(found) >= SETTLED_FROM
        ]

    def _candidates(self) -> Iterator[list[Span]]:
        sentences = self._document.sentences_in(self._known.span)
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
