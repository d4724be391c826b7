"""Find statements of the source that answer the question and that the response does not make."""

from __future__ import annotations

from dataclasses import replace

from halldetect.protocols import Verifier
from halldetect.reading.overlap import WordIndex, content_keys, shared_part
from halldetect.reading.sources import read_source
from halldetect.report import Evidence, Report
from halldetect.verification.judging import verify
from halldetect.verification.planning import Task

# Sentences of the source that are looked for in the response.
_MOST = 8
# A sentence about the question has this share of its content words.
_ABOUT = 0.5
# A response makes a statement that it entails with this probability.
_MADE_FROM = 0.5


def find_missing(report: Report, verifier: Verifier) -> Report:
    """Return the report with `missing` filled; unchanged without a question or a response.

    Args:
        report: The report of a check.
        verifier: Decides whether the response makes a statement.
    """
    asked = content_keys(report.question or "")
    if not asked or not report.response.strip():
        return report
    documents = tuple(map(read_source, report.documents))
    places = [
        (number, span)
        for number, document in enumerate(documents)
        for span in document.sentences
        if shared_part(asked, content_keys(document.readable(span))) >= _ABOUT
    ]
    shares = WordIndex(documents).shares(report.question or "", places)
    best = sorted(range(len(places)), key=lambda at: -shares[at])[:_MOST]
    chosen = [places[at] for at in sorted(best)]
    statements = tuple(documents[number].readable(span) for number, span in chosen)
    if not statements:
        return report
    (answers,) = verify(verifier, [Task(statements, (read_source(report.response),))])
    missing = tuple(
        Evidence(span.cut(report.documents[number]), number, span)
        for (number, span), answer in zip(chosen, answers, strict=True)
        if max((found.entailment for found in answer.probabilities), default=1.0) < _MADE_FROM
    )
    return replace(report, missing=missing)
