"""The four phases in their order, for one pair at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any

from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.explanation.explain import Findings
from halldetect.inputs import read_texts
from halldetect.paper.contrast import judge_claims, report_claim
from halldetect.paper.extract import extract_claims
from halldetect.paper.fed import fed
from halldetect.paper.windows import source_windows
from halldetect.preparation import VERIFIER_FAILED, Prepared
from halldetect.protocols import ClaimsExtracted, Extractor, Observe, Progress, Verifier
from halldetect.report import Report, rounded
from halldetect.report.conclusion import conclude

NOT_EXTRACTED = "the claims could not be extracted"
NO_CLAIM = "the extractor found no claim in the response"


@dataclass(frozen=True, slots=True)
class PaperModels:
    """The two models of the method, and remarks for every report."""

    extractor: Extractor
    verifier: Verifier
    notes: tuple[str, ...] = ()

    def description(self) -> dict[str, Any]:
        """Return everything of the models that reports depend on."""
        return {"extractor": self.extractor.description, "verifier": self.verifier.description}


def check(
    item: Prepared,
    config: Configuration,
    models: PaperModels | None,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> Report:
    """Check one pair; `observe` gets the claims, `models` is None if the pair has a problem."""
    assert isinstance(config.threshold, float)
    if item.problem is not None or models is None:
        return _failed(item, config, None, item.problem)
    texts = read_texts(item.pair)
    seconds: dict[str, float] = {}
    started = perf_counter()
    try:
        extracted, draft = extract_claims(texts.response, models.extractor)
    except Exception as error:
        return _failed(item, config, models, f"{NOT_EXTRACTED}: {described(error)}")
    seconds["extract"] = perf_counter() - started
    if not extracted:
        return _failed(item, config, models, NO_CLAIM)
    if observe is not None:
        observe(ClaimsExtracted(item.index, extracted))
    started = perf_counter()
    try:
        judged = judge_claims(
            extracted,
            source_windows(texts.documents),
            models.verifier,
            None if progress is None else partial(progress, "verify"),
        )
    except Exception as error:
        return _failed(item, config, models, f"{VERIFIER_FAILED}: {described(error)}")
    seconds["verify"] = perf_counter() - started
    claims = tuple(map(report_claim, extracted, judged))
    scores = [claim.fed_score for claim in claims if claim.fed_score is not None]
    statements = [claim.text for claim in extracted]
    found = Findings(
        item.pair,
        seconds=seconds,
        notes=(*item.notes, *models.notes),
        reports=claims,
        answers=tuple(zip(statements, judged, strict=True)),
    )
    return conclude(
        found,
        config,
        config.threshold,
        models.verifier,
        extractor=models.extractor,
        draft=draft,
        fed_score=rounded(fed(scores)) if scores else None,
    )


def _failed(
    item: Prepared, config: Configuration, models: PaperModels | None, problem: str | None
) -> Report:
    assert isinstance(config.threshold, float)
    if models is None:
        return conclude(Findings(item.pair, problem=problem), config, config.threshold)
    found = Findings(item.pair, problem=problem, notes=(*item.notes, *models.notes))
    return conclude(found, config, config.threshold, extractor=models.extractor)
