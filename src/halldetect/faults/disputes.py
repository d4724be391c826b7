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
from halldetect.models.loading import Models
from halldetect.protocols import Verifier
from halldetect.reading.document import Span
from halldetect.reading.overlap import WordIndex, content_keys, shared_part
from halldetect.reading.reader import Reading
from halldetect.reading.sources import read_source
from halldetect.report import ClaimReport, Dispute, Evidence, Report, Status
from halldetect.scoring import Scored, contradiction_of
from halldetect.verification.asking import Asking
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
    items: Sequence[Scored], asking: Asking, models: Models
) -> list[tuple[ClaimReport, ...]]:
    """Return the claims of each response, with `against` where a document contradicts one."""
    candidates = [[*_candidates(item)] if len(item.reading.documents) > 1 else [] for item in items]
    tasks = [
        Task(
            tuple(item.statement(at) for at, _ in chosen),
            windows=tuple([window] for _, window in chosen),
        )
        for item, chosen in zip(items, candidates, strict=True)
    ]
    verifier = models.locator or models.verifier
    judged = verify(verifier, tasks, progress=asking.advance, short=True)
    least = models.calibration.contradicted_above
    disputed = []
    for item, chosen, answers in zip(items, candidates, judged, strict=True):
        claims = list(item.claims)
        for (at, window), answer in zip(chosen, answers, strict=True):
            claim, other = claims[at], window.document
            if contradiction_of(answer.probabilities[0]) > least and not claim.against:
                text = window.span.cut(item.reading.documents[other].text)
                proof = claim.proof.document if claim.proof else other
                newer = _newer(item.reading, proof, other)
                dispute = Dispute(Evidence(text, other, window.span), newer)
                claims[at] = replace(claim, against=dispute)
        disputed.append(tuple(claims))
    return disputed


def _candidates(item: Scored) -> Iterator[tuple[int, Window]]:
    """Yield the index of supported claims and the closest sentence of each other document."""
    reading = item.reading

    @cache
    def sentences(document: int) -> list[tuple[Span, str, frozenset[str]]]:
        read = reading.documents[document]
        texts = ((span, read.readable(span)) for span in read.sentences)
        return [(span, text, content_keys(text)) for span, text in texts if text]

    for at, claim in enumerate(item.claims):
        if claim.status is not Status.SUPPORTED or not claim.proof or not reading.is_english(at):
            continue
        statement = item.statement(at)
        keys = content_keys(statement)
        used = {passage.document for passage in claim.passages}
        for document in range(len(reading.documents)):
            if document in used or not sentences(document):
                continue
            span, text, shown = max(sentences(document), key=lambda one: shared_part(keys, one[2]))
            if shared_part(keys, shown) >= _MIN_SHARED and error_kind(
                statement, text, contradicted=True
            ):
                yield at, Window(text, document, span, page=False)


def _newer(reading: Reading, first: int, second: int) -> int | None:
    """Return the document with the later date; None if a date is unknown or they are equal."""
    one, two = _date(reading, first), _date(reading, second)
    if one is None or two is None or one == two:
        return None
    return first if one > two else second


def _date(reading: Reading, document: int) -> float | None:
    """Return the first date in the name or at the start of a document, in days."""
    names = reading.pair.document_names
    name = names[document] if names else ""
    for text in (name.replace("_", " "), reading.documents[document].text[:_HEAD]):
        for found in read_quantities(text):
            if found.kind in _DAYS:
                return found.value * _DAYS[found.kind]
    return None


def find_missing(
    reports: Sequence[Report],
    verifier: Verifier,
    progress: Advance | None = None,
    wanted: Sequence[bool] | None = None,
) -> list[Report]:
    """Return reports with `missing`: sentences about the question that the response leaves out.

    All, or the wanted ones, are judged together. Without a question or a response, a report is
    unchanged.
    """
    chosen = wanted or [True] * len(reports)
    asked = [
        _about_the_question(report) if one else ([], Task(()))
        for report, one in zip(reports, chosen, strict=True)
    ]
    judged = verify(verifier, [task for _, task in asked], progress=progress)
    return [
        replace(
            report,
            missing=tuple(
                Evidence(span.cut(report.documents[number]), number, span)
                for (number, span), made in zip(places, answers, strict=True)
                if max((one.entailment for one in made.probabilities), default=1.0) < _MADE_FROM
            ),
        )
        for report, (places, _), answers in zip(reports, asked, judged, strict=True)
    ]


def _about_the_question(report: Report) -> tuple[list[tuple[int, Span]], Task]:
    """Return the sentences about the question, and whether the response makes them."""
    asked = content_keys(report.question or "")
    if not asked or not report.response.strip():
        return [], Task(())
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
    # "Until nine" is an answer only beside the question.
    answer = read_source(f"{report.question}\n{report.response}")
    return chosen, Task(statements, (answer,) if statements else ())
