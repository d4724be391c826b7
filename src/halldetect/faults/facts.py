"""Findings by rule about judged claims: numbers, quotations, identifiers and wrong words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from halldetect.faults.numbers import check_numbers
from halldetect.faults.verbatim import VerbatimSource, changed_words, invented
from halldetect.faults.wrong_words import lowered
from halldetect.loading import Models
from halldetect.preparation import Findings
from halldetect.report import ErrorKind, QuotationReport, QuotationState, WrongWords
from halldetect.verification.judging import Advance

_FINE = (QuotationState.VERBATIM, QuotationState.OTHER_DOCUMENT)


def check_facts(
    findings: Sequence[Findings], models: Models, progress: Advance | None = None
) -> list[Findings]:
    """Compare the numbers, quotations and identifiers of all claims with their sources."""
    results = []
    for item in check_numbers(findings, models):
        fitted = models.calibration.for_response(item.length)
        texts = [document.text for document in item.documents]
        source = VerbatimSource(texts)
        known = (*texts, *item.pair.document_names, item.question, *item.known)
        claims = []
        for at, claim in enumerate(item.reports):
            cited = [document for _, document in item.cited(at)]
            quoted: tuple[QuotationReport, ...] = ()
            if not item.is_translated(at):
                quoted = tuple(source.quotations(claim.text, cited, item.question))
            changed = [
                WrongWords(ErrorKind.QUOTATION, changed_words(one), one.source_words)
                for one in quoted
                if claim.failing and one.state not in _FINE
            ]
            claim = replace(claim, quotations=quoted)
            claim = lowered(claim, changed, item.pair.response, fitted, certain=False)
            names = [WrongWords(ErrorKind.IDENTIFIER, name) for name in invented(claim.text, known)]
            claim = lowered(claim, names, item.pair.response, fitted, certain=True)
            wrong = [word for rule in models.rules for word in rule(claim, texts)]
            claims.append(lowered(claim, wrong, item.pair.response, fitted, certain=True))
        results.append(item.adding(claims))
    return results
