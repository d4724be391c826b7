"""The method from top to bottom: inputs, claims, windows, verification, scoring, report.

`begin` and `finish` hold the order of the steps; the steps follow in that order. Each step takes
the pairs that have met no problem so far. A step that fails for one pair makes that the pair's
problem, so that no pair stops the others.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter

from halldetect.claims import Claim
from halldetect.claims.extraction import Extraction, extract_claims
from halldetect.config import Configuration
from halldetect.errors import described
from halldetect.explanation.explain import Explained, Findings, explain
from halldetect.explanation.proofs import find_proofs
from halldetect.inputs import CleanPair, read_texts, refusal
from halldetect.knowledge.passages import Knowledge
from halldetect.knowledge.retrieval import mark_not_found, retrieve
from halldetect.pair_state import ClaimsExtracted, Observe, PairState, Problem, Progress
from halldetect.protocols import Extractor, Models, Verifier
from halldetect.reading.answers import likely_answer
from halldetect.reading.language import is_foreign
from halldetect.reading.normalise import has_look_alikes
from halldetect.report import ClaimReport, Report
from halldetect.report.conclusion import conclude
from halldetect.scoring import score_claim, window_rule
from halldetect.verification.cascade import is_unsure
from halldetect.verification.injections import blank_injections
from halldetect.verification.rounds import JudgedClaim, verify
from halldetect.verification.scales import source_windows
from halldetect.verification.tasks import Task


def begin(
    states: Sequence[PairState],
    models: Models,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> None:
    """The first half of a check: inputs and claims."""
    read_inputs(states, models)
    if todo := _unfinished(states):
        extract(todo, models.extractor, models.configuration.guard, progress, observe)
    if (knowledge := models.knowledge) is not None:
        retrieve_evidence(_unfinished(states), knowledge)


def finish(
    states: Sequence[PairState],
    models: Models,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> list[Report]:
    """The second half of a check: windows, verification, scoring, report."""
    if todo := _unfinished(states):
        cut_windows(todo, models.configuration)
        judge(todo, models, progress, observe)
    used = {id(state): models for state in states}
    if (second := models.second) is not None and (
        again := unsure_pairs(_unfinished(states), models)
    ):
        judge(again, second, progress, observe)
        used.update((id(state), second) for state in again)
    for chosen in dict.fromkeys(used.values()):
        if todo := [state for state in _unfinished(states) if used[id(state)] is chosen]:
            score_claims(todo, chosen)
            explain_claims(todo, chosen, progress, observe)
    return [conclude(state, used[id(state)]) for state in states]


def judge_statements(
    items: Sequence[tuple[CleanPair, Sequence[str]]],
    granularities: Sequence[int],
    models: Models,
) -> list[list[ClaimReport]]:
    """Judge statements as they are, each against the source of its pair.

    Each is one claim. Where they cannot be judged, they are uncheckable with the reason.

    items          a pair, whose response is not looked at, and the statements about its source
    granularities  into how many groups a source is cut, per scale
    """
    states = [PairState(pair, index) for index, (pair, _) in enumerate(items)]
    for state, (_, statements) in zip(states, items, strict=True):
        claims = tuple(Claim(text, None, "judged without a response") for text in statements)
        state.extraction = Extraction(claims)
    read_inputs(states, models)
    if todo := _unfinished(states):
        for state in todo:
            state.windows = source_windows(state.texts.documents, tuple(granularities))
        judge(todo, models, None, None)
    for state in states:
        if state.problem is not None:
            state.judged = [
                JudgedClaim(claim, (), (), reason=state.problem)
                for claim in state.extraction.claims
            ]
    return [list(map(_scorer(models), state.judged)) for state in states]


# Inputs


def read_inputs(states: Sequence[PairState], models: Models) -> None:
    """Refuse what cannot be checked and read the rest. The verifier is loaded if any is left."""
    refuse_sizes(states, models.configuration)
    if todo := _unfinished(states):
        refuse_languages(todo, models.verifier)
    read(_unfinished(states))


def refuse_sizes(states: Sequence[PairState], config: Configuration) -> None:
    """Nothing to check, or too much."""
    for state in _unfinished(states):
        needs_source = config.knowledge is None
        state.problem = refusal(
            state.pair, config.max_source, config.max_response, needs_source=needs_source
        )


def refuse_languages(states: Sequence[PairState], verifier: Verifier) -> None:
    """A verifier that states that it reads only English is not asked about anything else."""
    if verifier.description.get("languages") != ["en"]:
        return
    for state in states:
        texts = {"response": [state.pair.response], "source": state.pair.documents}
        for what, parts in texts.items():
            if state.problem is None and is_foreign("\n".join(parts)):
                state.verifier = verifier
                why = "is not in English, the only language this verifier reads"
                state.problem = f"the {what} {why}"


def read(states: Sequence[PairState]) -> None:
    """Cut all texts into sentences, once for all steps; what talks to the verifier is left out."""
    for state in states:
        with state.clock("read"):
            found = [blank_injections(document) for document in state.pair.documents]
            state.injections = sum(count for _, count in found)
            documents = tuple(document for document, _ in found)
            state.texts = read_texts(replace(state.pair, documents=documents))
            if has_look_alikes(state.pair.response):
                note = "letters of the response were read as the letters that they look like"
                state.notes += (note,)


# Phase I: claims


def extract(
    states: Sequence[PairState],
    extractor: Extractor,
    guard: bool,
    progress: Progress | None,
    observe: Observe | None,
) -> None:
    """The claims of each response; a response without any has nothing to check."""
    for done, state in enumerate(states):
        if progress is not None:
            progress("extract", done, len(states))
        state.extractor = extractor
        try:
            with state.clock("extract"):
                state.extraction = extract_claims(state.texts.response, extractor, guard=guard)
        except Exception as error:
            state.problem = f"{Problem.NOT_EXTRACTED}: {described(error)}"
            continue
        if not state.extraction.claims:
            refuse_without_claims(state, guard)
        elif observe is not None:
            observe(ClaimsExtracted(state.index, state.extraction.claims))
    if progress is not None:
        progress("extract", len(states), len(states))


def refuse_without_claims(state: PairState, guard: bool) -> None:
    """Why a response has nothing to check; and what the source may say where it abstains."""
    state.problem = str(Problem.NOTHING_ASSERTED if guard else Problem.NO_CLAIM)
    if any(unit.abstains for unit in state.texts.response.units):
        state.abstained, state.problem = True, str(Problem.ABSTAINED)
        if state.pair.question is not None:
            answer = likely_answer(state.pair.question, state.texts.documents)
            if answer is not None:
                state.notes += (f"the source may answer the question: {answer}",)


def retrieve_evidence(states: Sequence[PairState], knowledge: Knowledge) -> None:
    """The passages that are found for the claims of a pair become documents of its source."""
    for state in states:
        try:
            with state.clock("retrieve"):
                found = retrieve(state.pair, state.extraction.claims, knowledge)
        except Exception as error:
            state.problem = f"{Problem.NOT_SEARCHED}: {described(error)}"
            continue
        documents = (*state.texts.documents, *found.documents)
        state.pair, state.texts = found.pair, replace(state.texts, documents=documents)
        state.knowledge, state.not_found = knowledge, found.not_found


# Phase II: windows


def cut_windows(states: Sequence[PairState], config: Configuration) -> None:
    """The windows of each source at every scale."""
    for state in states:
        with state.clock("windows"):
            state.windows = source_windows(
                state.texts.documents, config.granularities, lead_in=not config.truncate
            )


# Phase III: verification


def judge(
    states: Sequence[PairState],
    models: Models,
    progress: Progress | None,
    observe: Observe | None,
) -> None:
    """The verifier's answers, batched across all pairs; their time is split by tokens."""
    verifier, score_one = models.verifier, _scorer(models)

    def settled(task: int, claim: int, judged: JudgedClaim) -> None:
        if observe is not None:
            observe(states[task].settled(claim, score_one(judged)))

    for state in states:
        state.verifier = verifier
    started = perf_counter()
    try:
        results = verify(
            verifier,
            [
                Task(state.extraction.claims, state.windows, state.texts.documents, finer=True)
                for state in states
            ],
            _advance(progress, "verify"),
            truncate=models.configuration.truncate,
            rule=window_rule(models),
            settled=None if observe is None else settled,
        )
    except Exception as error:
        if len(states) == 1:
            states[0].problem = f"{Problem.VERIFIER_FAILED}: {described(error)}"
            return
        for state in states:  # find out for which of them it fails
            judge([state], models, progress, observe)
        return
    for state, judged in zip(states, results, strict=True):
        state.judged = judged
    PairState.share_seconds("verify", started, list(zip(states, results, strict=True)))


