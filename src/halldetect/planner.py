"""Which windows each claim of a response meets, and when enough have been judged.

The support of a claim is the greatest over the windows, so the windows judged so far bound it
from below, and a response is as good as its worst claim. For any verifier this follows:

- A claim with more support than the line that parts supported from unsupported stays above it.
- No claim is called supported, and no response faithful, that judging everything would not.
- A claim with more support so far than one that met every window is not the worst.

A claim goes on until it is above the line. If no window is passed over below the line (`far` 0,
`most` not reached), the verdict, the states of the claims and the score of a flagged response
are those of judging everything. What passing windows over below the line changes, and how far
the score of a response that is not flagged is too high, is experience (benchmarks/planner.py),
not proof.
"""

from __future__ import annotations

import math
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
    glances  above the line, the worst claim rests after so many windows
    far      below the line, windows with less than this part of those words are passed over
    most     no claim meets more windows: reached only in sources of many thousand words
    """

    support: Callable[[Probabilities], float]
    line: float = 0.5
    enough: float = 0.6
    epsilon: float = 0.1
    near: float = 0.7
    glances: int = 4
    far: float = 0.2
    most: int = 64

    def to_dict(self) -> dict[str, float]:
        names = ("line", "enough", "epsilon", "near", "glances", "far", "most")
        return {name: getattr(self, name) for name in names}


# What a token costs a window's place in the order. The first window is to settle the matter
# cheaply: twice the words are worth four times the tokens. If it does not, wide windows, which
# leave out nothing that the claim may rest on, come almost as early as short ones.
FIRST, LATER = 0.5, 0.1


@dataclass(slots=True)
class Course:
    """One claim's way through its windows; the first `near` of the order are promising.

    Windows that the claim will not meet, whatever comes, are not in the order.
    """

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
        best = max(promise, default=0.0)
        near, far = rule.near * best, rule.far * best

        def worth(window: int, price: float) -> float:
            return -promise[window] / math.pow(max(tokens[window], 1), price)

        windows = range(len(promise))
        if not promise:
            return cls((), 0)
        first = min(windows, key=lambda window: (worth(window, FIRST), window))
        others = sorted(
            (window for window in windows if window != first and promise[window] >= far),
            key=lambda window: (promise[window] < near, worth(window, LATER), window),
        )
        order = (first, *others)[: max(rule.most, 1)]
        return cls(order, 1 + sum(promise[window] >= near for window in order[1:]))

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
        rule = self._rule
        claims = [claim for claim, course in enumerate(self.courses) if course.order]
        if rule is None:
            return [
                (claim, window)
                for claim in claims
                for window in self.courses[claim].order[self.courses[claim].done :]
            ]
        wanted = [
            (claim, window)
            for claim in claims
            for window in self._ahead(self.courses[claim], rule.enough, rule)
        ]
        if wanted or not claims:
            return wanted
        worst = min(claims, key=lambda claim: self.courses[claim].support)
        course = self.courses[worst]
        return [
            (worst, window)
            for window in self._ahead(course, 1.0 - rule.epsilon, rule, glances=rule.glances)
        ]

    @staticmethod
    def _ahead(
        course: Course, rest: float, rule: Rule, glances: int | None = None
    ) -> tuple[int, ...]:
        if course.support <= rule.line:
            return course.ahead(len(course.order))
        if course.support >= rest:
            return ()
        return course.ahead(course.near if glances is None else min(course.near, glances))

    def tell(self, claim: int, judged: Probabilities) -> None:
        """What was said of the next window in a claim's order."""
        course = self.courses[claim]
        course.done += 1
        if self._rule is not None:
            course.support = max(course.support, self._rule.support(judged))
