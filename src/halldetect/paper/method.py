"""The four phases in their order, for one pair at a time."""

from __future__ import annotations

from functools import partial
from time import perf_counter

from halldetect.conclusion import conclude
from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.faults.fault import Explained
from halldetect.inputs import NOT_EXTRACTED, VERIFIER_FAILED, CleanPair
from halldetect.models.loading import Models
from halldetect.paper.contrast import judge_claims, report_claim
from halldetect.paper.extract import extract_claims
from halldetect.paper.fed import fed
from halldetect.paper.windows import source_windows
from halldetect.protocols import ClaimsExtracted, Observe, Progress
from halldetect.reading.reader import Reading, Refused, read_texts
from halldetect.report import Report, rounded
from halldetect.scoring import Scored
from halldetect.verification.asking import Answer, Ledger
from halldetect.verification.judged import Judged

NO_CLAIM = "the extractor found no claim in the response"


def check(
    pair: CleanPair | Refused,
    config: Configuration,
    models: Models | None,
    progress: Progress | None = None,
    observe: Observe | None = None,
    at: int = 0,
) -> Report:
    """Check one pair; `observe` gets the claims, with the place `at` of the pair in its call.

    `models` is None if no pair of the call needs them.
    """
    ledger = Ledger()
    if isinstance(pair, Refused) or models is None or models.extractor is None:
        assert isinstance(config.threshold, float)  # it cannot be an operating point
        assert isinstance(pair, Refused)
        return conclude(pair, ledger, config, config.threshold)
    threshold = models.threshold

    def failed(problem: str) -> Report:
        return conclude(Refused(pair, problem), Ledger(), config, threshold, models)

    documents, response = read_texts(pair)
    started = perf_counter()
    try:
        claims, ledger.draft = extract_claims(response, models.extractor)
    except Exception as error:
        return failed(f"{NOT_EXTRACTED}: {described(error)}")
    ledger.spend("extract", perf_counter() - started)
    if not claims:
        return failed(NO_CLAIM)
    if observe is not None:
        observe(ClaimsExtracted(at, claims))
    started = perf_counter()
    advance = None if progress is None else partial(progress, "verify")
    try:
        judged = judge_claims(claims, source_windows(documents), models.verifier, advance)
    except Exception as error:
        return failed(f"{VERIFIER_FAILED}: {described(error)}")
    ledger.spend("verify", perf_counter() - started)
    ledger.answers += [Answer(claim.text, one) for claim, one in zip(claims, judged, strict=True)]
    reports = tuple(map(report_claim, claims, judged))
    scores = [report.fed_score for report in reports if report.fed_score is not None]
    fed_score = rounded(fed(scores)) if scores else None
    reading = Reading(pair, documents, claims, (), (), len(claims))
    answers = Judged(reading, tuple((answer,) for answer in ledger.answers))
    end = Explained(Scored(answers, reports, models.calibration), reports, ())
    return conclude(end, ledger, config, threshold, models, fed_score)
