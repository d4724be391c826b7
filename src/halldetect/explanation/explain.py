"""The kind of error of each failing claim, and the support of each citation.

A claim that cites documents is judged against each of them alone. The kind of error is found by
rule. Neither changes the state of a claim.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from halldetect.claims import Claim
from halldetect.explanation.error_kinds import error_kind
from halldetect.protocols import Verifier
from halldetect.reading.citations import cited_documents, is_kind_of_source, mentions
from halldetect.reading.document import Document
from halldetect.report import CitationReport, ClaimReport, ErrorReport, Status
from halldetect.verification.rounds import JudgedClaim, verify
from halldetect.verification.scales import Window
from halldetect.verification.schedule import Rule, StoppingRule
from halldetect.verification.tasks import Task

# Windows of a cited document that a claim is judged against: those that share most words with it.
CITED_WINDOWS = 4
_FLAGGED = (Status.CONTRADICTED, Status.UNSUPPORTED)

Score = Callable[[JudgedClaim], ClaimReport]


@dataclass(frozen=True, slots=True)
class Explained:
    """The claims of one response with their explanations.

    claims  as in the report
    judged  the verifier's answers, for the cost
    """

    claims: tuple[ClaimReport, ...]
    judged: tuple[JudgedClaim, ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """The claims of one response as they were judged.

    claims     as the extractor made them
    reports    of the claims
    windows    of the source
    documents  of the source
    names      of the documents; empty where they have none
    """

    claims: tuple[Claim, ...]
    reports: tuple[ClaimReport, ...]
    windows: tuple[Window, ...]
    documents: tuple[Document, ...]
    names: tuple[str, ...] = ()

    def cited(self, at: int) -> list[tuple[str, int | None]]:
        """Return the documents that a claim cites, as it cites them and by their index.

        A document may talk of a source that the claim names; then the name is not a citation.
        """
        count = len(self.documents)
        return [
            (label, document)
            for cited in self.claims[at].citations
            for label, document in cited_documents(cited, self.names, count)
            if document is not None or not self._talks_of(label)
        ]

    def _talks_of(self, source: str) -> bool:
        return is_kind_of_source(source) and any(
            mentions(document.text, source) for document in self.documents
        )

    def known_support(self, at: int, document: int) -> bool:
        """Return True if a document is known to support a claim."""
        report = self.reports[at]
        best = report.evidence
        return report.status is Status.SUPPORTED and best is not None and best.document == document


# A response, one of its claims, and a document that it cites, each by its index.
_Question = tuple[int, int, int]


def explain(
    findings: Sequence[Findings],
    verifier: Verifier,
    rule: Rule | None,
    score: Score,
    progress: Callable[[int, int], None] | None = None,
) -> list[Explained]:
    """Judge the citations of claims, batched across all responses, and name kinds of error.

    findings  of each response
    verifier  judges
    rule      which windows a claim is judged against
    score     makes the report of a judged claim
    progress  is called with the tokens judged and those expected in all, and again before each
              failing claim, because comparing words takes time
    """
    questions = [
        (number, at, document)
        for number, item in enumerate(findings)
        for at, report in enumerate(item.reports)
        if report.status is not Status.UNCHECKABLE
        for document in dict.fromkeys(document for _, document in item.cited(at))
        if document is not None and not item.known_support(at, document)
    ]
    answers = _answers(questions, findings, verifier, rule, progress)
    tokens = max(sum(judged.tokens for judged in answers.values()), 1)
    explained = []
    for number, item in enumerate(findings):
        reports = list(item.reports)
        for at, report in enumerate(reports):
            if report.status in _FLAGGED and progress is not None:
                progress(tokens, tokens)
            citations = []
            for label, document in item.cited(at):
                judged = None if document is None else answers.get((number, at, document))
                found = None if judged is None else score(judged)
                status = _citation_status(item, at, document, found)
                citations.append(CitationReport(label, document, status))
            error = _error(item.claims[at], report)
            reports[at] = replace(report, error=error, citations=tuple(citations))
        own = tuple(judged for (of, _, _), judged in answers.items() if of == number)
        explained.append(Explained(tuple(reports), own))
    return explained


def _answers(
    questions: Sequence[_Question],
    findings: Sequence[Findings],
    verifier: Verifier,
    rule: Rule | None,
    progress: Callable[[int, int], None] | None,
) -> dict[_Question, JudgedClaim]:
    """Judge the questions; those about one document of one response are one task."""
    groups: dict[tuple[int, int], list[_Question]] = {}
    for number, at, document in questions:
        groups.setdefault((number, document), []).append((number, at, document))
    tasks = [
        Task(
            tuple(findings[number].claims[at] for _, at, _ in group),
            tuple(item for item in findings[number].windows if item.document == document),
            findings[number].documents,
            finer=False,
        )
        for (number, document), group in groups.items()
    ]
    if not tasks:
        return {}
    if isinstance(rule, StoppingRule):
        rule = replace(rule, max_windows=CITED_WINDOWS)
    results = verify(verifier, tasks, progress, rule=rule)
    return {
        question: judged
        for group, answered in zip(groups.values(), results, strict=True)
        for question, judged in zip(group, answered, strict=True)
    }


def _citation_status(
    item: Findings, at: int, document: int | None, judged: ClaimReport | None
) -> Status:
    """Return the state of a claim against a cited document; a missing one supports nothing."""
    if document is None:
        return Status.UNSUPPORTED
    if item.known_support(at, document):
        return Status.SUPPORTED
    return Status.UNCHECKABLE if judged is None else judged.status


def _error(claim: Claim, report: ClaimReport) -> ErrorReport | None:
    evidence = report.evidence
    if report.status not in _FLAGGED or evidence is None:
        return None
    contradicted = report.status is Status.CONTRADICTED
    return error_kind(claim.hypothesis, evidence.text, contradicted=contradicted)
