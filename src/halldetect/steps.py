"""The four steps on cases: claims, windows, verdicts on pairs, score.

Each step takes the cases that have met no problem so far. A step that fails for one case
makes that the case's problem, so that no case takes the others with it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from time import perf_counter
from typing import Any

from halldetect import __version__
from halldetect.case import Case
from halldetect.claims.extraction import extract_claims
from halldetect.config import Configuration
from halldetect.errors import HallDetectError
from halldetect.events import Extracted, Observe, Settled
from halldetect.findings import Scores, find, total, window_support
from halldetect.inputs import objection
from halldetect.protocols import Extractor, Verifier
from halldetect.report import ClaimReport, Provenance, Report, decide, unchecked
from halldetect.scoring import Calibration
from halldetect.text.language import is_foreign
from halldetect.verification.rounds import Judged, verify
from halldetect.verification.schedule import Rule
from halldetect.windows.scales import library

# The phase ("fetch", in bytes, "extract" or "verify"), how much of it is done, and of how much.
Progress = Callable[[str, int, int], None]


def unfinished(cases: Sequence[Case]) -> list[Case]:
    return [case for case in cases if case.problem is None]


def refuse_sizes(cases: Sequence[Case], max_source: int, max_response: int) -> None:
    """Nothing to check, or too much."""
    for case in unfinished(cases):
        case.problem = objection(case.intake, max_source, max_response)


def refuse_languages(cases: Sequence[Case], verifier: Verifier) -> None:
    """A verifier that says it reads only English is not asked about anything else."""
    if verifier.description.get("languages") != ["en"]:
        return
    for case in cases:
        texts = {"response": [case.intake.response], "source": case.intake.documents}
        for what, parts in texts.items():
            if case.problem is None and is_foreign("\n".join(parts)):
                case.verifier = verifier
                case.problem = f"the {what} is not in English, all this verifier reads"


def extract(
    cases: Sequence[Case],
    extractor: Extractor,
    guard: bool,
    progress: Progress | None,
    observe: Observe | None = None,
) -> None:
    for at, case in enumerate(cases):
        if progress is not None:
            progress("extract", at, len(cases))
        case.extractor = extractor
        try:
            with case.clock("extract"):
                case.extraction = extract_claims(case.intake.response, extractor, guard=guard)
        except Exception as error:
            case.problem = f"the claims could not be extracted: {_line(error)}"
            continue
        if not case.extraction.claims:
            case.problem = (
                "the response asserts nothing that can be checked"
                if guard
                else "the extractor found no claim in the response"
            )
        elif observe is not None:
            observe(Extracted(case.place, case.extraction.claims))
    if progress is not None:
        progress("extract", len(cases), len(cases))


def chunk(cases: Sequence[Case], granularities: Sequence[int]) -> None:
    for case in cases:
        with case.clock("chunk"):
            case.windows = library(case.intake.documents, granularities)


def planning(options: Configuration, calibration: Calibration) -> Rule | None:
    """When to stop judging a claim; None where everything is judged.

    The paper's score needs the greatest P(C) of all windows, so no window can be left out.
    """
    if options.exact or options.scoring == "fed":
        return None
    line = max(calibration.supported_above, 1.0 - options.threshold)
    return Rule(partial(window_support, calibration), line)


def judge(
    cases: Sequence[Case],
    verifier: Verifier,
    truncate: bool,
    rule: Rule | None,
    progress: Progress | None,
    settled: Callable[[Case, int, Judged], None] | None = None,
) -> None:
    def settle(task: int, claim: int, judged: Judged) -> None:
        if settled is not None:
            settled(cases[task], claim, judged)

    def advance(done: int, of: int) -> None:
        if progress is not None:
            progress("verify", done, of)

    for case in cases:
        case.verifier = verifier
    started = perf_counter()
    try:
        tasks = [case.task for case in cases]
        watch = None if settled is None else settle
        results = verify(verifier, tasks, advance, truncate=truncate, rule=rule, settled=watch)
    except Exception as error:
        if len(cases) == 1:
            cases[0].problem = f"the verifier failed: {_line(error)}"
            return
        for case in cases:  # find out which of them it was
            judge([case], verifier, truncate, rule, progress, settled)
        return
    seconds = perf_counter() - started
    for case, judged in zip(cases, results, strict=True):
        case.judged = judged
    tokens = sum(case.tokens for case in cases) or 1
    for case in cases:
        case.seconds["verify"] = seconds * case.tokens / tokens


def settling(
    observe: Observe | None, options: Configuration, calibration: Calibration
) -> Callable[[Case, int, Judged], None] | None:
    """Tells an observer of each claim that is settled, in the very form of the report."""
    if observe is None:
        return None

    def tell(case: Case, place: int, judged: Judged) -> None:
        observe(Settled(case.place, place, find(judged, options.scoring, calibration)))

    return tell


def conclude(
    case: Case, options: Configuration, load_calibration: Callable[[], Calibration]
) -> Report:
    """The report of a case. A calibration is asked for only where a verifier was needed."""
    claims: tuple[ClaimReport, ...] = ()
    scores = Scores(None, None)
    calibration = None if case.verifier is None else load_calibration()
    if case.problem is None and calibration is not None:
        with case.clock("score"):
            claims = tuple(find(item, options.scoring, calibration) for item in case.judged)
            scores = total(claims, calibration)
    score = scores.fed if options.scoring == "fed" else scores.calibrated
    verdict = decide(score, claims, options.threshold)
    return Report(
        verdict=verdict,
        reason=case.problem or unchecked(verdict, claims),
        score=score,
        fed_score=scores.fed,
        calibrated_score=scores.calibrated,
        scoring=options.scoring,
        threshold=options.threshold,
        claims=claims,
        response=case.intake.response,
        documents=case.intake.documents,
        question=case.intake.question,
        cost=case.cost(),
        provenance=_provenance(case, options, calibration),
    )


def _provenance(case: Case, options: Configuration, calibration: Calibration | None) -> Provenance:
    """A model that was not needed is left out, whatever else the detector has loaded."""
    extractor: dict[str, Any] = {}
    verifier: dict[str, Any] = {}
    notes = case.intake.notes + case.extraction.notes
    if case.extractor is not None:
        extractor = dict(case.extractor.description)
        notes += tuple(getattr(case.extractor, "notes", ()))
    if case.verifier is not None and calibration is not None:
        rule = planning(options, calibration)
        verifier = {
            **case.verifier.description,
            "calibration": asdict(calibration),
            "rule": None if rule is None else rule.to_dict(),
        }
    if case.unmet:
        notes += (
            f"{case.unmet} pairs were passed over as unlikely to change the verdict; "
            "evidence and fed_score are over the others",
        )
    if case.finer_scales:
        notes += (
            "the source is long: its coarse windows are pages that the verifier can read, and the "
            f"scales {', '.join(map(str, case.finer_scales))} were added",
        )
    return Provenance(
        version=__version__,
        extractor=extractor,
        verifier=verifier,
        configuration=options.to_dict(),
        seed=options.seed,
        notes=tuple(dict.fromkeys(notes)),
    )


def _line(error: Exception) -> str:
    """The error in one line; its type too, unless it is one of ours, which speak for themselves."""
    text = " ".join(str(error).split())
    return text if isinstance(error, HallDetectError) else f"{type(error).__name__}: {text}"
