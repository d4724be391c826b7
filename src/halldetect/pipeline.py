"""The steps from prepared pairs to reports: judge, rescue, explain, conclude."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter

from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.explanation.explain import Explained, Findings, explain
from halldetect.explanation.locating import locate
from halldetect.explanation.proofs import find_proofs
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
from halldetect.report import ClaimReport, Report
from halldetect.report.conclusion import Finished, conclude, quoting
from halldetect.scoring import score_claim, uncheckable
from halldetect.verification.cascade import is_unsure
from halldetect.verification.judging import Judgement, verify
from halldetect.verification.planning import Task


def finish(
    prepared: Sequence[Prepared],
    config: Configuration,
    models: Models | None,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> list[Report]:
    """Judge prepared pairs together and return their reports.

    Args:
        prepared: The pairs.
        config: The options of the check.
        models: The models; None if every pair has a problem.
        progress: Receives the phase, the tokens judged and the expected total.
        observe: Receives the events of the check.
    """
    todo = [item for item in prepared if item.problem is None]
    if observe is not None:
        for item in todo:
            observe(ClaimsExtracted(item.index, item.claims))
    # By place, not by `index`: pairs of several calls of `begin` may have the same index.
    outcomes = iter([] if models is None else _judged(todo, models, progress, observe))
    threshold = _threshold(config, models)
    return [
        conclude(
            _finished(item, next(outcomes) if item.problem is None else _Outcome(), threshold),
            config,
        )
        for item in prepared
    ]


def _threshold(config: Configuration, models: Models | None) -> float:
    """Return the threshold; without models it cannot be an operating point."""
    if models is not None:
        return models.threshold
    assert isinstance(config.threshold, float)
    return config.threshold


@dataclass(frozen=True, slots=True)
class _Outcome:
    """The claims of one pair as judged, and the verifier's answers for the cost."""

    claims: tuple[ClaimReport, ...] = ()
    answers: tuple[tuple[str, Judgement], ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)
    problem: str | None = None
    models: Models | None = None
    notes: tuple[str, ...] = ()

    def adding(
        self,
        phase: str,
        seconds: float,
        answers: Sequence[tuple[str, Judgement]] = (),
        claims: tuple[ClaimReport, ...] | None = None,
    ) -> _Outcome:
        """Return the outcome with further answers and the time they took."""
        return replace(
            self,
            claims=self.claims if claims is None else claims,
            answers=(*self.answers, *answers),
            seconds={**self.seconds, phase: self.seconds.get(phase, 0.0) + seconds},
        )


def _finished(item: Prepared, outcome: _Outcome, threshold: float) -> Finished:
    models = outcome.models
    return Finished(
        pair=item.pair,
        claims=outcome.claims,
        unchecked=item.unchecked,
        problem=item.problem or outcome.problem,
        abstained=item.abstained,
        answers=outcome.answers,
        seconds={**item.seconds, **outcome.seconds},
        notes=(*item.notes, *outcome.notes, *(models.notes if models else ())),
        verifier=models.verifier if models else None,
        calibration=models.calibration if models else None,
        threshold=models.threshold if models else threshold,
        knowledge=models.knowledge if models else None,
    )


def _judged(
    todo: Sequence[Prepared], models: Models, progress: Progress | None, observe: Observe | None
) -> list[_Outcome]:
    """Return the outcome of each pair; unsure ones are judged by the second model."""
    outcomes = _judge_all(todo, models, progress, observe)
    second = models.second
    if second is not None:
        unsure = [
            at
            for at, outcome in enumerate(outcomes)
            if outcome.problem is None and is_unsure([claim.support for claim in outcome.claims])
        ]
        note = f"{models.verifier.description.get('name')} was unsure of a claim: "
        note += "the second verifier judged again"
        again = _judge_all([todo[at] for at in unsure], second, progress, observe) if unsure else []
        for at, outcome in zip(unsure, again, strict=True):
            before = outcomes[at]
            spent = before.seconds.get("verify", 0.0)
            outcomes[at] = replace(outcome.adding("verify", spent, before.answers), notes=(note,))
    for used in (models, second):
        places = [
            at
            for at, outcome in enumerate(outcomes)
            if outcome.models is used and outcome.problem is None
        ]
        if used is not None and places:
            chosen = [(todo[at], outcomes[at]) for at in places]
            for at, outcome in zip(
                places, _explained(chosen, used, progress, observe), strict=True
            ):
                outcomes[at] = outcome
    return outcomes


