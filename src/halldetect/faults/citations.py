"""Explain failing claims by rule, and judge claims against the documents they cite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from halldetect.faults.error_kinds import error_kind, other_number
from halldetect.loading import Models
from halldetect.preparation import Findings
from halldetect.report import CitationReport, ErrorReport, Status
from halldetect.scoring import Calibration, score_claim
from halldetect.verification.judging import Advance, Judgement, verify
from halldetect.verification.windows import Task


def explain(
    findings: Sequence[Findings], models: Models, progress: Advance | None = None
) -> list[Findings]:
    """Judge claims against cited documents, batched over all responses, and name the errors.

    `progress` is also called before each failing claim, because comparing words takes time.
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
    judged: list[dict[tuple[int, int | None], Judgement]] = [{} for _ in findings]
    calibration = models.calibration
    answers = verify(models.verifier, tasks, calibration.is_enough, progress)
    for (number, at, document), (found,) in zip(wanted, answers, strict=True):
        judged[number][at, document] = found
    return [
        _explained(item, known, calibration.for_response(item.length), progress)
        for item, known in zip(findings, judged, strict=True)
    ]


def _explained(
    item: Findings,
    judged: Mapping[tuple[int, int | None], Judgement],
    calibration: Calibration,
    progress: Advance | None,
) -> Findings:
    def status(at: int, document: int | None) -> Status:
        if document is None:  # a missing document supports nothing
            return Status.UNSUPPORTED
        if (at, document) in judged:
            return score_claim(item.claims[at], judged[at, document], calibration).status
        supported = item.known_support(at, document)
        return Status.SUPPORTED if supported else Status.UNCHECKABLE

    claims = []
    for at, report in enumerate(item.reports):
        if report.failing and progress is not None:
            progress(1, 1)
        cited = [CitationReport(label, place, status(at, place)) for label, place in item.cited(at)]
        claims.append(replace(report, error=_error(item, at), citations=tuple(cited)))
    answers = [(item.statement(at), found) for (at, _), found in judged.items()]
    return item.adding(claims, answers)


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
