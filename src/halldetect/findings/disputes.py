"""Find claims that one document supports and another contradicts.

A sentence of another document is a candidate if it shares most words with the claim and a rule
finds a difference: another number, date or name, a negation or an opposite. The verifier decides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from halldetect.explanation.error_kinds import error_kind
from halldetect.explanation.explain import Findings
from halldetect.facts.quantities import read_quantities
from halldetect.protocols import Verifier
from halldetect.reading.document import Span
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.report import Dispute, Evidence, Status
from halldetect.scoring import Calibration, contradiction_of

_MIN_SHARED = 0.5
# Characters of a document in which its date is looked for.
_HEAD = 300
_PER_CALL = 16
_DAYS = {"year": 365.25, "month": 30.44, "day": 1.0}


@dataclass(frozen=True, slots=True)
class _Candidate:
    response: int
    claim: int
    statement: str
    document: int
    span: Span
    text: str


def find_disputes(
    findings: Sequence[Findings],
    verifier: Verifier,
    calibration: Calibration,
    progress: Callable[[int, int], None] | None = None,
) -> list[Findings]:
    """Return the claims of each response, with `against` where a document contradicts one.

    Args:
        findings: The claims of each response.
        verifier: Judges the candidates.
        calibration: The parameters of the score.
        progress: Gets the number of judged and of all candidates.
    """
    found = [
        candidate
        for number, item in enumerate(findings)
        if len(item.documents) > 1
        for candidate in _candidates(number, item)
    ]
    reports = [list(item.reports) for item in findings]
    for start in range(0, len(found), _PER_CALL):
        if progress is not None:
            progress(start, len(found))
        batch = found[start : start + _PER_CALL]
        answers = verifier.judge([(one.text, one.statement) for one in batch])
        for one, answer in zip(batch, answers, strict=True):
            report = reports[one.response][one.claim]
            if contradiction_of(answer) > calibration.contradicted_above and not report.against:
                item = findings[one.response]
                text = one.span.cut(item.documents[one.document].text)
                proof = report.proof.document if report.proof else one.document
                dispute = Dispute(
                    Evidence(text, one.document, one.span), _newer(item, proof, one.document)
                )
                reports[one.response][one.claim] = replace(report, against=dispute)
    return [
        item.adding(of_response, ()) for item, of_response in zip(findings, reports, strict=True)
    ]


def _candidates(number: int, item: Findings) -> Iterator[_Candidate]:
    """Yield the closest sentence of each other document that differs from a supported claim."""
    sentences = [
        [(span, text, content_keys(text)) for span in document.sentences
         if (text := document.readable(span))]
        for document in item.documents
    ]  # fmt: skip
    for at, report in enumerate(item.reports):
        if report.status is not Status.SUPPORTED or report.proof is None:
            continue
        statement = item.statement(at)
        keys = content_keys(statement)
        used = {passage.document for passage in report.passages}
        for document, known in enumerate(sentences):
            if document in used or not known:
                continue
            span, text, _ = max(known, key=lambda entry: shared_part(keys, entry[2]))
            if shared_part(keys, content_keys(text)) < _MIN_SHARED:
                continue
            if error_kind(statement, text, contradicted=True) is not None:
                yield _Candidate(number, at, statement, document, span, text)


def _newer(item: Findings, first: int, second: int) -> int | None:
    """Return the document with the later date; None if a date is unknown or they are equal."""
    dates = {document: _date(item, document) for document in (first, second)}
    if None in dates.values() or dates[first] == dates[second]:
        return None
    return max(dates, key=lambda document: dates[document] or 0.0)


def _date(item: Findings, document: int) -> float | None:
    """Return the first date in the name or at the start of a document, in days."""
    name = item.names[document] if item.names else ""
    for text in (name.replace("_", " "), item.documents[document].text[:_HEAD]):
        for found in read_quantities(text):
            if found.kind in _DAYS:
                return found.value * _DAYS[found.kind]
    return None
