"""From `Explained`, or `Refused`, to the report: score, verdict, cost, provenance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from halldetect.config import Configuration
from halldetect.faults.fault import Explained
from halldetect.inputs import ABSTAINED, ASSERTS_NOTHING
from halldetect.knowledge.retrieval import retrieval_notes
from halldetect.machine.version import __version__
from halldetect.models.loading import Models
from halldetect.reading.reader import Refused
from halldetect.report import (
    CitationScores,
    ClaimReport,
    Cost,
    Evidence,
    Provenance,
    Report,
    Status,
    Verdict,
    decide,
    rounded,
)
from halldetect.scoring import response_score
from halldetect.verification.asking import Ledger


def conclude(
    end: Explained | Refused,
    ledger: Ledger,
    config: Configuration,
    threshold: float,
    models: Models | None = None,
    fed_score: float | None = None,
) -> Report:
    """Return the report of a pair at the end of its path.

    Models that were not needed are None. In paper mode, `fed_score` decides.
    """
    read = end if isinstance(end, Refused) else end.scored.reading
    pair, notes, problem = read.pair, read.pair.notes, None
    claims: tuple[ClaimReport, ...] = ()
    score = None
    configuration = config.to_dict()
    if isinstance(end, Refused):
        problem = end.reason
    else:
        notes += end.notes
        claims = tuple(
            quoting(claim, pair.documents, probabilities=config.paper).labelled(configuration)
            for claim in end.claims
        )
        score = fed_score if config.paper else response_score(claims)
    strict = config.on_unchecked == "fail" and problem in (None, *ASSERTS_NOTHING)
    left_out = [part for part in read.unchecked if part.asserting and strict]
    verdict, reason = decide(score, claims, threshold, left_out)
    if problem == ABSTAINED and not left_out:
        verdict = Verdict.ABSTAINED
    return Report(
        verdict=verdict,
        reason=reason if left_out else problem or reason,
        score=score,
        threshold=threshold,
        claims=claims,
        response=pair.response,
        documents=pair.documents,
        question=pair.question,
        cost=_cost(ledger),
        provenance=_provenance(configuration, models, notes, claims),
        document_names=pair.document_names,
        unchecked=read.unchecked,
        citations=citation_scores(claims),
        graded=graded_score(claims),
        fed_score=fed_score,
        languages=read.languages,
        document_metadata=pair.document_metadata,
    )


def _provenance(
    configuration: dict[str, Any],
    models: Models | None,
    notes: Sequence[str],
    claims: Sequence[ClaimReport],
) -> Provenance:
    """Return what repeats the check; notes of the same words are kept once."""
    if models is None:
        return Provenance(__version__, {}, configuration, tuple(dict.fromkeys(notes)))
    notes = (*notes, *models.notes)
    if models.knowledge is not None and claims:
        notes = (*notes, *retrieval_notes(models.knowledge, claims))
    verifier = dict(models.verifier.description)
    extractor: dict[str, Any] = {}
    if models.extractor is None:
        verifier["calibration"] = asdict(models.calibration)
    else:  # the paper's score uses no calibration
        extractor = dict(models.extractor.description)
    return Provenance(__version__, verifier, configuration, tuple(dict.fromkeys(notes)), extractor)


def quoting(
    claim: ClaimReport, documents: tuple[str, ...], *, probabilities: bool = False
) -> ClaimReport:
    """Return the claim with its passages in the words of the documents.

    The verifier may read a passage in another form, such as a table row with its headers.
    """

    def quoted(found: Evidence) -> Evidence:
        kept = found if probabilities else replace(found, scales=(), probabilities=None)
        text = found.span.cut(documents[found.document])
        return replace(kept, text=text, others=tuple(map(quoted, found.others)))

    passages: dict[str, Any] = {
        name: quoted(found)
        for name in ("proof", "entailing", "contradicting")
        if (found := getattr(claim, name)) is not None
    }
    return replace(claim, **passages)


def _cost(ledger: Ledger) -> Cost:
    judged = {  # identical pairs are judged once
        (window.text, answer.statement)
        for answer in ledger.answers
        for window in answer.judgement.windows
        if answer.judgement.tokens  # a copy of the source is not judged
    }
    return Cost(
        generative_passes=ledger.draft.generative_passes,
        extractor_tokens_in=ledger.draft.tokens_in,
        extractor_tokens_out=ledger.draft.tokens_out,
        pairs_judged=len(judged),
        verifier_tokens=sum(answer.judgement.tokens for answer in ledger.answers),
        seconds={phase: round(spent, 4) for phase, spent in ledger.seconds.items()},
    )


def citation_scores(claims: Sequence[ClaimReport]) -> CitationScores | None:
    """Return the quality of the citations of some claims; None if they cite nothing."""
    checked = [claim for claim in claims if claim.status is not Status.UNCHECKABLE]
    citing = [claim for claim in checked if claim.citations]
    if not citing:
        return None
    supported = Status.SUPPORTED
    marks = [item.status is supported for claim in citing for item in claim.citations]
    by_cited = [any(item.status is supported for item in claim.citations) for claim in citing]
    pairs = zip(citing, by_cited, strict=True)
    by_other = sum(claim.status is supported and not held for claim, held in pairs)
    return CitationScores(
        precision=rounded(sum(marks) / len(marks)),
        recall=rounded(sum(by_cited) / len(checked)),
        supported_by_cited=sum(by_cited),
        supported_by_other=by_other,
        supported_by_none=len(citing) - sum(by_cited) - by_other,
    )


def graded_score(claims: Sequence[ClaimReport]) -> float | None:
    """Return the mean lack of support over the claims that were checked; None without any."""
    supports = [claim.support for claim in claims if claim.support is not None]
    return rounded(1.0 - math.fsum(supports) / len(supports)) if supports else None
