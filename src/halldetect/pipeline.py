"""The method from top to bottom: inputs, claims, windows, verification, scoring, report.

`begin` and `finish` hold the order of the steps; the steps follow in that order. Each step takes
the pairs that have met no problem so far. A step that fails for one pair makes that the pair's
problem, so that no pair stops the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from time import perf_counter
from typing import Any, Protocol

from halldetect._version import __version__
from halldetect.claims import Claim
from halldetect.claims.extraction import Extraction, extract_claims
from halldetect.config import Configuration
from halldetect.errors import HallDetectError, InputError
from halldetect.explanation.explain import Findings, explain
from halldetect.inputs import CleanPair, Pair, Source, Texts, clean_pair, read_texts, refusal
from halldetect.knowledge.passages import Knowledge
from halldetect.protocols import Extractor, Verifier
from halldetect.report import (
    ClaimReport,
    Cost,
    Provenance,
    Report,
    Status,
    Verdict,
    citation_scores,
    decide,
    unchecked,
)
from halldetect.scoring import (
    SCORINGS,
    Calibration,
    ResponseScores,
    score_claim,
    score_response,
    settling_probability,
    shown_evidence,
    window_support,
)
from halldetect.text.answers import likely_answer
from halldetect.text.document import Document
from halldetect.text.language import is_foreign
from halldetect.text.normalise import has_look_alikes
from halldetect.text.sources import read_source
from halldetect.verification.cascade import is_unsure
from halldetect.verification.injections import blank_injections
from halldetect.verification.proof import ProofRequest, find_proofs
from halldetect.verification.rounds import JudgedClaim, Task, verify
from halldetect.verification.schedule import Rule, StoppingRule, WholeSourceRule
from halldetect.windows.scales import Window, source_windows

AnyPair = Pair | tuple[Source, str] | tuple[Source, str, str | None]
# The phase ("fetch", in bytes, "extract", in responses, or "verify", in tokens), how much of it is
# done, and of how much. How many tokens there will be is an estimate, which may change.
Progress = Callable[[str, int, int], None]
# More passages cost time, fewer miss the one that decides; see docs/knowledge.md.
PASSAGES_PER_CLAIM = 5
NOTHING_ASSERTED = "the response asserts nothing that can be checked"
ABSTAINED = "the response says that it gives no answer"
LOOK_ALIKES = "letters of the response were read as the letters that they look like"
NOTHING_FOUND = "nothing found: no passage of the knowledge is about this claim"


@dataclass(frozen=True, slots=True)
class ClaimsExtracted:
    """An event: the claims of one pair; `pair` is its index among the pairs of the call."""

    pair: int
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class ClaimSettled:
    """An event: a claim needs no more windows for now; `index` is its index in the response.

    The worst claim of a response may be taken up again: it is then reported again, with the
    same state and no less support, unless a second verifier has judged it. The last event of a
    claim agrees with the report.
    """

    pair: int
    index: int
    claim: ClaimReport


Event = ClaimsExtracted | ClaimSettled
Observe = Callable[[Event], None]


class Models(Protocol):
    """What the steps need of a detector. A model is loaded when it is first asked for."""

    @property
    def configuration(self) -> Configuration:
        """The options."""
        ...

    @property
    def extractor(self) -> Extractor:
        """Proposes claims."""
        ...

    @property
    def verifier(self) -> Verifier:
        """Judges claims."""
        ...

    @property
    def calibration(self) -> Calibration:
        """The parameters of the score."""
        ...

    @property
    def threshold(self) -> float:
        """Hallucinated at this score or above."""
        ...

    @property
    def second(self) -> Models | None:
        """The models for responses that this verifier is unsure of; None without a cascade."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What every report has to say about the models."""
        ...

    @property
    def knowledge(self) -> Knowledge | None:
        """Finds evidence; None where only the source given is read."""
        ...