def unsure_pairs(states: Sequence[PairState], models: Models) -> list[PairState]:
    """The pairs that the second verifier judges again; what the first one did is kept as cost."""
    score_one, name = _scorer(models), models.verifier.description.get("name")
    again = []
    for state in states:
        if is_unsure([score_one(item).support for item in state.judged]):
            state.judged_besides = tuple(state.judged)
            state.notes += (f"{name} was unsure of a claim, so that another verifier judged again",)
            again.append(state)
    return again


# Phase IV: scoring, and what explains the scores


def score_claims(states: Sequence[PairState], models: Models) -> None:
    """The reports of the claims."""
    for state in states:
        with state.clock("score"):
            claims = tuple(map(_scorer(models), state.judged))
            state.claims = mark_not_found(claims, state.not_found)


def explain_claims(
    states: Sequence[PairState],
    models: Models,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> None:
    """Why those claims fail that do, whether citations hold, and the shortest proofs."""
    verifier, rule = models.verifier, window_rule(models)
    advance = partial(_advance, progress)
    # The paper's settings judge its windows and no more.
    more = not models.configuration.truncate
    reasons = partial(
        explain,
        verifier=verifier,
        rule=rule,
        score=_scorer(models),
        progress=advance("explain"),
    )
    _explain(states, "explain", "failing claims could not be explained", reasons, observe)
    if more:
        proofs = partial(find_proofs, verifier=verifier, progress=advance("proof"))
        _explain(states, "proof", "no shorter proof could be looked for", proofs, observe)


def _explain(
    states: Sequence[PairState],
    phase: str,
    failure: str,
    explainer: Callable[[Sequence[Findings]], list[Explained]],
    observe: Observe | None,
) -> None:
    """Add to the reports of the claims; a verifier that fails here makes no problem, but a note."""
    started = perf_counter()
    try:
        explained = explainer([state.findings for state in states])
    except Exception as error:
        for state in states:
            state.notes += (f"{failure}: {described(error)}",)
        return
    results = list(zip(states, explained, strict=True))
    judged = [(state, item.judged) for state, item in results if item.judged]
    PairState.share_seconds(phase, started, judged)
    for state, item in results:
        before, state.claims = state.claims, item.claims
        state.judged_besides += item.judged
        for index, claim in enumerate(state.claims):
            if observe is not None and claim != before[index]:
                observe(state.settled(index, claim))


def _scorer(models: Models) -> Callable[[JudgedClaim], ClaimReport]:
    """What makes the report of a claim of the verifier's answers."""
    scoring, calibration = models.configuration.scoring, models.calibration
    return partial(score_claim, scoring=scoring, calibration=calibration)


def _advance(progress: Progress | None, phase: str) -> Callable[[int, int], None] | None:
    return None if progress is None else partial(progress, phase)


def _unfinished(states: Sequence[PairState]) -> list[PairState]:
    return [state for state in states if state.problem is None]
