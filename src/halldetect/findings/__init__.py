"""Findings by rule about judged claims: numbers, quotations, identifiers and wrong words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from halldetect.explanation.explain import Findings
from halldetect.findings.identifiers import KnownText, identifiers
from halldetect.findings.numbers import check_numbers
from halldetect.findings.places import located, lowered
from halldetect.findings.quotations import QuotedSource, changed_words, has_quotation
from halldetect.protocols import Rule
from halldetect.report import ClaimReport, ErrorKind, QuotationState
from halldetect.scoring import Calibration
from halldetect.verification.judging import Judgement

_FINE = (QuotationState.VERBATIM, QuotationState.OTHER_DOCUMENT)


def check_facts(
    findings: Sequence[Findings],
    answer: Callable[..., list[list[Judgement]]],
    calibration: Calibration,
    progress: Callable[[int, int], None] | None = None,
    rules: Sequence[Rule] = (),
) -> list[Findings]:
    """Compare the numbers, quotations and identifiers of all claims with their sources.

    Args:
        findings: The claims of each response.
        answer: Judges tasks; see `verification.judging.verify`.
        calibration: The parameters of the score.
        progress: Gets the tokens judged and expected.
        rules: The caller's own rules for wrong words.
    """
    results = []
    for item, found in zip(
        findings, check_numbers(findings, answer, calibration, progress), strict=True
    ):
        fitted = calibration.for_response(item.length)
        claims = _check_quotations(item, found.reports, fitted)
        claims = _check_identifiers(item, claims, fitted)
        texts = [document.text for document in item.documents]
        for at, claim in enumerate(claims if rules else ()):
            wrong = [
                located(item.response, claim.span, word.kind, word.words, word.source_words)
                for rule in rules
                for word in rule(claim, texts)
            ]
            claims[at] = lowered(claim, wrong, fitted, certain=True)
        results.append(found.adding(claims, ()))
    return results


def _check_quotations(
    item: Findings, claims: Sequence[ClaimReport], calibration: Calibration
) -> list[ClaimReport]:
    """Return the claims with their quotations; one that is not verbatim lowers the support."""
    source = None
    reports = list(claims)
    for at, report in enumerate(reports):
        if not has_quotation(report.text):
            continue
        source = source or QuotedSource([document.text for document in item.documents])
        cited = [document for _, document in item.cited(at)]
        found = tuple(source.quotations(report.text, cited, item.question))
        wrong = [
            located(
                item.response,
                report.span,
                ErrorKind.QUOTATION,
                changed_words(one) if one.state is QuotationState.CHANGED else one.text,
                one.source_words,
            )
            for one in found
            if one.state not in _FINE
        ]
        certain = any(one.state is QuotationState.OTHER_SPEAKER for one in found)
        reports[at] = lowered(
            replace(report, quotations=found), wrong, calibration, certain=certain
        )
    return reports


def _check_identifiers(
    item: Findings, claims: Sequence[ClaimReport], calibration: Calibration
) -> list[ClaimReport]:
    """Return the claims; an identifier that no text has lowers the support."""
    known = None
    reports = list(claims)
    for at, report in enumerate(reports):
        if not identifiers(report.text):
            continue
        texts = [*(document.text for document in item.documents), *item.names, item.question]
        known = known or KnownText(texts)
        wrong = [
            located(item.response, report.span, ErrorKind.IDENTIFIER, name)
            for name in known.invented(report.text)
        ]
        reports[at] = lowered(report, wrong, calibration, certain=True)
    return reports