@dataclass(slots=True)
class PairState:
    """What is known of one pair so far. A `problem` skips all further steps of the pair.

    pair                 the texts as they came, cleaned
    index                of the pair among the pairs of the call
    problem              why the pair cannot be checked
    extractor, verifier  the models that were used; None while they have not been needed
    texts                the texts with their sentences
    injections           places of the source that talk to the verifier and were left out
    extraction           its claims
    knowledge            what evidence was retrieved from; None: the source was given
    not_found            the claims, by index, that nothing was found for
    windows              of its source
    judged               the verifier's answers per claim
    judged_first         those of the first verifier, where a second one judged again
    claims               their reports
    judged_parts         the verifier's answers for parts of failing claims
    judged_proofs        its answers for passages that might settle a claim by themselves
    notes                what the report should mention
    abstained            whether the response says that it gives no answer, and nothing else
    seconds              spent per phase
    """

    pair: CleanPair
    index: int = 0
    problem: str | None = None
    extractor: Extractor | None = None
    texts: Texts = field(default_factory=lambda: Texts((), Document("", ())))
    injections: int = 0
    extraction: Extraction = field(default_factory=lambda: Extraction(()))
    knowledge: Knowledge | None = None
    not_found: frozenset[int] = frozenset()
    windows: tuple[Window, ...] = ()
    verifier: Verifier | None = None
    judged: Sequence[JudgedClaim] = ()
    judged_first: tuple[JudgedClaim, ...] = ()
    claims: tuple[ClaimReport, ...] = ()
    judged_parts: tuple[JudgedClaim, ...] = ()
    judged_proofs: tuple[JudgedClaim, ...] = ()
    notes: tuple[str, ...] = ()
    abstained: bool = False
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, item: AnyPair, index: int = 0) -> PairState:
        """The state of anything `check_many` takes; what is not a pair of texts is a problem."""
        try:
            if isinstance(item, str):  # a string of two letters would unpack into a pair
                raise TypeError
            return cls(clean_pair(item if isinstance(item, Pair) else Pair(*item)), index)
        except InputError as error:
            return cls(CleanPair((), "", None), index, problem=str(error))
        except TypeError:
            return cls(CleanPair((), "", None), index, problem="not a pair of source and response")

    @property
    def everything_judged(self) -> tuple[JudgedClaim, ...]:
        """All answers of verifiers."""
        return (*self.judged_first, *self.judged, *self.judged_parts, *self.judged_proofs)

    @property
    def tokens(self) -> int:
        """The tokens that the verifier has read."""
        return sum(item.tokens for item in self.everything_judged)

    @property
    def skipped(self) -> int:
        """The pairs of claim and window that were not judged."""
        return sum(item.skipped for item in self.judged)

    @property
    def finer_scales(self) -> tuple[int, ...]:
        """The scales that were added because the source is long."""
        asked = {scale for window in self.windows for scale in window.scales}
        return tuple(sorted({m for item in self.judged for m in item.scales} - asked))

    @contextmanager
    def clock(self, phase: str) -> Iterator[None]:
        """Measure the time of a phase."""
        started = perf_counter()
        try:
            yield
        finally:
            spent = perf_counter() - started
            self.seconds[phase] = self.seconds.get(phase, 0.0) + spent


def begin(
    states: Sequence[PairState],
    models: Models,
    progress: Progress | None = None,
    observe: Observe | None = None,
) -> None:
    """The first half of a check: inputs and claims."""
    config = models.configuration
    refuse_sizes(states, config)
    if todo := _unfinished(states):
        refuse_languages(todo, models.verifier)
    if todo := _unfinished(states):
        read(todo)
        extract(todo, models.extractor, config.guard, progress, observe)
    if (knowledge := models.knowledge) is not None:
        retrieve(_unfinished(states), knowledge)


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
    if models.second is not None:
        again = unsure_states(_unfinished(states), models)
        if again:
            judge(again, models.second, progress, observe)
        used.update((id(state), models.second) for state in again)
    for chosen in dict.fromkeys(used.values()):
        if todo := [state for state in _unfinished(states) if used[id(state)] is chosen]:
            explain_claims(todo, chosen, progress, observe)
            # The paper's settings judge its windows and no more.
            if not models.configuration.truncate:
                show_proofs(todo, chosen, observe)
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
    refuse_sizes(states, models.configuration)
    if todo := _unfinished(states):
        refuse_languages(todo, models.verifier)
    if todo := _unfinished(states):
        read(todo)
        for state in todo:
            state.windows = source_windows(state.texts.documents, tuple(granularities))
        judge(todo, models, None, None)
    for state in states:
        if state.problem is not None:
            state.judged = [
                JudgedClaim(claim, (), (), reason=state.problem)
                for claim in state.extraction.claims
            ]
    scoring, calibration = models.configuration.scoring, models.calibration
    return [[score_claim(item, scoring, calibration) for item in state.judged] for state in states]


