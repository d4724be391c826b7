"""Find the shortest passage that settles a claim.

A whole page may settle a claim. The verifier then judges short passages of it: the sentence that
shares most words with the claim, the second-best one, the best one with a neighbour, both with
the text between them, and the best one with more and more sentences around it. The search ends
with the first passage that settles the claim.

A verifier that reads a source once for all claims would have to read every short passage again. It
does so for contradicted claims and for texts that are not English; a smaller verifier finds the
passages of all others (`locate`). No answer here changes a status or a score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from halldetect.models.loading import Models
from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex
from halldetect.report import ClaimReport, Status
from halldetect.scoring import (
    SETTLED_FROM,
    SETTLING,
    Scored,
    Settling,
    choose_passage,
    entailment_of,
)
from halldetect.verification.asking import Asking
from halldetect.verification.judging import Enough
from halldetect.verification.windows import Task, Window

# Sentences on each side of the best one, one number after the other.
_AROUND = (1, 3, 7)
# The most sentences between the two best ones, if these are judged together.
_MOST_BETWEEN = 4
# A passage settles a claim at this probability, and needs no other one. More is asked than of the
# judge's own passages, because another verifier answers.
CLEAR = 0.8
# The passages to judge, by the index of a claim.
Passages = Mapping[int, Sequence[Window]]


def find_proofs(
    items: Sequence[Scored], asking: Asking, models: Models
) -> list[tuple[ClaimReport, ...]]:
    """Search passages shorter than the pages that settle claims."""
    shown = list(items)
    for status, settling in SETTLING.items():
        passages = [dict(_searched(item, status, settling)) for item in shown]
        enough = _from(settling, SETTLED_FROM)
        shown = _with_passages(shown, passages, asking, models.verifier, enough)
    return [item.claims for item in shown]


def locate(
    items: Sequence[Scored], asking: Asking, models: Models
) -> list[tuple[ClaimReport, ...]]:
    """Replace the pages that decided claims by short passages.

    The verifier finds those of contradicted claims and other languages, the locator all others.
    """
    shown = list(items)
    assert models.locator is not None
    for verifier, by_judge in ((models.verifier, True), (models.locator, False)):
        places = [
            [
                at
                for at, claim in enumerate(item.claims)
                if claim.proof is not None
                and item.statement(at) not in copied
                and (claim.status is Status.CONTRADICTED or bool(item.reading.languages))
                is by_judge
            ]
            for item, copied in zip(items, map(_copied, items), strict=True)
        ]
        enough = None if by_judge else _from(entailment_of, CLEAR)
        shown = _with_passages(shown, places, asking, verifier, enough)
    return [item.claims for item in shown]


def _copied(item: Scored) -> set[str]:
    """Return the statements that copy the source: they have their passage already."""
    answers = (answer for own in item.judged.answers for answer in own)
    return {answer.statement for answer in answers if not answer.judgement.tokens}


def _from(settling: Settling, least: float) -> Enough:
    return lambda answer: settling(answer) >= least


def _with_passages(
    items: Sequence[Scored],
    places: Sequence[Sequence[int] | Passages],
    asking: Asking,
    verifier: Verifier,
    enough: Enough | None,
) -> list[Scored]:
    """Return some claims with the best short passage; given ones must settle the claim."""
    tasks = [
        Task(
            tuple(map(item.statement, chosen)),
            item.reading.documents,
            windows=tuple(chosen.values()) if isinstance(chosen, Mapping) else (),
        )
        for item, chosen in zip(items, places, strict=True)
    ]
    judged = asking.ask(verifier, tasks, enough, short=True)
    shown = []
    for item, chosen, task, answers in zip(items, places, tasks, judged, strict=True):
        claims = list(item.claims)
        for at, answer in zip(chosen, answers, strict=True):
            settles = not task.windows or (enough and any(map(enough, answer.probabilities)))
            if answer.windows and settles:
                least = SETTLED_FROM if task.windows else CLEAR
                passage = choose_passage(answer, claims[at].status, least)
                claims[at] = replace(claims[at], proof=passage)
        shown.append(replace(item, claims=tuple(claims)))
    return shown


def _searched(
    item: Scored, status: Status, settling: Settling
) -> Iterator[tuple[int, list[Window]]]:
    """Yield each claim of a state that a page settles, and the passages of the page."""
    for at, claim in enumerate(item.claims):
        known = claim.proof
        if claim.status is not status or known is None or known.probabilities is None:
            continue
        document = item.reading.documents[known.document]
        settled = settling(known.probabilities) >= SETTLED_FROM
        if settled and not known.others and len(document.sentences_in(known.span)) > 1:
            judged = {known.span} | {
                window.span
                for own in item.judged.answers
                for answer in own
                for window in answer.judgement.windows
                if answer.statement == item.statement(at) and window.document == known.document
            }
            spans = dict.fromkeys(_candidates(document, known.span, item.statement(at)))
            yield (
                at,
                [
                    Window(document.readable(span), known.document, span, page=False)
                    for span in spans
                    if span not in judged
                ],
            )


def _candidates(document: Document, page: Span, statement: str) -> Iterator[Span]:
    """Yield the passages of a page to judge, one after the other."""
    sentences = document.sentences_in(page)
    index = WordIndex([Document(document.text, sentences)])
    shares = index.shares(statement, [(0, span) for span in sentences])
    best, *others = sorted(range(len(sentences)), key=lambda at: (-shares[at], at))
    second = others[0] if others and shares[others[0]] > 0.0 else best

    def run(first: int, last: int) -> Span:
        first, last = max(first, 0), min(last, len(sentences) - 1)
        return Span(sentences[first].start, sentences[last].end)

    yield sentences[best]
    yield sentences[second]
    yield from sorted([run(best - 1, best), run(best, best + 1)], key=len)
    first, last = sorted((best, second))
    both = [run(first, last)] if last - first <= _MOST_BETWEEN + 1 else []
    yield from sorted([run(best - _AROUND[0], best + _AROUND[0]), *both], key=len)
    yield from (run(best - around, best + around) for around in _AROUND[1:])
