"""Which windows each claim of a response is judged against, and when enough have been judged.

The support of a claim is the greatest over the windows, so the windows judged so far bound it
from below, and a response is as good as its worst claim. For any verifier this follows:

- A claim with more support than `supported_above` stays supported.
- No claim is called supported, and no response faithful, that judging everything would not.
- A claim with more support so far than one that was judged against every window is not the worst.

A claim goes on until it is supported, or until it is hopeless: what was judged says that no window
will support it. Then only the worst claim goes on, to its last window, because the verdict rests on
it; if it is supported after all, the next worst takes its place. So giving up changes no verdict
and moves no score by more than `min_gain`; it may change the state of a claim that is not the worst
of a flagged response.

If no window of an unsupported claim is skipped (`min_overlap` and `silent_below` 0, `max_windows`
not reached), the verdict is that of judging everything. What skipping windows and giving up
changes, and how far the score of a response that is not flagged is too high, is measured
(benchmarks/planner.py), not proven.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from halldetect.report import Probabilities
from halldetect.verification.scales import Window

# The exponents of a window's length in its rank, which is overlap / tokens^exponent. The first
# window is to settle the matter cheaply: twice the overlap is worth four times the tokens. If it
# does not, wide windows, which leave out nothing that the claim may rest on, come almost as early
# as short ones.
FIRST_EXPONENT, LATER_EXPONENT = 0.5, 0.2


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """When a claim need not be judged against further windows.

    support                what a window's probabilities are worth to the claim, from 0 to 1
    supported_above        a claim with more support is supported, and alone would not be flagged;
                           it needs no further windows unless it is the worst of its response
    min_gain               differences of support that do not matter: a supported claim that is the
                           worst stops when it can gain no more, and a hopeless one if another that
                           was judged to its end has no more than this above it
    max_windows_supported  or when it has been judged against so many windows
    min_overlap            windows are skipped whose overlap with the claim is less than this
                           share of the greatest overlap of any window
    silent_below           windows are skipped that lie inside one which gave less than this both
                           for and against the claim: a passage about something else
    max_windows            no claim is judged against more windows; only sources of many thousand
                           words have that many
    unrelated_below        a claim is hopeless if no window has this share of its words and those
                           judged were silent
    hopeless_below         a claim is hopeless, too, if it has less support than this
    hopeless_windows       after so many windows
    unclear                unless the greatest P(C) so far lies between these: whether the source
                           contradicts the claim is then to be found out
    """

    support: Callable[[Probabilities], float]
    supported_above: float = 0.5
    min_gain: float = 0.048
    max_windows_supported: int = 3
    min_overlap: float = 0.35
    silent_below: float = 0.05
    max_windows: int = 64
    unrelated_below: float = 0.5
    hopeless_below: float = 0.1
    hopeless_windows: int = 4
    unclear: tuple[float, float] = (0.3, 0.9)

    def is_silent(self, support: float, contradiction: float | None) -> bool:
        """Whether a window says nothing about the claim."""
        return max(support, contradiction or 0.0) < self.silent_below

    def is_hopeless(self, claim: ClaimSchedule) -> bool:
        """Whether a claim has to be judged further only if the verdict rests on it."""
        if not claim.judged or claim.support > self.supported_above:
            return False
        if claim.greatest_overlap < self.unrelated_below and self.is_silent(
            claim.support, claim.contradiction
        ):
            return True
        low, high = self.unclear
        return (
            len(claim.judged) >= self.hopeless_windows
            and claim.support < self.hopeless_below
            and not low <= claim.contradiction <= high
        )

    def likely_windows(self, claim: ClaimSchedule) -> int:
        """How many more windows a claim that is not supported will probably be judged against."""
        if not claim.judged:
            return 1 if claim.greatest_overlap < self.unrelated_below else self.hopeless_windows
        if claim.support < self.hopeless_below:
            return max(self.hopeless_windows - len(claim.judged), len(claim.judged))
        return len(claim.remaining)

    def to_dict(self) -> dict[str, float | list[float]]:
        """The numbers of the rule, for the report."""
        return {
            "supported_above": self.supported_above,
            "min_gain": self.min_gain,
            "max_windows_supported": self.max_windows_supported,
            "min_overlap": self.min_overlap,
            "silent_below": self.silent_below,
            "max_windows": self.max_windows,
            "unrelated_below": self.unrelated_below,
            "hopeless_below": self.hopeless_below,
            "hopeless_windows": self.hopeless_windows,
            "unclear": list(self.unclear),
        }


@dataclass(frozen=True, slots=True)
class WholeSourceRule:
    """For a verifier that reads a source once for all claims: the whole, and some short windows.

    Every claim is judged against the coarsest windows: whole documents, or their pages where a
    document is longer than the verifier reads. That alone gives support and contradiction: a short
    window often seems to say what it does not say in its context. But it gives no place, so each
    claim also meets the windows that share most of its words for their length.

    evidence_windows  how many of these
    """

    evidence_windows: int = 3

    def to_dict(self) -> dict[str, float]:
        """The numbers of the rule, for the report."""
        return {"evidence_windows": self.evidence_windows}


Rule = StoppingRule | WholeSourceRule


@dataclass(slots=True)
class ClaimSchedule:
    """The windows of one claim, by their index.

    remaining         those to judge, in their order
    windows           all of them, skipped ones too
    greatest_overlap  the share of the claim's words that the best window has
    judged            those that have been judged, in their order
    support           the greatest so far; -1 before the first
    contradiction     the greatest P(C) so far
    """

    remaining: dict[int, None]
    windows: Sequence[Window] = ()
    greatest_overlap: float = 1.0
    judged: list[int] = field(default_factory=list)
    support: float = -1.0
    contradiction: float = 0.0

    @classmethod
    def of_all(cls, windows: Sequence[Window]) -> ClaimSchedule:
        """Every window, in the order given."""
        return cls(dict.fromkeys(range(len(windows))), windows)

    @classmethod
    def by_overlap(
        cls,
        windows: Sequence[Window],
        overlap: Sequence[float],
        tokens: Sequence[int],
        rule: StoppingRule,
    ) -> ClaimSchedule:
        """Windows with many of the claim's words first, short ones before long ones.

        windows  that the claim can be judged against
        overlap  the share of the claim's words that each has
        tokens   the length of each
        rule     says which to skip
        """
        if not windows:
            return cls({})

        def rank(window: int, exponent: float) -> tuple[float, int]:
            return -overlap[window] / math.pow(max(tokens[window], 1), exponent), window

        least = rule.min_overlap * max(overlap)
        indices = range(len(windows))
        first = min(indices, key=lambda window: rank(window, FIRST_EXPONENT))
        others = sorted(
            (window for window in indices if window != first and overlap[window] >= least),
            key=lambda window: rank(window, LATER_EXPONENT),
        )
        chosen = (first, *others)[: max(rule.max_windows, 1)]
        return cls(dict.fromkeys(chosen), windows, max(overlap))

    @classmethod
    def whole_first(
        cls,
        windows: Sequence[Window],
        overlap: Sequence[float],
        tokens: Sequence[int],
        rule: WholeSourceRule,
    ) -> ClaimSchedule:
        """The coarsest windows, then the short ones with many of the claim's words.

        windows  that the claim can be judged against
        overlap  the share of the claim's words that each has
        tokens   the length of each
        rule     says how many of the short ones
        """
        if not windows:
            return cls({})
        coarsest = min(scale for window in windows for scale in window.scales)
        whole = [index for index, window in enumerate(windows) if coarsest in window.scales]
        others = sorted(
            set(range(len(windows))) - set(whole),
            key=lambda index: (
                -overlap[index] / math.pow(max(tokens[index], 1), FIRST_EXPONENT),
                index,
            ),
        )
        return cls(dict.fromkeys((*whole, *others[: rule.evidence_windows])), windows)

    def next_windows(self, limit: int | None = None) -> list[int]:
        """The windows to judge next: as many as have been judged so far, and at least one.

        So there are few rounds, and at most half of the windows are judged in vain. With a
        limit, not so many that more than `limit` would be judged in all.
        """
        count = max(len(self.judged), 1)
        if limit is not None:
            count = min(count, limit - len(self.judged))
        return list(islice(self.remaining, max(count, 0)))

    def record(
        self, window: int, support: float, contradiction: float | None, silent: bool
    ) -> None:
        """A window was judged; if it is silent, the windows inside it are skipped."""
        self.judged.append(window)
        self.remaining.pop(window, None)
        self.support = max(self.support, support)
        self.contradiction = max(self.contradiction, contradiction or 0.0)
        if not silent:
            return
        outer = self.windows[window]
        for other in tuple(self.remaining):
            inner = self.windows[other]
            if (
                inner.document == outer.document
                and outer.span.start <= inner.span.start
                and inner.span.end <= outer.span.end
            ):
                del self.remaining[other]


class Schedule:
    """The schedules of the claims of one response; nothing of other responses comes in.

    Without a rule every claim is judged against every window.
    """

    def __init__(self, claims: Sequence[ClaimSchedule], rule: StoppingRule | None) -> None:
        self.claims = claims
        self._rule = rule

    def next_pairs(self) -> list[tuple[int, int]]:
        """The pairs of claim and window to judge now; none when what is known is enough."""
        rule = self._rule
        with_windows = [
            index for index, claim in enumerate(self.claims) if claim.judged or claim.remaining
        ]
        if rule is None:
            return [
                (index, window) for index in with_windows for window in self.claims[index].remaining
            ]
        pairs = [
            (index, window)
            for index in with_windows
            if self.goes_on(self.claims[index])
            for window in self.claims[index].next_windows()
        ]
        if pairs or not with_windows:
            return pairs
        # Of several with the same support one that was judged to its end says that all fail.
        worst = min(
            with_windows, key=lambda at: (self.claims[at].support, bool(self.claims[at].remaining))
        )
        claim = self.claims[worst]
        if claim.support <= rule.supported_above:
            if self._is_surpassed(claim, rule):
                return []
            return [(worst, window) for window in claim.next_windows()]
        if claim.support >= 1.0 - rule.min_gain:
            return []
        return [(worst, window) for window in claim.next_windows(rule.max_windows_supported)]

    def goes_on(self, claim: ClaimSchedule) -> bool:
        """Whether a claim is judged further, be it the worst or not."""
        rule = self._rule
        if rule is None:
            return True
        return claim.support <= rule.supported_above and not rule.is_hopeless(claim)

    def _is_surpassed(self, worst: ClaimSchedule, rule: StoppingRule) -> bool:
        """Whether a claim that was judged to its end fails, and is hardly better than the worst."""
        most = min(worst.support + rule.min_gain, rule.supported_above)
        return any(
            claim.judged and not claim.remaining and claim.support <= most for claim in self.claims
        )

    def record(self, claim: int, window: int, probabilities: Probabilities) -> None:
        """A pair was judged."""
        rule, schedule = self._rule, self.claims[claim]
        if rule is None:
            schedule.record(window, 0.0, None, False)
        else:
            support = rule.support(probabilities)
            silent = rule.is_silent(support, probabilities.contradiction)
            schedule.record(window, support, probabilities.contradiction, silent)
