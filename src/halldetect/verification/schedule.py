"""Which windows each claim of a response meets, and when enough have been judged.

The support of a claim is the greatest over the windows, so the windows judged so far bound it
from below, and a response is as good as its worst claim. For any verifier this follows:

- A claim with more support than the line that parts supported from unsupported stays above it.
- No claim is called supported, and no response faithful, that judging everything would not.
- A claim with more support so far than one that met every window is not the worst.

A claim goes on until it is above the line. If no window is passed over below the line (`far` and
`silent` 0, `most` not reached), the verdict, the states of the claims and the score of a flagged
response are those of judging everything. What passing windows over below the line changes, and
how far the score of a response that is not flagged is too high, is experience
(benchmarks/planner.py), not proof.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from halldetect.report import Probabilities


@dataclass(frozen=True, slots=True)
class Rule:
    """When a claim need meet no more windows.

    support  what a window's probabilities are worth to the claim, from 0 to 1
    line     a claim with more support is supported, and alone would not be flagged; it rests
             unless it is the worst
    epsilon  the worst claim, if above the line, rests when it can gain no more than this
    glances  or after so many windows
    far      windows are passed over that have less than this part of the content words that
             the claim's most promising window has
    silent   so are those inside a window that gave less than this for and against the claim:
             who reads all of a passage about something else need not read parts of it
    most     no claim meets more windows: reached only in sources of many thousand words
    """

    support: Callable[[Probabilities], float]
    line: float = 0.5
    epsilon: float = 0.048
    glances: int = 3
    far: float = 0.35
    silent: float = 0.05
    most: int = 64

    def says_nothing(self, support: float, contradiction: float | None) -> bool:
        return max(support, contradiction or 0.0) < self.silent

    def to_dict(self) -> dict[str, float]:
        names = ("line", "epsilon", "glances", "far", "silent", "most")
        return {name: getattr(self, name) for name in names}


# What a token costs a window's place in the order. The first window is to settle the matter
# cheaply: twice the words are worth four times the tokens. If it does not, wide windows, which
# leave out nothing that the claim may rest on, come almost as early as short ones.
FIRST, LATER = 0.5, 0.2

# Document, start and end of a window.
Place = tuple[int, int, int]


@dataclass(slots=True)
class Course:
    """One claim's way through its windows: those it met, and those to come in their order.

    Windows that the claim will not meet, whatever comes, are in neither.
    """

    left: dict[int, None]
    places: Sequence[Place] = ()
    met: list[int] = field(default_factory=list)
    support: float = -1.0

    @classmethod
    def whole(cls, count: int) -> Course:
        return cls(dict.fromkeys(range(count)))

    @classmethod
    def promising(
        cls, promise: Sequence[float], tokens: Sequence[int], places: Sequence[Place], rule: Rule
    ) -> Course:
        """Windows with many of the claim's words first, short ones before long ones."""
        far = rule.far * max(promise, default=0.0)

        def worth(window: int, price: float) -> float:
            return -promise[window] / math.pow(max(tokens[window], 1), price)

        windows = range(len(promise))
        if not promise:
            return cls({})
        first = min(windows, key=lambda window: (worth(window, FIRST), window))
        others = sorted(
            (window for window in windows if window != first and promise[window] >= far),
            key=lambda window: (worth(window, LATER), window),
        )
        return cls(dict.fromkeys((first, *others)[: max(rule.most, 1)]), places)

    def ahead(self, most: int | None = None) -> list[int]:
        """The next windows, as many as have been judged so far: few rounds, little waste.

        Not so many that the claim would have met more than `most`.
        """
        count = max(len(self.met), 1)
        if most is not None:
            count = min(count, most - len(self.met))
        return list(islice(self.left, max(count, 0)))

    def meet(self, window: int, support: float, silent: bool) -> None:
        """Take down what a window is worth; where it is silent, so are those inside it."""
        self.met.append(window)
        self.left.pop(window, None)
        self.support = max(self.support, support)
        if silent:
            document, start, end = self.places[window]
            for other in tuple(self.left):
                there, begin, stop = self.places[other]
                if there == document and start <= begin and stop <= end:
                    del self.left[other]


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
        claims = [c for c, course in enumerate(self.courses) if course.met or course.left]
        if rule is None:
            return [(claim, window) for claim in claims for window in self.courses[claim].left]
        wanted = [
            (claim, window)
            for claim in claims
            if self.courses[claim].support <= rule.line
            for window in self.courses[claim].ahead()
        ]
        if wanted or not claims:
            return wanted
        worst = min(claims, key=lambda claim: self.courses[claim].support)
        course = self.courses[worst]
        if course.support <= rule.line or course.support >= 1.0 - rule.epsilon:
            return []
        return [(worst, window) for window in course.ahead(rule.glances)]

    def tell(self, claim: int, window: int, judged: Probabilities) -> None:
        """What was said of a window that the claim was to meet."""
        rule, course = self._rule, self.courses[claim]
        if rule is None:
            course.meet(window, 0.0, False)
        else:
            support = rule.support(judged)
            course.meet(window, support, rule.says_nothing(support, judged.contradiction))
