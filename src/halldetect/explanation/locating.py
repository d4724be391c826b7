"""Find the passages of claims that a verifier judged on whole pages.

A verifier that reads a source once for all claims would have to read every short passage again. It
does so for contradicted claims and for texts that are not English; a smaller verifier finds the
passages of all others. These answers change no state and no score.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from halldetect.explanation.explain import Findings
from halldetect.protocols import Verifier
from halldetect.report import Status
from halldetect.scoring import choose_passage
from halldetect.verification.judging import verify
from halldetect.verification.planning import Kind, Task

# A passage settles a claim at this probability, and needs no other one. More is asked than of the
# judge's own passages, because another verifier answers.
CLEAR = 0.8


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
            Task(tuple(map(item.statement, chosen)), item.documents, item.pair.document_names)
            for item, chosen in zip(findings, places, strict=True)
        ]
        enough = None if by_judge else lambda answer: answer.entailment >= CLEAR
        judged = verify(verifier, tasks, enough, progress, kind=Kind.SHORT)
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
