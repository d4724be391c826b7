"""Judge claims against the documents they cite, and name the errors of failing claims by rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from halldetect.faults.error_kinds import error_kind, other_number
from halldetect.models.loading import Models
from halldetect.report import CitationReport, ClaimReport, ErrorReport, Status
from halldetect.scoring import Scored, score_claim
from halldetect.verification.asking import Asking
from halldetect.verification.judging import Judgement
from halldetect.verification.windows import Task

# A claim and a document that it cites, by their places.
Citing = tuple[int, int]


def explain(
    items: Sequence[Scored], asking: Asking, models: Models
) -> list[tuple[ClaimReport, ...]]:
    """Return the claims with their citations judged, together for all responses, and their errors.

    Progress is also reported before each failing claim, because comparing words takes time.
    """
    wanted = [(number, *citing) for number, item in enumerate(items) for citing in _open(item)]
    tasks = [
        Task((items[number].statement(at),), (items[number].reading.documents[document],))
        for number, at, document in wanted
    ]
    owners = [number for number, _, _ in wanted]
    answers = asking.ask(models.verifier, tasks, models.calibration.is_enough, owners=owners)
    judged: list[dict[Citing, Judgement]] = [{} for _ in items]
    for (number, at, document), (judgement,) in zip(wanted, answers, strict=True):
        judged[number][at, document] = judgement
    explained = []
    for item, known in zip(items, judged, strict=True):
        claims = []
        for at, claim in enumerate(item.claims):
            if claim.failing and asking.advance is not None:
                asking.advance(1, 1)
            citations = tuple(_citations(item, at, known))
            claims.append(replace(claim, error=_error(item, at), citations=citations))
        explained.append(tuple(claims))
    return explained


def _open(item: Scored) -> Iterator[Citing]:
    """Yield each claim and cited document that no passage of the proof settles."""
    for at, claim in enumerate(item.claims):
        if claim.status is not Status.UNCHECKABLE:
            for document in dict.fromkeys(document for _, document in item.reading.cited(at)):
                if document is not None and not item.is_supported_by(at, document):
                    yield at, document


def _citations(
    item: Scored, at: int, judged: Mapping[Citing, Judgement]
) -> Iterator[CitationReport]:
    for label, document in item.reading.cited(at):
        if document is None:  # a missing document supports nothing
            status = Status.UNSUPPORTED
        elif (at, document) in judged:
            claim = item.reading.claims[at]
            status = score_claim(claim, judged[at, document], item.calibration).status
        else:
            supported = item.is_supported_by(at, document)
            status = Status.SUPPORTED if supported else Status.UNCHECKABLE
        yield CitationReport(label, document, status)


def _error(item: Scored, at: int) -> ErrorReport | None:
    claim = item.claims[at]
    if not claim.failing or claim.proof is None:
        return None
    if not item.reading.is_english(at):
        return other_number(item.statement(at), claim.proof.text)
    return error_kind(
        item.statement(at),
        claim.proof.text,
        contradicted=claim.status is Status.CONTRADICTED,
        source="\n".join(document.text for document in item.reading.documents),
    )
