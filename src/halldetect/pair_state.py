"""What is known of a pair while it is checked, and the events that tell a caller of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import StrEnum
from time import perf_counter

from halldetect.claims import Claim
from halldetect.claims.extraction import Extraction
from halldetect.errors import InputError
from halldetect.explanation.explain import Findings
from halldetect.inputs import CleanPair, Pair, Source, Texts, clean_pair
from halldetect.knowledge.passages import Knowledge
from halldetect.protocols import Extractor, Verifier
from halldetect.reading.document import Document
from halldetect.report import ClaimReport
from halldetect.verification.rounds import JudgedClaim
from halldetect.verification.scales import Window

AnyPair = Pair | tuple[Source, str] | tuple[Source, str, str | None]
# The phase ("fetch" and "convert", of a model, in bytes, "extract", in responses, "verify" and
# "explain", in tokens, or "proof", in claims), how much of it is done, and of how much. How many
# tokens there will be is an estimate, which may change.
Progress = Callable[[str, int, int], None]


class Problem(StrEnum):
    """Why a pair cannot be checked; where a step failed, the error follows."""

    NOTHING_ASSERTED = "the response asserts nothing that can be checked"
    NO_CLAIM = "the extractor found no claim in the response"
    ABSTAINED = "the response says that it gives no answer"
    NOT_EXTRACTED = "the claims could not be extracted"
    NOT_SEARCHED = "the knowledge could not be searched"
    VERIFIER_FAILED = "the verifier failed"


# How the reason of a report begins whose check failed.
CHECK_FAILED = (Problem.NOT_EXTRACTED, Problem.NOT_SEARCHED, Problem.VERIFIER_FAILED)


@dataclass(frozen=True, slots=True)
class ClaimsExtracted:
    """An event: the claims of one pair; `pair` is its index among the pairs of the call."""

    pair: int
    claims: tuple[Claim, ...]


@dataclass(frozen=True, slots=True)
class ClaimSettled:
    """An event: a claim needs no more windows for now; `index` is its index in the response.

    The worst claim of a response may be taken up again: it is then reported again, with no less
    support unless a second verifier has judged it. The last event of a claim agrees with the
    report.
    """

    pair: int
    index: int
    claim: ClaimReport


Event = ClaimsExtracted | ClaimSettled
Observe = Callable[[Event], None]


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
    judged_besides       its answers that decide nothing: those of a first verifier, where a second
                         one judged again, those for parts of failing claims, and for proofs
    claims               their reports
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
    judged_besides: tuple[JudgedClaim, ...] = ()
    claims: tuple[ClaimReport, ...] = ()
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
    def findings(self) -> Findings:
        """The claims as they were judged, for what explains them."""
        return Findings(
            self.extraction.claims,
            self.claims,
            self.windows,
            self.texts.documents,
            self.pair.document_names,
        )

    @property
    def skipped(self) -> int:
        """The pairs of claim and window that were not judged."""
        return sum(item.skipped for item in self.judged)

    @property
    def finer_scales(self) -> tuple[int, ...]:
        """The scales that were added because the source is long."""
        asked = {scale for window in self.windows for scale in window.scales}
        return tuple(sorted({m for item in self.judged for m in item.scales} - asked))

    def keep_claims_from(self, start: int) -> None:
        """Leave out the claims before a place in the response; without any other, a problem."""
        claims = self.extraction.claims
        kept = [n for n, item in enumerate(claims) if item.span is None or item.span.end > start]
        self.extraction = replace(self.extraction, claims=tuple(claims[at] for at in kept))
        self.not_found = frozenset(new for new, at in enumerate(kept) if at in self.not_found)
        if not kept:
            self.problem = str(Problem.NOTHING_ASSERTED)

    def settled(self, index: int, claim: ClaimReport) -> ClaimSettled:
        """The event that a claim is settled, in the form that it has in the report."""
        return ClaimSettled(self.index, index, claim.quoting(self.pair.documents))

    def spend(self, phase: str, seconds: float) -> None:
        """Add to the time of a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds

    @contextmanager
    def clock(self, phase: str) -> Iterator[None]:
        """Measure the time of a phase."""
        started = perf_counter()
        try:
            yield
        finally:
            self.spend(phase, perf_counter() - started)

    @staticmethod
    def share_seconds(
        phase: str, started: float, judged: Sequence[tuple[PairState, Sequence[JudgedClaim]]]
    ) -> None:
        """Split the time of a step over pairs by the tokens that the verifier has read for each.

        phase    the step
        started  when it began, by `perf_counter`
        judged   the verifier's answers per pair
        """
        seconds = perf_counter() - started
        tokens = [sum(item.tokens for item in items) for _, items in judged]
        for (state, _), of_pair in zip(judged, tokens, strict=True):
            state.spend(phase, seconds * of_pair / (sum(tokens) or 1))
