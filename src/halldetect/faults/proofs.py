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

from halldetect.loading import Models
from halldetect.preparation import Findings
from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex
from halldetect.report import Status
from halldetect.scoring import SETTLED_FROM, SETTLING, Settling, choose_passage, entailment_of
from halldetect.verification.judging import Advance, Enough, verify
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
    findings: Sequence[Findings], models: Models, progress: Advance | None = None
) -> list[Findings]:
    """Search passages shorter than the pages that settle claims."""
    found = list(findings)
    for status, settling in SETTLING.items():
        searched = [dict(_searched(item, status, settling)) for item in found]
        found = _shown(found, searched, models.verifier, _from(settling, SETTLED_FROM), progress)
    return found


def locate(
    findings: Sequence[Findings], models: Models, progress: Advance | None = None
) -> list[Findings]:
    """Replace the pages that decided claims by short passages.

    The verifier finds those of contradicted claims and other languages, the locator all others.
    """
    found = list(findings)
    assert models.locator is not None
    # A copy of the source has its passage already.
    copies = [
        {statement for statement, judged in item.answers if not judged.tokens} for item in findings
    ]
    for verifier, by_judge in ((models.verifier, True), (models.locator, False)):
        places = [
            [
                at
                for at, report in enumerate(item.reports)
                if report.proof is not None
                and item.statement(at) not in copied
                and (report.status is Status.CONTRADICTED or bool(item.languages)) is by_judge
            ]
            for item, copied in zip(findings, copies, strict=True)
        ]
        enough = None if by_judge else _from(entailment_of, CLEAR)
        found = _shown(found, places, verifier, enough, progress)
    return found


def _from(settling: Settling, least: float) -> Enough:
    return lambda answer: settling(answer) >= least


def _shown(
    findings: Sequence[Findings],
    places: Sequence[Sequence[int] | Passages],
    verifier: Verifier,
    enough: Enough | None,
    progress: Advance | None,
) -> list[Findings]:
    """Return some claims with the best short passage; given ones must settle the claim."""
    tasks = [
        Task(
            tuple(map(item.statement, chosen)),
            item.documents,
            windows=tuple(chosen.values()) if isinstance(chosen, Mapping) else (),
        )
        for item, chosen in zip(findings, places, strict=True)
    ]
    judged = verify(verifier, tasks, enough, progress, short=True)
    results = []
    for item, chosen, task, answers in zip(findings, places, tasks, judged, strict=True):
        reports = list(item.reports)
        for at, answer in zip(chosen, answers, strict=True):
            settles = not task.windows or (enough and any(map(enough, answer.probabilities)))
            if answer.windows and settles:
                least = SETTLED_FROM if task.windows else CLEAR
                passage = choose_passage(answer, reports[at].status, least)
                reports[at] = replace(reports[at], proof=passage)
        results.append(item.adding(reports, list(zip(task.statements, answers, strict=True))))
    return results


def _searched(
    item: Findings, status: Status, settling: Settling
) -> Iterator[tuple[int, list[Window]]]:
    """Yield each claim of a state that a page settles, and the passages of the page."""
    for at, report in enumerate(item.reports):
        known = report.proof
        if report.status is not status or known is None or known.probabilities is None:
            continue
        document = item.documents[known.document]
        settled = settling(known.probabilities) >= SETTLED_FROM
        if settled and not known.others and len(document.sentences_in(known.span)) > 1:
            judged = {known.span} | {
                window.span
                for statement, found in item.answers
                for window in found.windows
                if statement == item.statement(at) and window.document == known.document
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
