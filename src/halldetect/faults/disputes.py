"""Find claims that another document contradicts, and statements that a response leaves out.

A sentence of another document is a candidate if it shares most words with the claim and a rule
finds a difference: another number, date or name, a negation or an opposite. The verifier decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

from halldetect.facts.quantities import read_quantities
from halldetect.faults.error_kinds import error_kind
from halldetect.loading import Models
from halldetect.preparation import Findings
from halldetect.protocols import Verifier
from halldetect.reading.document import Span
from halldetect.reading.overlap import WordIndex, content_keys, shared_part
from halldetect.reading.sources import read_source
from halldetect.report import Dispute, Evidence, Report, Status
from halldetect.scoring import contradiction_of
from halldetect.verification.judging import Advance, verify
from halldetect.verification.windows import Task, Window

# A sentence about a claim, or about a question, has this share of its content words.
_MIN_SHARED, _MIN_ASKED = 0.5, 0.4
# Characters of a document in which its date is looked for.
_HEAD = 300
_DAYS = {"year": 365.25, "month": 30.44, "day": 1.0}
# Sentences of the source that are looked for in the response.
_MOST = 8
# A response makes a statement that it entails with this probability.
_MADE_FROM = 0.3


def find_disputes(
    findings: Sequence[Findings], models: Models, progress: Advance | None = None
) -> list[Findings]:
    """Return the claims of each response, with `against` where a document contradicts one."""
    found = [[*_candidates(item)] if len(item.documents) > 1 else [] for item in findings]
    tasks = [
        Task(
            tuple(item.statement(at) for at, _ in candidates),
            windows=tuple([window] for _, window in candidates),
        )
        for item, candidates in zip(findings, found, strict=True)
    ]
    judged = verify(models.locator or models.verifier, tasks, progress=progress, short=True)
    results = []
    for item, candidates, answers in zip(findings, found, judged, strict=True):
        reports = list(item.reports)
        for (at, window), answer in zip(candidates, answers, strict=True):
            report, other = reports[at], window.document
            contradiction = contradiction_of(answer.probabilities[0])
            if contradiction > models.calibration.contradicted_above and not report.against:
                text = window.span.cut(item.documents[other].text)
                proof = report.proof.document if report.proof else other
                dispute = Dispute(Evidence(text, other, window.span), _newer(item, proof, other))
                reports[at] = replace(report, against=dispute)
        results.append(item.adding(reports))
    return results


def _candidates(item: Findings) -> Iterator[tuple[int, Window]]:
    """Yield the index of supported claims and the closest sentence of each other document."""

    @cache
    def sentences(document: int) -> list[tuple[Span, str, frozenset[str]]]:
        read = item.documents[document]
        texts = ((span, read.readable(span)) for span in read.sentences)
        return [(span, text, content_keys(text)) for span, text in texts if text]

    for at, report in enumerate(item.reports):
        if report.status is not Status.SUPPORTED or report.proof is None or not item.is_english(at):
            continue
        statement = item.statement(at)
        keys = content_keys(statement)
        used = {passage.document for passage in report.passages}
        for document in range(len(item.documents)):
            if document in used or not sentences(document):
                continue
            span, text, shown = max(sentences(document), key=lambda one: shared_part(keys, one[2]))
            if shared_part(keys, shown) >= _MIN_SHARED and error_kind(
                statement, text, contradicted=True
            ):
                yield at, Window(text, document, span, page=False)


def _newer(item: Findings, first: int, second: int) -> int | None:
    """Return the document with the later date; None if a date is unknown or they are equal."""
    one, two = _date(item, first), _date(item, second)
    if one is None or two is None or one == two:
        return None
    return first if one > two else second


def _date(item: Findings, document: int) -> float | None:
    """Return the first date in the name or at the start of a document, in days."""
    name = item.pair.document_names[document] if item.pair.document_names else ""
    for text in (name.replace("_", " "), item.documents[document].text[:_HEAD]):
        for found in read_quantities(text):
            if found.kind in _DAYS:
                return found.value * _DAYS[found.kind]
    return None


def find_missing(report: Report, verifier: Verifier, progress: Advance | None = None) -> Report:
    """Return the report with `missing`: sentences about the question that the response leaves out.

    Without a question or a response, the report is unchanged.
    """
    asked = content_keys(report.question or "")
    if not asked or not report.response.strip():
        return report
    documents = tuple(map(read_source, report.documents))
    places = [
        (number, span)
        for number, document in enumerate(documents)
        for span in document.sentences
        if shared_part(asked, content_keys(document.readable(span))) >= _MIN_ASKED
    ]
    shares = WordIndex(documents).shares(report.question or "", places)
    best = sorted(range(len(places)), key=lambda at: -shares[at])[:_MOST]
    chosen = [places[at] for at in sorted(best)]
    statements = tuple(documents[number].readable(span) for number, span in chosen)
    if not statements:
        return report
    # "Until nine" is an answer only beside the question.
    answer = read_source(f"{report.question}\n{report.response}")
    (answers,) = verify(verifier, [Task(statements, (answer,))], progress=progress)
    missing = tuple(
        Evidence(span.cut(report.documents[number]), number, span)
        for (number, span), made in zip(chosen, answers, strict=True)
        if max((found.entailment for found in made.probabilities), default=1.0) < _MADE_FROM
    )
    return replace(report, missing=missing)
