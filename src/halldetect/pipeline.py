"""The steps from prepared pairs to reports: judge, rescue, explain, conclude."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from time import perf_counter

from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.explanation.explain import Findings, explain
from halldetect.explanation.proofs import find_proofs, locate
from halldetect.findings import check_facts
from halldetect.findings.disputes import find_disputes
from halldetect.findings.wrong_words import mark_wrong_words
from halldetect.inputs import CleanPair, read_texts
from halldetect.knowledge.retrieval import mark_not_found
from halldetect.loading import Models
from halldetect.preparation import (
    VERIFIER_FAILED,
    Prepared,
    refuse,
    refuse_language,
    without_injections,
)
from halldetect.protocols import ClaimSettled, ClaimsExtracted, Observe, Progress
from halldetect.reading.claims import Claim
from halldetect.reading.languages import ENGLISH
from halldetect.report import ClaimReport, Report, Status
from halldetect.report.conclusion import conclude, quoting
from halldetect.scoring import score_claim, uncheckable
from halldetect.verification.cascade import is_unsure
from halldetect.verification.judging import Judgement, verify
from halldetect.verification.windows import Task

Step = Callable[..., list[Findings]]


def finish(
    prepared: Sequence[Prepared],
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
            reports.append(conclude(_start(item), config, threshold))
            continue
        found, used = next(outcomes)
        found = replace(found, notes=(*found.notes, *used.notes))
        made_by = used.threshold, used.verifier, used.calibration, used.knowledge
        reports.append(conclude(found, config, *made_by))
        if observe is not None:
            for at, claim in enumerate(reports[-1].claims):
                observe(ClaimSettled(item.index, at, claim))
    return reports


def _judged(
    todo: Sequence[Prepared], models: Models, progress: Progress | None, observe: Observe | None
) -> list[tuple[Findings, Models]]:
    """Return the findings of each pair; unsure ones are judged by the second model."""
    outcomes = _judge_by_language(todo, models, progress, observe)
    if models.second is not None:
        unsure = [
            at
            for at, (found, used) in enumerate(outcomes)
            if used is models
            and found.problem is None
            and is_unsure([report.support for report in found.reports])
        ]
        note = f"{models.verifier.description.get('name')} was unsure of a claim: "
        note += "the second verifier judged again"
        chosen = [todo[at] for at in unsure]
        again = _judge_all(chosen, models.second, progress, observe) if unsure else []
        for at, found in zip(unsure, again, strict=True):
            before = outcomes[at][0]
            found = found.spending("verify", before.seconds.get("verify", 0.0))
            found = found.adding(found.reports, before.answers)
            outcomes[at] = replace(found, notes=(*found.notes, note)), models.second
    for used in (models, models.second):
        places = [
            at for at, (found, by) in enumerate(outcomes) if by is used and found.problem is None
        ]
        if used is not None:
            items = [todo[at] for at in places]
            known = [outcomes[at][0] for at in places]
            for at, found in zip(places, _explained(items, known, used, progress), strict=True):
                outcomes[at] = found, used
    return outcomes


def _judge_by_language(
    todo: Sequence[Prepared], models: Models, progress: Progress | None, observe: Observe | None
) -> list[tuple[Findings, Models]]:
    """Judge each pair with the first model that reads its languages."""
    chosen = [models.judging(item.spoken) for item in todo]
    outcomes = {}
    for used in {id(used): used for used in chosen}.values():
        items = [item for item, of in zip(todo, chosen, strict=True) if of is used]
        outcomes[id(used)] = iter(_judge_all(items, used, progress, observe))
    return [(next(outcomes[id(used)]), used) for used in chosen]


def _judge_all(
    todo: Sequence[Prepared], models: Models, progress: Progress | None, observe: Observe | None
) -> list[Findings]:
    """Judge the claims of all pairs together; after a failure, of each pair alone."""
    started = perf_counter()
    try:
        outcomes = _judge(todo, models, progress, observe)
    except Exception as error:
        if len(todo) == 1:
            problem = f"{VERIFIER_FAILED}: {described(error)}"
            return [replace(_start(todo[0]), problem=problem)]
        return [found for item in todo for found in _judge_all([item], models, progress, observe)]
    return _timed("verify", started, outcomes, [found.answers for found in outcomes])


def _start(item: Prepared) -> Findings:
    return Findings(**{one.name: getattr(item, one.name) for one in fields(Prepared)})


def _judge(
    todo: Sequence[Prepared], models: Models, progress: Progress | None, observe: Observe | None
) -> list[Findings]:
    """Judge each claim unchanged; judge a failing one again with its references resolved."""
    started = [
        _start(item).adding([uncheckable(claim, claim.problem or "") for claim in item.claims])
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

    judge = partial(
        verify, models.verifier, enough=models.calibration.is_enough, progress=_advance(progress)
    )
    first = _answered(
        started, readable, models, partial(judge, settled=settled if observe else None)
    )
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
    items: Sequence[Prepared],
    known: Sequence[Findings],
    models: Models,
    progress: Progress | None,
) -> list[Findings]:
    """Explain failing claims, check citations and look for the shortest passages."""
    findings = [
        replace(found, reports=mark_not_found(found.reports, item.not_found))
        for item, found in zip(items, known, strict=True)
    ]
    answer = partial(verify, models.verifier, enough=models.calibration.is_enough)
    reasons = partial(explain, answer=answer, calibration=models.calibration)
    compare = partial(
        check_facts, answer=answer, calibration=models.calibration, rules=models.rules
    )
    disputes = partial(
        find_disputes, verifier=models.locator or models.verifier, calibration=models.calibration
    )
    why = ("explain", "failing claims could not be explained", reasons)
    shown: list[tuple[str, str, Step]]
    if models.locator is not None:
        passages = partial(locate, judge=models.verifier, locator=models.locator)
        shown = [("proof", "no short passage could be looked for", passages), why]
    else:
        proofs = partial(find_proofs, verifier=models.verifier)
        shown = [why, ("proof", "no shorter passage could be looked for", proofs)]
    steps: list[tuple[str, str, Step]] = [
        ("facts", "facts could not be compared", compare),
        *shown,
        ("facts", "wrong words could not be marked", mark_wrong_words),
        ("facts", "disputes could not be looked for", disputes),
    ]
    for phase, failure, step in steps:
        findings = _add(findings, phase, failure, partial(step, progress=_advance(progress, phase)))
    return findings


def _add(
    findings: Sequence[Findings],
    phase: str,
    failure: str,
    step: Step,
) -> list[Findings]:
    """Add the findings of a step to all pairs together; after a failure, to each pair alone."""
    started = perf_counter()
    try:
        found = step(findings)
    except Exception as error:
        if len(findings) > 1:
            return [added for item in findings for added in _add([item], phase, failure, step)]
        note = f"{failure}: {described(error)}"
        return [replace(item, notes=(*item.notes, note)) for item in findings]
    pairs = zip(findings, found, strict=True)
    new = [after.answers[len(before.answers) :] for before, after in pairs]
    return _timed(phase, started, found, new)


def judge_statements(
    items: Sequence[tuple[CleanPair, Sequence[str]]], config: Configuration, models: Models
) -> list[list[ClaimReport]]:
    """Judge statements unchanged against the source of a pair, whose response is ignored."""
    prepared = []
    for index, (pair, statements) in enumerate(items):
        item = refuse_language(refuse(Prepared(pair, index), config), models.languages)
        language = item.languages[0] if item.languages else ENGLISH
        claims = tuple(
            Claim(text, None, "judged without a response", language=language) for text in statements
        )
        prepared.append(replace(item, claims=claims))
    todo = [
        replace(item, documents=read_texts(without_injections(item.pair)[0]).documents)
        for item in prepared
        if item.problem is None
    ]
    outcomes = (found for found, _ in _judge_by_language(todo, models, None, None))
    results = []
    for item in prepared:
        found = next(outcomes) if item.problem is None else _start(item)
        problem = item.problem or found.problem
        results.append(
            list(found.reports)
            if problem is None
            else [uncheckable(claim, problem) for claim in item.claims]
        )
    return results


def _timed(
    phase: str,
    started: float,
    findings: Sequence[Findings],
    answers: Sequence[Sequence[tuple[str, Judgement]]],
) -> list[Findings]:
    """Add the time since `started` to the findings, split by the tokens of their new answers."""
    tokens = [sum(judged.tokens for _, judged in of_pair) for of_pair in answers]
    each = (perf_counter() - started) / (sum(tokens) or 1)
    return [found.spending(phase, each * own) for found, own in zip(findings, tokens, strict=True)]


def _advance(progress: Progress | None, phase: str = "verify") -> Callable[[int, int], None] | None:
    return None if progress is None else partial(progress, phase)
