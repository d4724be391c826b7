"""Which windows each claim of a response meets, and when enough have been judged.

The support of a claim is the greatest over the windows, so the windows judged so far bound it
from below, and a response is as good as its worst claim. For any verifier this follows:

- A claim with more support than the line that parts supported from unsupported stays above it.
- A claim with more support so far than one that met every window is not the worst.

So a claim meets every window until it is above the line. Whatever the verifier, the verdict and
the states of the claims are those of judging everything, and so is the score of every response
that is flagged. A response that is not flagged gets a score that is never too low. That it is
seldom too high is experience (benchmarks/planner.py), not proof: above the line, windows with
few of the claim's words are passed over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from halldetect.report import Probabilities


@dataclass(frozen=True, slots=True)
class Rule:
    """When a claim need meet no more windows.

    support  what a window's probabilities are worth to the claim, from 0 to 1
    line     a claim with more support is supported, and alone would not be flagged
    enough   above the line, a claim that is not the worst rests at this support
    epsilon  above the line, the worst claim rests when it can gain no more than this
    near     above the line, windows are passed over that have less than this part of the
             content words that the claim's most promising window has
    """

    support: Callable[[Probabilities], float]
    line: float = 0.5
    enough: float = 0.9
    epsilon: float = 0.002
    near: float = 0.5

    def to_dict(self) -> dict[str, float]:
        return {name: getattr(self, name) for name in ("line", "enough", "epsilon", "near")}


@dataclass(slots=True)
class Course:
    """One claim's way through its windows; the first `near` of the order are promising."""

    order: tuple[int, ...]
    near: int
    done: int = 0
    support: float = -1.0

    @classmethod
    def whole(cls, count: int) -> Course:
        return cls(tuple(range(count)), count)

    @classmethod
    def promising(cls, promise: Sequence[float], tokens: Sequence[int], rule: Rule) -> Course:
        """Windows with many of the claim's words first, short ones before long ones."""
        bar = rule.near * max(promise, default=0.0)

        def place(window: int) -> tuple[bool, float, int]:
            # Twice the words are worth four times the tokens.
            value = promise[window] / max(tokens[window], 1) ** 0.5
            return promise[window] < bar, -value, window

        order = tuple(sorted(range(len(promise)), key=place))
        return cls(order, sum(share >= bar for share in promise))

    def ahead(self, end: int) -> tuple[int, ...]:
        """The next windows, as many as have been judged so far: few rounds, little waste."""
        return self.order[self.done : min(end, max(2 * self.done, 1))]


class Planner:
    """The courses of a response's claims; nothing of other responses or sources comes in.

    Without a rule every claim meets every window.
    """

    def __init__(self, courses: Sequence[Course], rule: Rule | None) -> None:
        self.courses = courses
        self._rule = rule

    def next(self) -> list[tuple[int, int]]:
        """The claims and windows to judge now; none when what is known is enough."""
        if self._rule is None:
            return [
                (claim, window)
                for claim, course in enumerate(self.courses)
                for window in course.order[course.done :]
            ]
        enough = self._rule.enough
        wanted = self._ahead(range(len(self.courses)), enough, self._rule)
        claims = [claim for claim, course in enumerate(self.courses) if course.order]
        if wanted or not claims:
            return wanted
        worst = min(claims, key=lambda claim: self.courses[claim].support)
        return self._ahead([worst], 1.0 - self._rule.epsilon, self._rule)

    def _ahead(self, claims: Sequence[int], rest: float, rule: Rule) -> list[tuple[int, int]]:
        wanted: list[tuple[int, int]] = []
        for claim in claims:
            course = self.courses[claim]
            above = course.support > rule.line
            if not (above and course.support >= rest):
                end = course.near if above else len(course.order)
                wanted.extend((claim, window) for window in course.ahead(end))
        return wanted

    def tell(self, claim: int, judged: Probabilities) -> None:
        """What was said of the next window in a claim's order."""
        course = self.courses[claim]
        course.done += 1
        if self._rule is not None:
            course.support = max(course.support, self._rule.support(judged))
