"""The four phases in their order, for one pair at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from time import perf_counter

from halldetect.conclusion import conclude
from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.inputs import read_texts
from halldetect.loading import Models
from halldetect.paper.contrast import judge_claims, report_claim
from halldetect.paper.extract import extract_claims
from halldetect.paper.fed import fed
from halldetect.paper.windows import source_windows
from halldetect.preparation import VERIFIER_FAILED, Findings
from halldetect.protocols import ClaimsExtracted, Observe, Progress
from halldetect.report import Report, rounded

NOT_EXTRACTED = "the claims could not be extracted"
NO_CLAIM = "the extractor found no claim in the response"


def check(
    item: Findings,
    config: Configuration,
    models: Models | None,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> Report:
    """Check one pair; `observe` gets the claims, `models` is None if the pair has a problem."""
    if item.problem is not None or models is None or models.extractor is None:
        assert isinstance(config.threshold, float)  # it cannot be an operating point
        return conclude(item, config, config.threshold)
    threshold = models.threshold

    def failed(problem: str) -> Report:
        return conclude(replace(item, problem=problem), config, threshold, models)

    documents, response = read_texts(item.pair)
    seconds: dict[str, float] = {}
    started = perf_counter()
    try:
        extracted, draft = extract_claims(response, models.extractor)
    except Exception as error:
        return failed(f"{NOT_EXTRACTED}: {described(error)}")
    seconds["extract"] = perf_counter() - started
    if not extracted:
        return failed(NO_CLAIM)
    if observe is not None:
        observe(ClaimsExtracted(item.index, extracted))
    started = perf_counter()
    try:
        judged = judge_claims(
            extracted,
            source_windows(documents),
            models.verifier,
            None if progress is None else partial(progress, "verify"),
        )
    except Exception as error:
        return failed(f"{VERIFIER_FAILED}: {described(error)}")
    seconds["verify"] = perf_counter() - started
    claims = tuple(map(report_claim, extracted, judged))
    scores = [claim.fed_score for claim in claims if claim.fed_score is not None]
    answers = tuple(zip((claim.text for claim in extracted), judged, strict=True))
    found = replace(item, seconds=seconds, reports=claims, answers=answers)
    fed_score = rounded(fed(scores)) if scores else None
    return conclude(found, config, threshold, models, draft, fed_score)
