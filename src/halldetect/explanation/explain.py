"""Why a claim fails, and whether the documents that it cites support it.

A claim is judged as a whole and that decides. The parts of a claim that fails are judged as well,
each as if it stood alone, so that the report can say which of them fails; where each is supported
alone, the claim connects what the source does not. A claim that cites documents is judged against
each of them alone. What is wrong with a failing claim is found by rule; where the source does not
say it otherwise, another claim of the response may.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from halldetect.claims import Claim
from halldetect.explanation.error_kinds import error_kind
from halldetect.explanation.self_contradictions import confirm, find_conflicts
from halldetect.protocols import Verifier
from halldetect.reading.citations import cited_documents, is_kind_of_source, mentions
from halldetect.reading.document import Document
from halldetect.report import CitationReport, ClaimReport, ErrorReport, PartReport, Status
from halldetect.verification.rounds import JudgedClaim, verify
from halldetect.verification.scales import Window
from halldetect.verification.schedule import Rule, StoppingRule
from halldetect.verification.tasks import Task

# A part is judged against so many windows at most, those that share most words with it.
PART_WINDOWS = 4
_FLAGGED = (Status.CONTRADICTED, Status.UNSUPPORTED)

Score = Callable[[JudgedClaim], ClaimReport]


@dataclass(frozen=True, slots=True)
class Explained:
    """The claims of one response with what explains them.

    claims  as in the report
    judged  the verifier's answers for parts and citations, for the cost
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
    names      of the documents; empty where they have none
    """

    claims: tuple[Claim, ...]
    reports: tuple[ClaimReport, ...]
    windows: tuple[Window, ...]
    documents: tuple[Document, ...]
    names: tuple[str, ...] = ()

    @property
    def failing(self) -> list[int]:
        """The claims that have parts and are not supported."""
        return [
            at
            for at, (claim, report) in enumerate(zip(self.claims, self.reports, strict=True))
            if claim.parts and report.status in _FLAGGED
        ]

    def cited(self, at: int) -> list[tuple[str, int | None]]:
        """The documents that a claim cites, as it cites them and by their index.

        A source that the claim names and that is none of the documents may be one that a document
        talks about; then it is no citation.
        """
        count = len(self.documents)
        return [
            (label, document)
            for cited in self.claims[at].citations
            for label, document in cited_documents(cited, self.names, count)
            if document is not None or not self._talks_of(label)
        ]

    def _talks_of(self, source: str) -> bool:
        """Whether a document talks of a source that is named."""
        return is_kind_of_source(source) and any(
            mentions(document.text, source) for document in self.documents
        )

    def known_support(self, at: int, document: int) -> bool:
        """Whether it is known already that a document supports a claim."""
        report = self.reports[at]
        best = report.entailing
        return report.status is Status.SUPPORTED and best is not None and best.document == document


@dataclass(frozen=True, slots=True)
class _Question:
    """Something to judge for a claim: its part, or the claim against one document.

    finding   the response, by its index
    claim     the claim, by its index
    wanted    what is judged
    document  against which document alone; None: against the source
    """

    finding: int
    claim: int
    wanted: Claim
    document: int | None = None


def explain(
    findings: Sequence[Findings],
    verifier: Verifier,
    rule: Rule | None,
    score: Score,
    progress: Callable[[int, int], None] | None = None,
    *,
    compare: bool = True,
) -> list[Explained]:
    """Judge the parts of failing claims and what claims cite, batching across all responses.

    findings  of each response
    verifier  judges
    rule      which windows a claim is judged against
    score     the report of a claim that was judged
    progress  is called with the tokens judged and those that are expected in all, and again
              before each failing claim: to compare words takes a while, too
    compare   whether failing claims are compared with the other claims of their response
    """
    questions = [
        question
        for number, item in enumerate(findings)
        for question in (*_parts(number, item), *_citations(number, item))
    ]
    answers = _answers(questions, findings, verifier, rule, progress)
    tokens = max(sum(judged.tokens for judged in answers), 1)

    def pause() -> None:
        if progress is not None:
            progress(tokens, tokens)

    explained = [
        _explained(
            item,
            [
                (question, judged)
                for question, judged in zip(questions, answers, strict=True)
                if question.finding == number
            ],
            score,
            pause,
        )
        for number, item in enumerate(findings)
    ]
    return _compared(findings, explained, verifier, pause) if compare else explained


def _compared(
    findings: Sequence[Findings],
    explained: Sequence[Explained],
    verifier: Verifier,
    pause: Callable[[], None],
) -> list[Explained]:
    """Claims that the source does not say otherwise may be said otherwise by the response."""
    found = [
        (number, conflict)
        for number, (item, result) in enumerate(zip(findings, explained, strict=True))
        for conflict in find_conflicts(
            [claim.hypothesis for claim in item.claims],
            [
                at
                for at, report in enumerate(result.claims)
                if report.status in _FLAGGED and not (report.error and report.error.source_words)
            ],
            pause,
        )
    ]
    answers = confirm([(findings[number].claims, conflict) for number, conflict in found], verifier)
    results = [(list(item.claims), list(item.judged)) for item in explained]
    for (number, conflict), (error, judged) in zip(found, answers, strict=True):
        reports, all_judged = results[number]
        all_judged.append(judged)
        if error is not None:
            reports[conflict.claim] = replace(reports[conflict.claim], error=error)
    return [Explained(tuple(reports), tuple(judged)) for reports, judged in results]


def _parts(number: int, item: Findings) -> list[_Question]:
    return [
        _Question(number, at, Claim(part.text, None, "a part", read_as=part.read_as))
        for at in item.failing
        for part in item.claims[at].parts
    ]


def _citations(number: int, item: Findings) -> list[_Question]:
    return [
        _Question(number, at, item.claims[at], document)
        for at, report in enumerate(item.reports)
        if report.status is not Status.UNCHECKABLE
        for document in dict.fromkeys(document for _, document in item.cited(at))
        if document is not None and not item.known_support(at, document)
    ]


def _answers(
    questions: Sequence[_Question],
    findings: Sequence[Findings],
    verifier: Verifier,
    rule: Rule | None,
    progress: Callable[[int, int], None] | None,
) -> list[JudgedClaim]:
    """The verifier's answers; questions about the same response and windows are one task."""
    groups: dict[tuple[int, int | None], list[int]] = {}
    for at, question in enumerate(questions):
        groups.setdefault((question.finding, question.document), []).append(at)
    tasks = [
        Task(
            tuple(questions[at].wanted for at in places),
            tuple(
                window
                for window in findings[finding].windows
                if document is None or window.document == document
            ),
            findings[finding].documents,
            finer=document is None,
        )
        for (finding, document), places in groups.items()
    ]
    if not tasks:
        return []
    if isinstance(rule, StoppingRule):
        rule = replace(rule, max_windows=PART_WINDOWS)
    answers: dict[int, JudgedClaim] = {}
    results = verify(verifier, tasks, progress, rule=rule)
    for places, judged in zip(groups.values(), results, strict=True):
        answers.update(zip(places, judged, strict=True))
    return [answers[at] for at in range(len(questions))]