def _unfinished(states: Sequence[PairState]) -> list[PairState]:
    return [state for state in states if state.problem is None]


# Inputs


def refuse_sizes(states: Sequence[PairState], config: Configuration) -> None:
    """Nothing to check, or too much."""
    for state in _unfinished(states):
        state.problem = refusal(
            state.pair,
            config.max_source,
            config.max_response,
            needs_source=config.knowledge is None,
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
                state.problem = (
                    f"the {what} is not in English, the only language this verifier reads"
                )


def read(states: Sequence[PairState]) -> None:
    """Cut all texts into sentences, once for all steps; what talks to the verifier is left out."""
    for state in states:
        with state.clock("read"):
            found = [blank_injections(document) for document in state.pair.documents]
            state.injections = sum(count for _, count in found)
            documents = tuple(document for document, _ in found)
            state.texts = read_texts(replace(state.pair, documents=documents))
            if has_look_alikes(state.pair.response):
                state.notes += (LOOK_ALIKES,)


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
            state.problem = f"the claims could not be extracted: {_one_line(error)}"
            continue
        if not state.extraction.claims:
            state.abstained = any(unit.abstains for unit in state.texts.response.units)
            state.problem = (
                ABSTAINED
                if state.abstained
                else NOTHING_ASSERTED
                if guard
                else "the extractor found no claim in the response"
            )
            if state.abstained and state.pair.question is not None:
                answer = likely_answer(state.pair.question, state.texts.documents)
                if answer is not None:
                    state.notes += (f"the source may answer the question: {answer}",)
        elif observe is not None:
            observe(ClaimsExtracted(state.index, state.extraction.claims))
    if progress is not None:
        progress("extract", len(states), len(states))


# Knowledge: evidence for claims whose source was not given, or is not all there is


def retrieve(states: Sequence[PairState], knowledge: Knowledge) -> None:
    """The passages that are found for the claims of a pair become documents of its source."""
    for state in states:
        claims = [claim.hypothesis for claim in state.extraction.claims]
        try:
            with state.clock("retrieve"):
                found = knowledge.search(claims, PASSAGES_PER_CLAIM)
        except Exception as error:
            state.problem = f"the knowledge could not be searched: {_one_line(error)}"
            continue
        passages = list(dict.fromkeys(passage for group in found for passage in group))
        pair = state.pair
        names = pair.document_names or tuple(
            f"Document {number}" for number, _ in enumerate(pair.documents, 1)
        )
        state.knowledge = knowledge
        state.not_found = frozenset(
            at
            for at, (claim, group) in enumerate(zip(state.extraction.claims, found, strict=True))
            if not group and claim.problem is None
        )
        state.pair = replace(
            pair,
            documents=(*pair.documents, *(passage.text_with_title for passage in passages)),
            document_names=(*names, *(passage.name for passage in passages)),
        )
        read_more = [read_source(text) for text in state.pair.documents[len(names) :]]
        state.texts = replace(state.texts, documents=(*state.texts.documents, *read_more))


def mark_not_found(
    claims: tuple[ClaimReport, ...], not_found: frozenset[int]
) -> tuple[ClaimReport, ...]:
    """A claim that nothing was found for is unsupported, unless something else settles it."""
    marked = list(claims)
    for at in not_found:
        if claims[at].status in (Status.UNCHECKABLE, Status.UNSUPPORTED):
            marked[at] = replace(
                claims[at],
                status=Status.UNSUPPORTED,
                reason=NOTHING_FOUND,
                support=claims[at].support or 0.0,
                fed_score=claims[at].fed_score or 0.0,
            )
    return tuple(marked)


def keep_claims_from(state: PairState, start: int) -> None:
    """Leave out the claims before a place in the response; without any other, it is a problem."""
    claims = state.extraction.claims
    kept = [at for at, claim in enumerate(claims) if claim.span is None or claim.span.end > start]
    state.extraction = replace(state.extraction, claims=tuple(claims[at] for at in kept))
    state.not_found = frozenset(new for new, at in enumerate(kept) if at in state.not_found)
    if not kept:
        state.problem = NOTHING_ASSERTED


# Phase II: windows


def cut_windows(states: Sequence[PairState], config: Configuration) -> None:
    """The windows of each source at every scale."""
    for state in states:
        with state.clock("windows"):
            state.windows = source_windows(
                state.texts.documents, config.granularities, lead_in=not config.truncate
            )


# Phase III: verification


def window_rule(models: Models) -> Rule | None:
    """Which windows a claim is judged against; None where it is judged against all."""
    config, calibration, verifier = models.configuration, models.calibration, models.verifier
    if config.exact or SCORINGS[config.scoring].every_window:
        return None
    if getattr(verifier, "reads_whole_sources", False):
        return WholeSourceRule()
    supported_above = max(calibration.supported_above, 1.0 - models.threshold)
    return StoppingRule(partial(window_support, calibration), supported_above)


def judge(
    states: Sequence[PairState],
    models: Models,
    progress: Progress | None,
    observe: Observe | None,
) -> None:
    """The verifier's answers, batched across all pairs; their time is split by tokens."""
    config, calibration, verifier = models.configuration, models.calibration, models.verifier

    def advance(done: int, of: int) -> None:
        if progress is not None:
            progress("verify", done, of)

    def settled(task: int, claim: int, judged: JudgedClaim) -> None:
        if observe is not None:
            report = score_claim(judged, config.scoring, calibration)
            state = states[task]
            observe(ClaimSettled(state.index, claim, report.quoting(state.pair.documents)))

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
            advance,
            truncate=config.truncate,
            rule=window_rule(models),
            settled=None if observe is None else settled,
        )
    except Exception as error:
        if len(states) == 1:
            states[0].problem = f"the verifier failed: {_one_line(error)}"
            return
        for state in states:  # find out for which of them it fails
            judge([state], models, progress, observe)
        return
    seconds = perf_counter() - started
    for state, judged in zip(states, results, strict=True):
        state.judged = judged
    spent = [sum(item.tokens for item in state.judged) for state in states]
    for state, tokens in zip(states, spent, strict=True):
        before = state.seconds.get("verify", 0.0)
        state.seconds["verify"] = before + seconds * tokens / (sum(spent) or 1)


