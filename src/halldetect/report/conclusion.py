"""From what is known of a pair to its report: scores, verdict, cost, provenance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from halldetect._version import __version__
from halldetect.knowledge.retrieval import retrieval_notes
from halldetect.pair_state import PairState
from halldetect.protocols import Models
from halldetect.report import (
    ClaimReport,
    Cost,
    Provenance,
    Report,
    Verdict,
    citation_scores,
    decide,
    unchecked,
)
from halldetect.scoring import SCORINGS, Calibration, ResponseScores, score_response, window_rule


def conclude(state: PairState, models: Models) -> Report:
    """The report of a pair. The calibration is asked for only where a verifier was needed.

    Args:
        state: after all other steps, or after the one with a problem.
        models: that judged the pair.
    """
    config = models.configuration
    claims: tuple[ClaimReport, ...] = ()
    if state.problem is None:
        claims = tuple(claim.quoting(state.pair.documents) for claim in state.claims)
    scores = ResponseScores(None, None)
    calibration = None if state.verifier is None else models.calibration
    if state.problem is None and calibration is not None:
        with state.clock("score"):
            scores = score_response(claims, calibration)
    score = SCORINGS[config.scoring].response(scores)
    verdict = Verdict.ABSTAINED if state.abstained else decide(score, claims, models.threshold)
    return Report(
        verdict=verdict,
        reason=state.problem or unchecked(verdict, claims),
        score=score,
        fed_score=scores.fed,
        calibrated_score=scores.calibrated,
        scoring=config.scoring,
        threshold=models.threshold,
        claims=claims,
        response=state.pair.response,
        documents=state.pair.documents,
        question=state.pair.question,
        cost=_cost(state),
        provenance=_provenance(state, models, calibration, claims),
        document_names=state.pair.document_names,
        citations=citation_scores(claims),
    )


def _cost(state: PairState) -> Cost:
    answers = (*state.judged, *state.judged_besides)
    pairs = [(window.text, item.claim.hypothesis) for item in answers for window in item.windows]
    judged = len(set(pairs))  # a pair of the same texts is judged once
    extraction = state.extraction
    return Cost(
        generative_passes=extraction.generative_passes,
        extractor_tokens_in=extraction.tokens_in,
        extractor_tokens_out=extraction.tokens_out,
        pairs_judged=judged,
        pairs_skipped=len(pairs) - judged + state.skipped,
        verifier_tokens=sum(item.tokens for item in answers),
        claims_proposed=extraction.proposed,
        claims_dropped=extraction.dropped,
        claims_restored=extraction.restored,
        seconds={phase: round(spent, 4) for phase, spent in state.seconds.items()},
    )


def _provenance(
    state: PairState,
    models: Models,
    calibration: Calibration | None,
    claims: Sequence[ClaimReport],
) -> Provenance:
    """How the report came about; a model that was not needed for it is left out."""
    extractor: dict[str, Any] = {}
    verifier: dict[str, Any] = {}
    notes = state.pair.notes + state.extraction.notes + state.notes
    if state.extractor is not None:
        extractor = dict(state.extractor.description)
    if state.verifier is not None and calibration is not None:
        rule = window_rule(models)
        notes += models.notes
        verifier = {
            **state.verifier.description,
            "calibration": asdict(calibration),
            "rule": None if rule is None else rule.to_dict(),
        }
    if state.knowledge is not None:
        notes += retrieval_notes(state.knowledge, claims)
    if state.injections:
        notes += (
            f"{state.injections} places of the source that talk to the verifier, such as its own "
            "question with an answer, were not read",
        )
    if state.skipped:
        notes += (
            f"{state.skipped} pairs were skipped as unlikely to change the verdict; "
            "evidence and fed_score are over the others",
        )
    if state.finer_scales:
        notes += (
            "the source is long: its coarse windows are pages that the verifier can read, and the "
            f"scales {', '.join(map(str, state.finer_scales))} were added",
        )
    return Provenance(
        version=__version__,
        extractor=extractor,
        verifier=verifier,
        configuration=models.configuration.to_dict(),
        seed=models.configuration.seed,
        notes=tuple(dict.fromkeys(notes)),
    )