def _explained(
    item: Findings,
    answered: Sequence[tuple[_Question, JudgedClaim]],
    score: Score,
    pause: Callable[[], None],
) -> Explained:
    reports = list(item.reports)
    for at, report in enumerate(reports):
        if report.status in _FLAGGED:
            pause()
        own = [(question, score(judged)) for question, judged in answered if question.claim == at]
        parts = tuple(
            PartReport(part.text, part.spans, found.status, found.support)
            for part, found in zip(
                item.claims[at].parts,
                [found for question, found in own if question.document is None],
                strict=False,
            )
        )
        statuses = {question.document: found.status for question, found in own}
        reports[at] = replace(
            report,
            parts=parts,
            error=_error(item.claims[at], report),
            citations=tuple(
                CitationReport(label, document, _status(item, at, document, statuses))
                for label, document in item.cited(at)
            ),
        )
    return Explained(tuple(reports), tuple(judged for _, judged in answered))


def _status(
    item: Findings, at: int, document: int | None, statuses: dict[int | None, Status]
) -> Status:
    """What a cited document says of a claim; one that does not exist supports nothing."""
    if document is None:
        return Status.UNSUPPORTED
    if item.known_support(at, document):
        return Status.SUPPORTED
    return statuses.get(document, Status.UNCHECKABLE)


def _error(claim: Claim, report: ClaimReport) -> ErrorReport | None:
    evidence = report.evidence
    if report.status not in _FLAGGED or evidence is None:
        return None
    contradicted = report.status is Status.CONTRADICTED
    return error_kind(claim.hypothesis, evidence.text, contradicted=contradicted)
