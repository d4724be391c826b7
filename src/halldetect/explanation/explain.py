"""Explain failing claims by rule, and judge claims against the documents they cite."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from halldetect.explanation.error_kinds import error_kind, other_number
from halldetect.reading.citations import cited_documents, is_kind_of_source, mentions
from halldetect.reading.claims import Claim
from halldetect.reading.document import Document
from halldetect.reading.languages import ENGLISH
from halldetect.report import CitationReport, ClaimReport, ErrorReport, Status
from halldetect.scoring import Calibration, score_claim
from halldetect.verification.judging import Judgement
from halldetect.verification.planning import Task


@dataclass(frozen=True, slots=True)
class Findings:
    """The claims of a response as read and judged, and its source.

    `names` are those of the documents, `answers` the statements that were judged with the
    verifier's answers, `length` the number of claims in the whole response. The seconds per phase,
    the notes and the problem of a failed check are for the report. `languages` are those of the
    response and of each document, empty if all are English. `known` are further texts whose
    identifiers are not invented.
    """

    claims: tuple[Claim, ...]
    reports: tuple[ClaimReport, ...]
    documents: tuple[Document, ...]
    names: tuple[str, ...] = ()
    answers: tuple[tuple[str, Judgement], ...] = ()
    length: int = 1
    response: str = ""
    question: str = ""
    seconds: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    problem: str | None = None
    languages: tuple[str, ...] = ()
    known: tuple[str, ...] = ()

    def is_english(self, at: int) -> bool:
        """Return True if a claim and all documents are English."""
        return self.claims[at].language == ENGLISH and {ENGLISH, *self.languages[1:]} == {ENGLISH}

    def is_translated(self, at: int) -> bool:
        """Return True if no document has the language of a claim."""
        return self.claims[at].language not in (self.languages[1:] or (ENGLISH,))

    def adding(
        self, reports: Sequence[ClaimReport], answers: Sequence[tuple[str, Judgement]]
    ) -> Findings:
        """Return the findings with other outcomes and further answers."""
        return replace(self, reports=tuple(reports), answers=(*self.answers, *answers))

    def spending(self, phase: str, seconds: float) -> Findings:
        """Return the findings with more time spent in a phase."""
        spent = self.seconds.get(phase, 0.0) + seconds
        return replace(self, seconds={**self.seconds, phase: spent})

    def statement(self, at: int) -> str:
        """Return a claim in the form that was judged."""
        return self.reports[at].read_as or self.claims[at].text

    def cited(self, at: int) -> list[tuple[str, int | None]]:
        """Return the label and index of each document that a claim cites.

        A named source outside the documents may be one that a document mentions; that does not
        count as a citation.
        """
        count = len(self.documents)
        return [
            (label, document)
            for cited in self.claims[at].citations
            for label, document in cited_documents(cited, self.names, count)
            if document is not None or not self._mentions(label)
        ]

    def _mentions(self, source: str) -> bool:
        return is_kind_of_source(source) and any(
            mentions(document.text, source) for document in self.documents
        )

    def known_support(self, at: int, document: int) -> bool:
        """Return True if a passage that supports a claim is in this document."""
        report = self.reports[at]
        supported = report.status is Status.SUPPORTED
        return supported and any(passage.document == document for passage in report.passages)


def explain(
    findings: Sequence[Findings],
    answer: Callable[..., list[list[Judgement]]],
    calibration: Calibration,
    progress: Callable[[int, int], None] | None = None,
) -> list[Findings]:
    """Judge claims against cited documents, batched over all responses, and name the errors.

    `answer` judges tasks as `verification.judging.verify` does. `progress` is also called before
    each failing claim, because comparing words takes time.
    """
    wanted = [
        (number, at, document)
        for number, item in enumerate(findings)
        for at, report in enumerate(item.reports)
        if report.status is not Status.UNCHECKABLE
        for document in dict.fromkeys(document for _, document in item.cited(at))
        if document is not None and not item.known_support(at, document)
    ]
    tasks = [
        Task((findings[number].statement(at),), (findings[number].documents[document],))
        for number, at, document in wanted
    ]
    judged = [found for (found,) in answer(tasks, progress=progress)] if tasks else []
    statuses = {}
    for place, found in zip(wanted, judged, strict=True):
        item, at = findings[place[0]], place[1]
        fitted = calibration.for_response(item.length)
        statuses[place] = score_claim(item.claims[at], found, fitted).status

    def cited_status(number: int, at: int, document: int | None) -> Status:
        if document is None:  # a missing document supports nothing
            return Status.UNSUPPORTED
        if findings[number].known_support(at, document):
            return Status.SUPPORTED
        return statuses.get((number, at, document), Status.UNCHECKABLE)

    results = []
    for number, item in enumerate(findings):
        claims = []
        for at, report in enumerate(item.reports):
            if report.failing and progress is not None:
                progress(1, 1)
            citations = tuple(
                CitationReport(label, document, cited_status(number, at, document))
                for label, document in item.cited(at)
            )
            claims.append(replace(report, error=_error(item, at), citations=citations))
        answers = [
            (task.statements[0], found)
            for (of_response, _, _), task, found in zip(wanted, tasks, judged, strict=True)
            if of_response == number
        ]
        results.append(item.adding(claims, answers))
    return results


def _error(item: Findings, at: int) -> ErrorReport | None:
    report = item.reports[at]
    if not report.failing or report.proof is None:
        return None
    if not item.is_english(at):
        return other_number(item.statement(at), report.proof.text)
    return error_kind(
        item.statement(at),
        report.proof.text,
        contradicted=report.status is Status.CONTRADICTED,
        source="\n".join(document.text for document in item.documents),
    )
