"""Which windows each claim of a response meets, and when enough have been judged.

A response is as good as its worst claim. Support is the greatest over the windows, so what
has been judged bounds it from below, and two things follow for any verifier:

- a claim whose support so far is over that of a claim judged against every window cannot be
  the worst one: the score of the response is then that of judging everything;
- a support of 1 - epsilon can grow by epsilon at most.

So the worst claim goes on until every window has been judged, or until epsilon is all there
is to gain. The other claims keep the support found so far, which is a lower bound. For them a
rule of experience holds, not a proof: a window that shares less than `floor` of the claim's
content words will not turn an unsupported claim into a supported one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from halldetect.report import Probabilities

Support = Callable[[Probabilities], float]


@dataclass(frozen=True, slots=True)
class Rule:
    """When to stop; the values are those that benchmarks/planner.py found to hold.

    epsilon  the score of a response differs by at most this from judging everything
    enough   a claim that does not decide the score rests at this support
    floor    and passes over windows with a smaller share of its content words
    """

    epsilon: float = 0.002
    enough: float = 0.9
    floor: float = 0.1

    def to_dict(self) -> dict[str, float]:
        return asdict(self)


@dataclass(slots=True)
class Course:
    """One claim's way through its windows: short windows with many of its words first."""

    order: tuple[int, ...]
    promising: int
    done: int = 0
    support: float = field(default=-1.0)

    @classmethod
    def of(cls, promise: Sequence[float], tokens: Sequence[int], rule: Rule) -> Course:
        def late(window: int) -> tuple[bool, float, int]:
            # Twice the words are worth four times the tokens; something is worth nothing shared.
            value = (promise[window] + 0.001) / max(tokens[window], 1) ** 0.5
            return promise[window] < rule.floor, -value, window

        order = tuple(sorted(range(len(promise)), key=late))
        promising = sum(share >= rule.floor for share in promise)
        return cls(order, max(promising, min(1, len(order))))

    def ahead(self, end: int) -> tuple[int, ...]:
        """The next windows, as many as have been judged so far: few rounds, little waste."""
        return self.order[self.done : min(end, max(2 * self.done, 1))]


class Planner:
    """The courses of a response's claims. Depends on nothing but that response and source."""

    def __init__(self, courses: Sequence[Course], rule: Rule) -> None:
        self._courses = courses
        self._rule = rule

    def next(self) -> list[tuple[int, int]]:
        """The claims and windows to judge now; none when what is known is enough."""
        open_ = [
            (claim, window)
            for claim, course in enumerate(self._courses)
            if course.support < self._rule.enough
            for window in course.ahead(course.promising)
        ]
        if open_:
            return open_
        judged = [claim for claim, course in enumerate(self._courses) if course.order]
        if not judged:
            return []
        worst = min(judged, key=lambda claim: self._courses[claim].support)
        course = self._courses[worst]
        if course.support >= 1.0 - self._rule.epsilon:
            return []
        return [(worst, window) for window in course.ahead(len(course.order))]

    def tell(self, claim: int, support: float) -> None:
        """What the next window of a claim's order says; each is told once, in order."""
        course = self._courses[claim]
        course.done += 1
        course.support = max(course.support, support)