def unsure_states(states: Sequence[PairState], models: Models) -> list[PairState]:
    """The pairs that the second verifier judges again; what the first one did is kept as cost."""
    config, calibration = models.configuration, models.calibration
    again = []
    for state in states:
        claims = [score_claim(item, config.scoring, calibration) for item in state.judged]
        if is_unsure([claim.support for claim in claims]):
            state.judged_first = tuple(state.judged)
            name = models.verifier.description.get("name")
            state.notes += (f"{name} was unsure of a claim, so that another verifier judged again",)
            again.append(state)
    return again


# Phase IV: scoring, and the report


def explain_claims(
    states: Sequence[PairState],
    models: Models,
    progress: Progress | None,
    observe: Observe | None,
) -> None:
    """The reports of the claims; why those fail that do, and whether citations hold."""
    config, calibration = models.configuration, models.calibration

    def score(judged: JudgedClaim) -> ClaimReport:
        return score_claim(judged, config.scoring, calibration)

    for state in states:
        with state.clock("score"):
            state.claims = mark_not_found(tuple(map(score, state.judged)), state.not_found)
    started = perf_counter()
    findings = [
        Findings(
            state.extraction.claims,
            state.claims,
            state.windows,
            state.texts.documents,
            state.pair.document_names,
        )
        for state in states
    ]
    try:
        explained = explain(findings, models.verifier, window_rule(models), score)
    except Exception as error:
        for state in states:
            state.notes += (f"failing claims could not be explained: {_one_line(error)}",)
        return
    seconds = perf_counter() - started
    for state, item in zip(states, explained, strict=True):
        state.claims, state.judged_parts = item.claims, item.judged
    tokens = sum(part.tokens for state in states for part in state.judged_parts) or 1
    for state in states:
        if state.judged_parts:
            used = sum(part.tokens for part in state.judged_parts)
            state.seconds["explain"] = seconds * used / tokens
        for index, claim in enumerate(state.claims):
            if observe is not None and (claim.parts or claim.error or claim.citations):
                observe(ClaimSettled(state.index, index, claim.quoting(state.pair.documents)))


