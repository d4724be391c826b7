"""The steps from prepared pairs to reports: judge, rescue, explain, conclude."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from halldetect.conclusion import conclude, quoting
from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.faults.citations import explain
from halldetect.faults.disputes import find_disputes
from halldetect.faults.facts import check_facts
from halldetect.faults.proofs import find_proofs, locate
from halldetect.faults.wrong_words import mark_wrong_words
from halldetect.knowledge.retrieval import mark_not_found
from halldetect.loading import Models
from halldetect.preparation import VERIFIER_FAILED, Findings
from halldetect.protocols import ClaimSettled, ClaimsExtracted, Observe, Progress
from halldetect.report import ClaimReport, Report, Status
from halldetect.scoring import score_claim, uncheckable
from halldetect.verification.cascade import is_unsure
from halldetect.verification.judging import Judgement, verify
from halldetect.verification.windows import Task

Step = Callable[..., list[Findings]]
# A pair with the models that judge it.
Outcome = tuple[Findings, Models]


def finish(
    prepared: Sequence[Findings],
    config: Configuration,
    models: Models | None,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> list[Report]:
    """Judge prepared pairs together; `models` may be None if every pair has a problem."""
    todo = [item for item in prepared if item.problem is None]
    if observe is not None:
        for item in todo:
            observe(ClaimsExtracted(item.index, item.claims))
    # By place, not by `index`: pairs of several calls may have the same index.
    outcomes = iter([] if models is None else _judged(todo, models, progress, observe))
    threshold = config.threshold if models is None else models.threshold
    assert isinstance(threshold, float)  # without models it cannot be an operating point
    reports = []
    for item in prepared:
        if item.problem is not None:
            reports.append(conclude(item, config, threshold))
            continue
        found, used = next(outcomes)
        reports.append(conclude(found, config, used.threshold, used))
        if observe is not None:
            for at, claim in enumerate(reports[-1].claims):
                observe(ClaimSettled(item.index, at, claim))
    return reports


def _judged(
    todo: Sequence[Findings], models: Models, progress: Progress | None, observe: Observe | None
) -> list[Outcome]:
    """Judge and explain each pair; unsure ones are judged again by the second models."""

    def judge(items: Sequence[Findings], used: Models) -> list[Findings]:
        step = partial(_judge, models=used, progress=progress, observe=observe)
        return _together("verify", VERIFIER_FAILED, step, items)

    outcomes = _by_models(judge, [(item, models.judging(item.spoken)) for item in todo])
    if models.second is not None:
        name = models.verifier.description.get("name")
        note = f"{name} was unsure of a claim: the second verifier judged again"
        unsure = {
            at: (found.noting(note), models.second)
            for at, (found, used) in enumerate(outcomes)
            if used is models
            and found.problem is None
            and is_unsure([report.support for report in found.reports])
        }
        again = _by_models(judge, [*unsure.values()])
        for at, outcome in zip(unsure, again, strict=True):
            outcomes[at] = outcome
    return _by_models(partial(_explained, progress=progress), outcomes)


def _by_models(
    step: Callable[[Sequence[Findings], Models], list[Findings]], outcomes: Sequence[Outcome]
) -> list[Outcome]:
    """Apply a step to the pairs without a problem, together for the same models."""
    results = [*outcomes]
    for used in {id(used): used for _, used in outcomes}.values():
        places = [
            at for at, (item, by) in enumerate(outcomes) if by is used and item.problem is None
        ]
        found = step([outcomes[at][0] for at in places], used)
        for at, item in zip(places, found, strict=True):
            results[at] = item, used
    return results


def _together(phase: str, failure: str, step: Step, items: Sequence[Findings]) -> list[Findings]:
    """Apply a step to all pairs together; after a failure, to each pair alone.

    The time is split by the tokens of the new answers. Only a failure to judge is a problem of the
    pair; any other is a note.
    """
    started = perf_counter()
    try:
        found = step(items)
    except Exception as error:
        if len(items) > 1:
            return [done for item in items for done in _together(phase, failure, step, [item])]
        why = f"{failure}: {described(error)}"
        if failure == VERIFIER_FAILED:
            return [replace(item, problem=why) for item in items]
        return [item.noting(why) for item in items]
    new = [
        sum(judged.tokens for _, judged in after.answers[len(before.answers) :])
        for before, after in zip(items, found, strict=True)
    ]
    each = (perf_counter() - started) / (sum(new) or 1)
    return [item.spending(phase, each * tokens) for item, tokens in zip(found, new, strict=True)]


def _judge(
    todo: Sequence[Findings], models: Models, progress: Progress | None, observe: Observe | None
) -> list[Findings]:
    """Judge each claim unchanged; judge a failing one again with its references resolved."""
    started = [
        item.adding([uncheckable(claim, claim.problem or "") for claim in item.claims])
        for item in todo
    ]
    readable = [
        {at: claim.text for at, claim in enumerate(item.claims) if claim.problem is None}
        for item in todo
    ]

    def settled(task: int, place: int, judged: Judgement) -> None:
        if observe is not None:
            at = list(readable[task])[place]
            report = _scored(started[task], at, judged, models)
            report = quoting(report, todo[task].pair.documents)
            observe(ClaimSettled(todo[task].index, at, report))

    enough, advance = models.calibration.is_enough, _advance(progress)
    judge = partial(verify, models.verifier, enough=enough, progress=advance)
    first = _answered(started, readable, models, partial(judge, settled=settled))
    rescuable = [
        {
            at: claim.read_as
            for at, (claim, report) in enumerate(zip(found.claims, found.reports, strict=True))
            if report.failing and claim.read_as
        }
        for found in first
    ]
    return _answered(first, rescuable, models, judge) if any(rescuable) else first


def _answered(
    findings: Sequence[Findings],
    statements: Sequence[Mapping[int, str]],
    models: Models,
    judge: Callable[[Sequence[Task]], list[list[Judgement]]],
) -> list[Findings]:
    """Judge statements, by the claims that they stand for; keep the better outcome of a claim."""
    tasks = [
        Task(tuple(chosen.values()), found.documents, found.pair.document_names)
        for found, chosen in zip(findings, statements, strict=True)
    ]
    results = []
    for found, chosen, answers in zip(findings, statements, judge(tasks), strict=True):
        reports = list(found.reports)
        for (at, statement), judged in zip(chosen.items(), answers, strict=True):
            report, before = _scored(found, at, judged, models), reports[at]
            if before.status is Status.UNCHECKABLE:
                reports[at] = report
            elif (report.support or 0.0) > (before.support or 0.0):
                reports[at] = replace(report, read_as=statement)
        results.append(found.adding(reports, list(zip(chosen.values(), answers, strict=True))))
    return results


def _scored(found: Findings, at: int, judged: Judgement, models: Models) -> ClaimReport:
    return score_claim(found.claims[at], judged, models.calibration.for_response(found.length))


def _explained(
    items: Sequence[Findings], models: Models, progress: Progress | None
) -> list[Findings]:
    """Explain failing claims, check citations and look for the shortest passages."""
    findings = [
        replace(item, reports=mark_not_found(item.reports, item.not_found)) for item in items
    ]
    search = find_proofs if models.locator is None else locate
    steps: list[tuple[str, str, Step]] = [
        ("facts", "facts could not be compared", check_facts),
        ("proof", "no short passage could be looked for", search),
        ("explain", "failing claims could not be explained", explain),
        ("facts", "wrong words could not be marked", mark_wrong_words),
        ("facts", "disputes could not be looked for", find_disputes),
    ]
    for phase, failure, step in steps:
        advancing = partial(step, models=models, progress=_advance(progress, phase))
        findings = _together(phase, failure, advancing, findings)
    return findings


def _advance(progress: Progress | None, phase: str = "verify") -> Callable[[int, int], None] | None:
    return None if progress is None else partial(progress, phase)
