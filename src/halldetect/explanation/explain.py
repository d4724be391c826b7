"""Explain failing claims by rule, and judge claims against the documents they cite."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from halldetect.explanation.error_kinds import error_kind, other_number
from halldetect.preparation import Findings
from halldetect.report import CitationReport, ErrorReport, Status
from halldetect.scoring import Calibration, score_claim
from halldetect.verification.judging import Judgement
from halldetect.verification.windows import Task


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
        known = findings[number].known_support(at, document)
        other = Status.SUPPORTED if known else Status.UNCHECKABLE
        return statuses.get((number, at, document), other)

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