def _judge_all(
    todo: Sequence[Prepared], models: Models, progress: Progress | None, observe: Observe | None
) -> list[_Outcome]:
    """Judge the claims of all pairs together; after a failure, of each pair alone."""
    started = perf_counter()
    try:
        outcomes = _judge(todo, models, progress, observe)
    except Exception as error:
        if len(todo) == 1:
            return [_Outcome(problem=f"{VERIFIER_FAILED}: {described(error)}", models=models)]
        return [
            outcome for item in todo for outcome in _judge_all([item], models, progress, observe)
        ]
    shares = _shares(perf_counter() - started, [outcome.answers for outcome in outcomes])
    return [
        outcome.adding("verify", seconds) for outcome, seconds in zip(outcomes, shares, strict=True)
    ]


def _judge(
    todo: Sequence[Prepared], models: Models, progress: Progress | None, observe: Observe | None
) -> list[_Outcome]:
    """Judge each claim unchanged; judge a failing one again as `read_as`."""
    readable = [
        [at for at, claim in enumerate(item.claims) if claim.problem is None] for item in todo
    ]

    def settled(task: int, place: int, judged: Judgement) -> None:
        if observe is not None:
            at = readable[task][place]
            calibration = models.calibration.for_response(todo[task].length)
            report = score_claim(todo[task].claims[at], judged, calibration)
            observe(_event(todo[task], at, report))

    judge = partial(
        verify, models.verifier, enough=models.calibration.is_enough, progress=_advance(progress)
    )
    tasks = [
        Task(tuple(item.claims[at].text for at in places), item.documents, item.pair.document_names)
        for item, places in zip(todo, readable, strict=True)
    ]
    outcomes = []
    for item, places, task, answers in zip(
        todo, readable, tasks, judge(tasks, settled=settled if observe else None), strict=True
    ):
        by_place = dict(zip(places, answers, strict=True))
        calibration = models.calibration.for_response(item.length)
        reports = tuple(
            score_claim(claim, by_place[at], calibration)
            if at in by_place
            else uncheckable(claim, claim.problem or "")
            for at, claim in enumerate(item.claims)
        )
        judged = tuple(zip(task.statements, answers, strict=True))
        outcomes.append(_Outcome(reports, judged, models=models))
    return _rescued(todo, outcomes, models, judge)


def _rescued(
    todo: Sequence[Prepared],
    outcomes: Sequence[_Outcome],
    models: Models,
    judge: Callable[[Sequence[Task]], list[list[Judgement]]],
) -> list[_Outcome]:
    """Judge failing claims again with their references resolved; keep the better outcome."""
    places = [
        [
            at
            for at, report in enumerate(outcome.claims)
            if report.failing and item.claims[at].read_as
        ]
        for item, outcome in zip(todo, outcomes, strict=True)
    ]
    tasks = [
        Task(
            tuple(item.claims[at].read_as or "" for at in chosen),
            item.documents,
            item.pair.document_names,
        )
        for item, chosen in zip(todo, places, strict=True)
    ]
    if not any(places):
        return list(outcomes)
    results = []
    for item, outcome, chosen, task, answers in zip(
        todo, outcomes, places, tasks, judge(tasks), strict=True
    ):
        reports = list(outcome.claims)
        calibration = models.calibration.for_response(item.length)
        for at, judged in zip(chosen, answers, strict=True):
            report = score_claim(item.claims[at], judged, calibration)
            if (report.support or 0.0) > (reports[at].support or 0.0):
                reports[at] = replace(report, read_as=item.claims[at].read_as)
        judged_again = (*outcome.answers, *zip(task.statements, answers, strict=True))
        results.append(replace(outcome, claims=tuple(reports), answers=judged_again))
    return results


