"""One pair on its way through the four steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter

from halldetect.claims.extraction import Extraction
from halldetect.errors import InputError
from halldetect.inputs import Intake, Pair, Source, take_in
from halldetect.protocols import Extractor, Verifier
from halldetect.report import Cost
from halldetect.verification.rounds import Judged, Task
from halldetect.windows.scales import Window

AnyPair = Pair | tuple[Source, str] | tuple[Source, str, str | None]


@dataclass(slots=True)
class Case:
    """What is known of a pair so far. A `problem` ends its way: the report gives the reason.

    `extractor` and `verifier` stay None while they have not been needed; `place` is its place
    among the pairs of the call.
    """

    intake: Intake
    place: int = 0
    problem: str | None = None
    extractor: Extractor | None = None
    extraction: Extraction = field(default_factory=lambda: Extraction(()))
    windows: tuple[Window, ...] = ()
    verifier: Verifier | None = None
    judged: Sequence[Judged] = ()
    seconds: dict[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, item: AnyPair, place: int = 0) -> Case:
        """A case for anything `check_many` takes; what is not a pair of texts is its problem."""
        try:
            if isinstance(item, str):  # two letters would unpack into a pair
                raise TypeError
            return cls(take_in(item if isinstance(item, Pair) else Pair(*item)), place)
        except InputError as error:
            return cls(Intake((), "", None), place, problem=str(error))
        except TypeError:
            return cls(Intake((), "", None), place, problem="not a pair of source and response")

    @property
    def task(self) -> Task:
        return Task(self.extraction.claims, self.windows, self.intake.documents, finer=True)

    @property
    def tokens(self) -> int:
        return sum(item.tokens for item in self.judged)

    @property
    def unmet(self) -> int:
        """The pairs of claim and window that the rule of the planner passed over."""
        return sum(item.skipped for item in self.judged)

    @property
    def finer_scales(self) -> tuple[int, ...]:
        """The scales that were added because the source is long."""
        asked = {scale for window in self.windows for scale in window.scales}
        return tuple(sorted({m for item in self.judged for m in item.scales} - asked))

    @contextmanager
    def clock(self, phase: str) -> Iterator[None]:
        started = perf_counter()
        try:
            yield
        finally:
            self.seconds[phase] = perf_counter() - started

    def cost(self) -> Cost:
        pairs = [(window.text, item.claim.text) for item in self.judged for window in item.windows]
        judged = len(set(pairs))  # the same words met again are not judged again
        return Cost(
            generative_passes=self.extraction.generative_passes,
            extractor_tokens_in=self.extraction.tokens_in,
            extractor_tokens_out=self.extraction.tokens_out,
            pairs_judged=judged,
            pairs_skipped=len(pairs) - judged + self.unmet,
            verifier_tokens=self.tokens,
            claims_dropped=self.extraction.dropped,
            claims_restored=self.extraction.restored,
            seconds={phase: round(spent, 4) for phase, spent in self.seconds.items()},
        )
