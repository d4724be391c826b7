"""The verifier as the steps of a check ask it, and the ledger of what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from halldetect.protocols import Draft, Verifier
from halldetect.verification.judging import Advance, Enough, Judgement, Settled, verify
from halldetect.verification.windows import Task


@dataclass(frozen=True, slots=True)
class Answer:
    """A statement and what the verifier says of it."""

    statement: str
    judgement: Judgement


@dataclass(slots=True)
class Ledger:
    """What the check of a pair has cost so far: seconds by phase, answers, and a draft."""

    seconds: dict[str, float] = field(default_factory=dict)
    answers: list[Answer] = field(default_factory=list)
    draft: Draft = field(default_factory=lambda: Draft(()))

    def spend(self, phase: str, seconds: float) -> None:
        """Add to the seconds of a phase."""
        self.seconds[phase] = self.seconds.get(phase, 0.0) + seconds


class Asking:
    """One step of a block: it asks for all responses at once, and its answers are kept.

    `answers` has those of each response, for its ledger; they count only if the step succeeds.
    """

    def __init__(self, responses: int, advance: Advance | None = None) -> None:
        self.answers: list[list[Answer]] = [[] for _ in range(responses)]
        self.advance = advance

    def ask(
        self,
        verifier: Verifier,
        tasks: Sequence[Task],
        enough: Enough | None = None,
        settled: Settled | None = None,
        *,
        owners: Sequence[int] | None = None,
        short: bool = False,
    ) -> list[list[Judgement]]:
        """Judge the statements of each task; arguments as for `verify`.

        `owners` has the response of each task; None: every response has one.
        """
        judged = verify(verifier, tasks, enough, self.advance, settled, short=short)
        responses = range(len(self.answers)) if owners is None else owners
        for number, task, judgements in zip(responses, tasks, judged, strict=True):
            self.answers[number] += map(Answer, task.statements, judgements)
        return judged
