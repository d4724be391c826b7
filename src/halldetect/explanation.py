"""Why a claim fails: which of its parts the source does not support.

A claim is judged as a whole and that decides. The parts of a claim that fails are judged as well,
each as if it stood alone, so that the report can say which of them fails; where each is supported
alone, the claim connects what the source does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from halldetect.claims import Claim
from halldetect.protocols import Verifier
from halldetect.report import ClaimReport, PartReport, Status
from halldetect.text.document import Document
from halldetect.verification.rounds import JudgedClaim, Task, verify
from halldetect.verification.schedule import Rule, StoppingRule
from halldetect.windows.scales import Window

# A part is judged against so many windows at most, those that share most words with it.
PART_WINDOWS = 4


@dataclass(frozen=True, slots=True)
class Explained:
    """The claims of one response with what explains them.

    claims  as in the report
    judged  the verifier's answers for the parts, for the cost
    """

    claims: tuple[ClaimReport, ...]
    judged: tuple[JudgedClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The claims of one response as they were judged.

    claims     as the extractor made them
    reports    what was found of each
    windows    of the source
    documents  of the source
    """

    claims: tuple[Claim, ...]
    reports: tuple[ClaimReport, ...]
    windows: tuple[Window, ...]
    documents: tuple[Document, ...]

    @property
    def failing(self) -> list[int]:
        """The claims that have parts and are not supported."""
        flagged = (Status.CONTRADICTED, Status.UNSUPPORTED)
        return [
            at
            for at, (claim, report) in enumerate(zip(self.claims, self.reports, strict=True))
            if claim.parts and report.status in flagged
        ]


def explain(
    findings: Sequence[Findings],
    verifier: Verifier,
    rule: Rule | None,
    score: Callable[[JudgedClaim], ClaimReport],
    progress: Callable[[int, int], None] | None = None,
) -> list[Explained]:
    """Judge the parts of failing claims, batching across all responses.

    findings  of each response
    verifier  judges the parts
    rule      which windows a claim is judged against
    score     the report of a claim that was judged
    progress  is called with the pairs judged and the pairs there are
    """
    tasks = [
        Task(
            tuple(
                Claim(part.text, None, "a part", read_as=part.read_as)
                for at in item.failing
                for part in item.claims[at].parts
            ),
            item.windows,
            item.documents,
            finer=True,
        )
        for item in findings
    ]
    if not any(task.claims for task in tasks):
        return [Explained(item.reports) for item in findings]
    if isinstance(rule, StoppingRule):
        rule = replace(rule, max_windows=PART_WINDOWS)
    wanted = [task for task in tasks if task.claims]
    outcomes = iter(verify(verifier, wanted, progress, rule=rule))
    return [
        _explained(item, next(outcomes), score) if task.claims else Explained(item.reports)
        for item, task in zip(findings, tasks, strict=True)
    ]


def _explained(
    item: Findings, judged: Sequence[JudgedClaim], score: Callable[[JudgedClaim], ClaimReport]
) -> Explained:
    reports = list(item.reports)
    answers = iter(judged)
    for at in item.failing:
        parts = []
        for part in item.claims[at].parts:
            found = score(next(answers))
            parts.append(PartReport(part.text, part.spans, found.status, found.support))
        reports[at] = replace(reports[at], parts=tuple(parts))
    return Explained(tuple(reports), tuple(judged))