def _explained(
    chosen: Sequence[tuple[Prepared, _Outcome]],
    models: Models,
    progress: Progress | None,
    observe: Observe | None,
) -> list[_Outcome]:
    """Explain failing claims, check citations and look for the shortest passages."""
    pairs = [
        (item, replace(outcome, claims=mark_not_found(outcome.claims, item.not_found)))
        for item, outcome in chosen
    ]
    answer = partial(verify, models.verifier, enough=models.calibration.is_enough)
    reasons = partial(explain, answer=answer, calibration=models.calibration)
    steps: list[tuple[str, str, Callable[..., list[Explained]]]] = [
        ("explain", "failing claims could not be explained", reasons)
    ]
    if models.locator is not None:
        passages = partial(locate, judge=models.verifier, locator=models.locator)
        steps.insert(0, ("proof", "no short passage could be looked for", passages))
    else:
        proofs = partial(find_proofs, verifier=models.verifier)
        steps.append(("proof", "no shorter passage could be looked for", proofs))
    compare = partial(
        check_facts, answer=answer, calibration=models.calibration, rules=models.rules
    )
    steps.insert(0, ("facts", "facts could not be compared", compare))
    steps.append(("facts", "wrong words could not be marked", mark_wrong_words))
    disputes = partial(
        find_disputes, verifier=models.locator or models.verifier, calibration=models.calibration
    )
    steps.append(("facts", "disputes could not be looked for", disputes))
    for phase, failure, step in steps:
        pairs = _add(pairs, phase, failure, partial(step, progress=_advance(progress, phase)))
    if observe is not None:
        for item, outcome in pairs:
            for at, report in enumerate(outcome.claims):
                observe(_event(item, at, report))
    return [outcome for _, outcome in pairs]


def _add(
    pairs: Sequence[tuple[Prepared, _Outcome]],
    phase: str,
    failure: str,
    step: Callable[[Sequence[Findings]], list[Explained]],
) -> list[tuple[Prepared, _Outcome]]:
    """Add the findings of a step to all pairs together; after a failure, to each pair alone."""
    started = perf_counter()
    try:
        found = step([_findings(item, outcome) for item, outcome in pairs])
    except Exception as error:
        if len(pairs) > 1:
            return [added for pair in pairs for added in _add([pair], phase, failure, step)]
        note = f"{failure}: {described(error)}"
        return [(item, replace(was, notes=(*was.notes, note))) for item, was in pairs]
    shares = _shares(perf_counter() - started, [item.answers for item in found])
    return [
        (item, outcome.adding(phase, seconds, explained.answers, explained.claims))
        for (item, outcome), explained, seconds in zip(pairs, found, shares, strict=True)
    ]


def _findings(item: Prepared, outcome: _Outcome) -> Findings:
    return Findings(
        item.claims,
        outcome.claims,
        item.documents,
        item.pair.document_names,
        outcome.answers,
        item.length,
        item.pair.response,
        item.pair.question or "",
    )


def _event(item: Prepared, at: int, report: ClaimReport) -> ClaimSettled:
    return ClaimSettled(item.index, at, quoting(report, item.pair.documents))


def judge_statements(
    items: Sequence[tuple[CleanPair, Sequence[str]]], config: Configuration, models: Models
) -> list[list[ClaimReport]]:
    """Judge statements unchanged, each against the source of its pair.

    Args:
        items: A pair, whose response is ignored, and the statements about its source.
        config: The options of the check.
        models: The models of the check.
    """
    prepared = []
    for index, (pair, statements) in enumerate(items):
        item = refuse_language(refuse(Prepared(pair, index), config), models.verifier)
        claims = tuple(Claim(text, None, "judged without a response") for text in statements)
        if item.problem is None:
            documents = read_texts(without_injections(pair)[0]).documents
            prepared.append(replace(item, documents=documents, claims=claims))
        else:
            prepared.append(replace(item, claims=claims))
    todo = [item for item in prepared if item.problem is None]
    outcomes = iter(_judge_all(todo, models, None, None))
    results = []
    for item in prepared:
        outcome = next(outcomes) if item.problem is None else _Outcome(problem=item.problem)
        results.append(
            list(outcome.claims)
            if outcome.problem is None
            else [uncheckable(claim, outcome.problem) for claim in item.claims]
        )
    return results


def _shares(seconds: float, answers: Sequence[Sequence[tuple[str, Judgement]]]) -> list[float]:
    """Split the time of a step over pairs by the tokens that were read for each."""
    tokens = [sum(judged.tokens for _, judged in of_pair) for of_pair in answers]
    return [seconds * of_pair / (sum(tokens) or 1) for of_pair in tokens]


def _advance(progress: Progress | None, phase: str = "verify") -> Callable[[int, int], None] | None:
    return None if progress is None else partial(progress, phase)
