"""Find the shortest passage that settles a claim.

A whole page may settle a claim. The verifier then judges short passages of it: the sentence that
shares most words with the claim, the second-best one, the best one with a neighbour, both with
the text between them, and the best one with more and more sentences around it. The search ends
with the first round that has a passage that settles the claim.

A verifier that reads a source once for all claims would have to read every short passage again. It
does so for contradicted claims and for texts that are not English; a smaller verifier finds the
passages of all others (`locate`). No answer here changes a status or a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, field, replace

from halldetect.preparation import Findings
from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex
from halldetect.report import Evidence, Probabilities, Status
from halldetect.scoring import (
    SETTLED_FROM,
    Settling,
    choose_passage,
    evidence_of,
    settling_probability,
)
from halldetect.verification.judging import Advance, Judgement, ask, judged_by, verify
from halldetect.verification.windows import Task, Window

# Sentences on each side of the best one, per round.
_AROUND = (1, 3, 7)
# The most sentences between the two best ones, if these are judged together.
_MOST_BETWEEN = 4
# A passage settles a claim at this probability, and needs no other one. More is asked than of the
# judge's own passages, because another verifier answers.
CLEAR = 0.8


def find_proofs(
    findings: Sequence[Findings],
    verifier: Verifier,
    progress: Callable[[int, int], None] | None = None,
) -> list[Findings]:
    """Search passages shorter than those known, in rounds batched over all claims."""
    searches = [dict(_searches(item)) for item in findings]
    everywhere = [search for of_response in searches for search in of_response.values()]
    searching = [(search, search.rounds()) for search in everywhere]
    while rounds := [(search, spans) for search, left in searching if (spans := next(left, None))]:
        pairs = [
            (search.text(span), search.statement) for search, spans in rounds for span in spans
        ]
        settled = len(everywhere) - len(rounds)
        answers = ask(verifier, pairs, _constant(progress, settled, len(everywhere)))
        for search, spans in rounds:
            search.tried |= {span: answers[search.text(span), search.statement] for span in spans}
    explained = []
    for item, of_response in zip(findings, searches, strict=True):
        claims = list(item.reports)
        for at, search in of_response.items():
            claims[at] = replace(claims[at], proof=search.shortest())
        answered = [
            (search.statement, search.judgement(verifier)) for search in of_response.values()
        ]
        explained.append(item.adding(claims, answered))
    return explained


def _constant(progress: Advance | None, done: int, total: int) -> Advance | None:
    """Return a progress that is called as often, always with these numbers."""
    return None if progress is None else lambda *_: progress(done, total)


def _searches(item: Findings) -> Iterator[tuple[int, _Search]]:
    """Yield the index of each claim to search for, and its search."""
    for at, report in enumerate(item.reports):
        settling = settling_probability(report.status)
        known = report.proof
        if settling is None or known is None or known.probabilities is None:
            continue
        document = item.documents[known.document]
        settled = settling(known.probabilities) >= SETTLED_FROM
        if settled and not known.others and len(document.sentences_in(known.span)) > 1:
            judged = {
                window.span
                for statement, found in item.answers
                for window in found.windows
                if statement == item.statement(at) and window.document == known.document
            }
            yield at, _Search(item.statement(at), known, document, settling, judged)


@dataclass
class _Search:
    """The search for one claim in a passage that settles it; `tried` has the answers."""

    statement: str
    _known: Evidence
    _document: Document
    _settling: Settling
    _judged: Set[Span]
    tried: dict[Span, Probabilities] = field(default_factory=dict)

    def text(self, span: Span) -> str:
        """Return the text of a passage."""
        return span.cut(self._document.text)

    def rounds(self) -> Iterator[list[Span]]:
        """Yield the passages to judge next, until one settles the claim or all were tried."""
        for spans in self._candidates():
            tried = {self._known.span, *self._judged, *self.tried}
            if new := [span for span in spans if span not in tried]:
                yield new
                if self._settled():
                    return

    def shortest(self) -> Evidence:
        """Return the shortest passage that settles the claim."""
        shortest = min(self._settled(), key=len, default=None)
        if shortest is None:
            return self._known
        return evidence_of(self._window(shortest), self.tried[shortest])

    def judgement(self, verifier: Verifier) -> Judgement:
        """Return the passages that were judged, for the cost."""
        answers = {(self.text(span), self.statement): found for span, found in self.tried.items()}
        return judged_by(verifier, self.statement, [*map(self._window, self.tried)], answers)

    def _window(self, span: Span) -> Window:
        return Window(self.text(span), self._known.document, span, page=False)

    def _settled(self) -> list[Span]:
        tried = self.tried.items()
        return [span for span, found in tried if self._settling(found) >= SETTLED_FROM]

    def _candidates(self) -> Iterator[list[Span]]:
        sentences = self._document.sentences_in(self._known.span)
        index = WordIndex([Document(self._document.text, sentences)])
        shares = index.shares(self.statement, [(0, span) for span in sentences])
        best, *others = sorted(range(len(sentences)), key=lambda at: (-shares[at], at))
        second = others[0] if others and shares[others[0]] > 0.0 else best
        yield [sentences[best]]
        yield [sentences[second]]

        def run(first: int, last: int) -> Span:
            first, last = max(first, 0), min(last, len(sentences) - 1)
            return Span(sentences[first].start, sentences[last].end)

        first, last = sorted((best, second))
        yield [run(best - 1, best), run(best, best + 1)]
        for around in _AROUND:
            spans = [run(best - around, best + around)]
            if around == _AROUND[0] and last - first <= _MOST_BETWEEN + 1:
                spans.append(run(first, last))
            yield spans


def locate(
    findings: Sequence[Findings],
    judge: Verifier,
    locator: Verifier,
    progress: Callable[[int, int], None] | None = None,
) -> list[Findings]:
    """Replace the pages that decided claims by short passages.

    `judge` finds those of contradicted claims and other languages, `locator` all others.
    """
    found = list(findings)
    for verifier, by_judge in ((judge, True), (locator, False)):
        places = [
            [
                at
                for at, report in enumerate(item.reports)
                # A copy of the source has its passage already.
                if report.proof is not None
                and not _is_copy(item, at)
                and (report.status is Status.CONTRADICTED or bool(item.languages)) is by_judge
            ]
            for item in findings
        ]
        tasks = [
            Task(tuple(map(item.statement, chosen)), item.documents)
            for item, chosen in zip(findings, places, strict=True)
        ]
        enough = None if by_judge else lambda answer: answer.entailment >= CLEAR
        judged = verify(verifier, tasks, enough, progress, short=True)
        for number, (chosen, answers) in enumerate(zip(places, judged, strict=True)):
            reports = list(found[number].reports)
            for at, answer in zip(chosen, answers, strict=True):
                if answer.windows:
                    passage = choose_passage(answer, reports[at].status, CLEAR)
                    reports[at] = replace(reports[at], proof=passage)
            new = list(zip(tasks[number].statements, answers, strict=True))
            found[number] = found[number].adding(reports, new)
    return found


def _is_copy(item: Findings, at: int) -> bool:
    return any(
        statement == item.statement(at) and not judged.tokens for statement, judged in item.answers
    )
