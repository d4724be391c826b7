"""From the judged claims of a pair to its report: score, verdict, cost, provenance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from halldetect._version import __version__
from halldetect.config import Configuration
from halldetect.inputs import ASSERTS_NOTHING
from halldetect.knowledge.retrieval import retrieval_notes
from halldetect.loading import Models
from halldetect.preparation import Findings
from halldetect.protocols import Draft
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

_NO_DRAFT = Draft(())


def conclude(
    found: Findings,
    config: Configuration,
    threshold: float,
    models: Models | None = None,
    draft: Draft = _NO_DRAFT,
    fed_score: float | None = None,
) -> Report:
    """Return the report of a pair after all steps, or after the one with a problem.

    Models that were not needed are None. In paper mode, `draft` has the cost of the extractor, and
    `fed_score` decides.
    """
    pair = found.pair
    claims: tuple[ClaimReport, ...] = ()
    score = None
    configuration = config.to_dict()
    if found.problem is None:
        claims = tuple(
            quoting(claim, pair.documents, probabilities=config.paper).labelled(configuration)
            for claim in found.reports
        )
        score = fed_score if config.paper else response_score(claims)
    strict = config.on_unchecked == "fail" and found.problem in (None, *ASSERTS_NOTHING)
    left_out = [part for part in found.unchecked if part.asserting and strict]
    verdict, reason = decide(score, claims, threshold, left_out)
    if found.abstained and not left_out:
        verdict = Verdict.ABSTAINED
    notes = (*pair.notes, *found.notes, *(models.notes if models else ()))
    if models and models.knowledge is not None and found.problem is None:
        notes += retrieval_notes(models.knowledge, claims)
    verifier = dict(models.verifier.description) if models else {}
    if models and not models.extractor:  # the paper's score uses no calibration
        verifier["calibration"] = asdict(models.calibration)
    return Report(
        verdict=verdict,
        reason=reason if left_out else found.problem or reason,
        score=score,
        threshold=threshold,
        claims=claims,
        response=pair.response,
        documents=pair.documents,
        question=pair.question,
        cost=_cost(found, draft),
        provenance=Provenance(
            version=__version__,
            verifier=verifier,
            configuration=configuration,
            notes=tuple(dict.fromkeys(notes)),
            extractor=dict(models.extractor.description) if models and models.extractor else {},
        ),
        document_names=pair.document_names,
        unchecked=found.unchecked,
        citations=citation_scores(claims),
        graded=graded_score(claims),
        fed_score=fed_score,
        languages=found.languages,
    )


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


def _cost(found: Findings, draft: Draft) -> Cost:
    answers = found.answers
    pairs = {  # identical ones are judged once
        (window.text, statement)
        for statement, judged in answers
        for window in judged.windows
        if judged.tokens  # a copy of the source is not judged
    }
    return Cost(
        generative_passes=draft.generative_passes,
        extractor_tokens_in=draft.tokens_in,
        extractor_tokens_out=draft.tokens_out,
        pairs_judged=len(pairs),
        verifier_tokens=sum(item.tokens for _, item in answers),
        seconds={phase: round(spent, 4) for phase, spent in found.seconds.items()},
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