def show_proofs(
    states: Sequence[PairState], models: Models, observe: Observe | None = None
) -> None:
    """Where only a passage of several sentences settles a claim so far, look for a shorter one."""
    requests: list[ProofRequest] = []
    owners: list[tuple[PairState, int]] = []
    for state in states:
        documents = state.texts.documents
        for index, (claim, judged) in enumerate(zip(state.claims, state.judged, strict=True)):
            proof, settling = claim.proof, settling_probability(claim.status)
            if proof is None or settling is None:
                continue
            if len(documents[proof.document].sentences_in(proof.span)) > 1:
                window = Window(proof.text, proof.document, proof.span, proof.scales)
                requests.append(ProofRequest(judged.claim, window, documents, settling))
                owners.append((state, index))
    started = perf_counter()
    try:
        proofs = find_proofs(models.verifier, requests)
    except Exception as error:
        for state in states:
            state.notes += (f"no shorter proof could be looked for: {_one_line(error)}",)
        return
    seconds = perf_counter() - started
    for (state, index), proof_found in zip(owners, proofs, strict=True):
        state.judged_proofs += (proof_found.judged,)
        if proof_found.probabilities is not None:
            shown = shown_evidence(proof_found.window, proof_found.probabilities)
            claim = replace(state.claims[index], proof=shown)
            state.claims = (*state.claims[:index], claim, *state.claims[index + 1 :])
            if observe is not None:
                observe(ClaimSettled(state.index, index, claim.quoting(state.pair.documents)))
    tokens = sum(item.tokens for state in states for item in state.judged_proofs) or 1
    for state in states:
        if state.judged_proofs:
            used = sum(item.tokens for item in state.judged_proofs)
            state.seconds["proof"] = seconds * used / tokens


def conclude(state: PairState, models: Models) -> Report:
    """The report of a pair. The calibration is asked for only where a verifier was needed."""
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
    pairs = [
        (window.text, item.claim.hypothesis)
        for item in state.everything_judged
        for window in item.windows
    ]
    judged = len(set(pairs))  # a pair of the same texts is judged once
    extraction = state.extraction
    return Cost(
        generative_passes=extraction.generative_passes,
        extractor_tokens_in=extraction.tokens_in,
        extractor_tokens_out=extraction.tokens_out,
        pairs_judged=judged,
        pairs_skipped=len(pairs) - judged + state.skipped,
        verifier_tokens=state.tokens,
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
        notes += _knowledge_notes(state.knowledge, claims)
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


def _knowledge_notes(knowledge: Knowledge, claims: Sequence[ClaimReport]) -> tuple[str, ...]:
    facts = (f"{name} {value}" for name, value in knowledge.description.items())
    notes = [f"evidence was retrieved from an index: {', '.join(facts)}"]
    if claims:
        supported = sum(claim.status is Status.SUPPORTED for claim in claims)
        share = supported / len(claims)
        notes.append(f"precision {share:.2f}: {supported} of {len(claims)} claims are supported")
    return tuple(notes)


def _one_line(error: Exception) -> str:
    """The error in one line, with its type unless it is one of ours."""
    text = " ".join(str(error).split())
    return text if isinstance(error, HallDetectError) else f"{type(error).__name__}: {text}"
