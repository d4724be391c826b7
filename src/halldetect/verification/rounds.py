"""Judging claims against windows, in rounds that are batched across responses (Phase III)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from halldetect.claims import Claim
from halldetect.protocols import Verifier
from halldetect.reading.overlap import WordIndex
from halldetect.report import Probabilities
from halldetect.verification.scales import Window
from halldetect.verification.schedule import (
    ClaimSchedule,
    Rule,
    Schedule,
    StoppingRule,
    WholeSourceRule,
)
from halldetect.verification.tasks import FittedTask, Task
from halldetect.verification.tokens import token_verifier

# How many pairs, and how many tokens, are given to the verifier at a time: progress is shown and a
# check can be stopped or interrupted after each, about every second on two cores. A verifier that
# needs more to be fast has `pairs_at_once`.
PAIRS_AT_ONCE = 64
TOKENS_AT_ONCE = 1024

Answers = dict[tuple[str, str], Probabilities]


@dataclass(frozen=True, slots=True)
class JudgedClaim:
    """One claim and the verifier's answers for it.

    claim          the claim
    windows        those it was judged against
    probabilities  the answer for each
    tokens         read for it
    reason         why there are no windows
    skipped        how many windows it was not judged against
    scales         of all its windows, skipped ones too
    deciding_scale the windows of this scale give support and contradiction; None: all of them
    """

    claim: Claim
    windows: tuple[Window, ...]
    probabilities: tuple[Probabilities, ...]
    tokens: int = 0
    reason: str | None = None
    skipped: int = 0
    scales: tuple[int, ...] = ()
    deciding_scale: int | None = None


def verify(
    verifier: Verifier,
    tasks: Sequence[Task],
    progress: Callable[[int, int], None] | None = None,
    *,
    truncate: bool = False,
    rule: Rule | None = None,
    settled: Callable[[int, int, JudgedClaim], None] | None = None,
) -> list[list[JudgedClaim]]:
    """Judge the claims of each task against its windows, batching across all tasks.

    verifier  judges the pairs
    tasks     claims and windows
    progress  is called with the tokens judged and those that are expected in all
    truncate  cut off a window that is too long to be read beside a claim, as the paper does;
              otherwise it is divided and all its parts are windows
    rule      which windows a claim needs; None judges every claim against every window
    settled   is called with task, claim and outcome when a claim needs no more windows, and
              again if it is taken up again
    """
    runs = [_TaskRun(FittedTask(verifier, task, truncate), rule) for task in tasks]
    answers: Answers = {}
    forecast = _Forecast(runs, progress)
    while pairs := {pair.texts: pair for run in runs for pair in run.next_round()}:
        # Identical pairs (repeated sources in a batch) are judged once. Pairs of similar length
        # stand together, so that a verifier that pads has little to pad.
        new = [pair for texts, pair in pairs.items() if texts not in answers]
        # For one that reads a window once for all its claims, pairs of one window do.
        if isinstance(rule, WholeSourceRule):
            new.sort(key=lambda pair: pair.texts)
        else:
            new.sort(key=lambda pair: (-pair.size, pair.texts))
        for batch in _batches(new, getattr(verifier, "pairs_at_once", None)):
            judged = _judge(verifier, batch)
            answers.update(zip((pair.texts for pair in batch), judged, strict=True))
            forecast.advance(sum(pair.size for pair in batch))
        for index, run in enumerate(runs):
            run.record(answers)
            if settled is not None:
                for claim, outcome in run.newly_settled(answers):
                    settled(index, claim, outcome)
        forecast.end_round()
    forecast.end()
    return [run.results(answers) for run in runs]


def _batches(pairs: Sequence[_Pair], pairs_at_once: int | None) -> Iterator[list[_Pair]]:
    """The pairs in the order given, as many at a time as the verifier should get."""
    batch: list[_Pair] = []
    tokens = 0
    for pair in pairs:
        if pairs_at_once is None:
            full = len(batch) == PAIRS_AT_ONCE or tokens + pair.size > TOKENS_AT_ONCE
        else:
            full = len(batch) == pairs_at_once
        if batch and full:
            yield batch
            batch, tokens = [], 0
        batch.append(pair)
        tokens += pair.size
    if batch:
        yield batch


class _Forecast:
    """How many tokens have been judged, and how many there will be in all.

    A claim that is not yet supported goes on to its last window; whether one that was not yet
    judged will be supported by its first window is taken from the others.

    runs      the tasks
    progress  is told tokens judged and tokens expected in all, whose share never falls
    """

    def __init__(
        self, runs: Sequence[_TaskRun], progress: Callable[[int, int], None] | None
    ) -> None:
        self._runs = runs
        self._progress = progress
        self._judged = 0
        self._expected = self._remaining()
        self._share = 0.0

    def advance(self, tokens: int) -> None:
        """More tokens were judged."""
        self._judged += tokens
        self._tell(max(self._expected, self._judged))

    def end_round(self) -> None:
        """The answers of a round are known: expect something else."""
        self._expected = self._judged + self._remaining()

    def end(self) -> None:
        """Nothing more is needed."""
        self._share = 0.0
        self._tell(self._judged)

    def _tell(self, expected: int) -> None:
        if self._progress is None:
            return
        if self._share:
            expected = min(expected, int(self._judged / self._share))
        expected = max(expected, self._judged)
        self._share = self._judged / expected if expected else 0.0
        self._progress(self._judged, expected)

    def _remaining(self) -> int:
        known = [supported for run in self._runs for supported in run.supported()]
        share = (1 + sum(known)) / (2 + len(known))
        return sum(run.remaining_tokens(share) for run in self._runs)


@dataclass(frozen=True, slots=True)
class _Pair:
    """The texts of a window and a claim, their tokens together, and where they come from."""

    texts: tuple[str, str]
    size: int
    task: FittedTask
    window: Window
    claim: int


def _judge(verifier: Verifier, pairs: Sequence[_Pair]) -> list[Probabilities]:
    by_tokens = token_verifier(verifier)
    if by_tokens is None:
        return verifier.judge([pair.texts for pair in pairs])
    return by_tokens.judge_tokens(
        [pair.task.pair_tokens(pair.window, pair.claim) for pair in pairs]
    )


class _TaskRun:
    """A task on its way through the rounds."""

    def __init__(self, fitted: FittedTask, rule: Rule | None) -> None:
        self.fitted = fitted
        self._claims = fitted.task.claims
        self._windows = [fitted.windows(claim) for claim in range(len(self._claims))]
        self._sizes = [fitted.sizes(claim) for claim in range(len(self._claims))]
        self._stopping = stopping = rule if isinstance(rule, StoppingRule) else None
        self._schedule = Schedule(self._claim_schedules(rule), stopping)
        self._reads_once = isinstance(rule, WholeSourceRule)
        self._round: list[tuple[int, int]] = []
        self._reported = [-1] * len(self._claims)

    def _claim_schedules(self, rule: Rule | None) -> list[ClaimSchedule]:
        if rule is None:
            return [ClaimSchedule.of_all(windows) for windows in self._windows]
        index = WordIndex(self.fitted.task.documents)
        schedules = []
        for claim, windows, sizes in zip(self._claims, self._windows, self._sizes, strict=True):
            spans = [(window.document, window.span) for window in windows]
            shares = index.shares(claim.hypothesis, spans)
            if isinstance(rule, WholeSourceRule):
                schedules.append(ClaimSchedule.whole_first(windows, shares, sizes, rule))
            else:
                schedules.append(ClaimSchedule.by_overlap(windows, shares, sizes, rule))
        return schedules

    def next_round(self) -> Iterator[_Pair]:
        """The pairs to judge now."""
        self._round = self._schedule.next_pairs()
        for claim, index in self._round:
            window = self._windows[claim][index]
            texts = (window.text, self._claims[claim].hypothesis)
            yield _Pair(texts, self._sizes[claim][index], self.fitted, window, claim)

    def record(self, answers: Answers) -> None:
        """Take the answers of the round."""
        for claim, index in self._round:
            texts = (self._windows[claim][index].text, self._claims[claim].hypothesis)
            self._schedule.record(claim, index, answers[texts])

    def supported(self) -> list[bool]:
        """Of each claim that was judged, whether it is supported."""
        if self._stopping is None:
            return []
        least = self._stopping.supported_above
        return [claim.support > least for claim in self._schedule.claims if claim.judged]

    def remaining_tokens(self, share_supported: float) -> int:
        """The tokens that will probably still be judged.

        share_supported  of the claims that were not judged yet, how many their first window will
                         support
        """
        rule, tokens = self._stopping, 0.0
        for claim, sizes in zip(self._schedule.claims, self._sizes, strict=True):
            left = [sizes[window] for window in claim.remaining]
            if rule is None:
                tokens += sum(left)
            elif claim.judged:
                likely = rule.likely_windows(claim) if self._schedule.goes_on(claim) else 0
                tokens += sum(left[:likely])
            else:
                further = sum(left[1 : rule.likely_windows(claim)])
                tokens += sum(left[:1]) + (1.0 - share_supported) * further
        return round(tokens)

    def newly_settled(self, answers: Answers) -> Iterator[tuple[int, JudgedClaim]]:
        """The claims that the next round does not include, whenever they have new answers."""
        going_on = {claim for claim, _ in self._schedule.next_pairs()}
        for claim, schedule in enumerate(self._schedule.claims):
            if claim not in going_on and len(schedule.judged) > self._reported[claim]:
                self._reported[claim] = len(schedule.judged)
                yield claim, self._result(claim, answers)

    def results(self, answers: Answers) -> list[JudgedClaim]:
        """The outcome of every claim."""
        outcomes = [self._result(claim, answers) for claim in range(len(self._claims))]
        return self._counted_once(outcomes) if self._reads_once else outcomes

    def _counted_once(self, outcomes: Sequence[JudgedClaim]) -> list[JudgedClaim]:
        """The tokens of a window are read for the first claim it is judged with, not again."""
        read: set[Window] = set()
        counted = []
        for index, outcome in enumerate(outcomes):
            again = sum(
                size - self.fitted.claim_tokens[index]
                for window, size in zip(self._windows[index], self._sizes[index], strict=True)
                if window in outcome.windows and window in read
            )
            read.update(outcome.windows)
            counted.append(replace(outcome, tokens=outcome.tokens - again))
        return counted

    def _result(self, index: int, answers: Answers) -> JudgedClaim:
        claim, tokens = self._claims[index], self.fitted.claim_tokens[index]
        problem = self.fitted.problems[index]
        if problem is not None:
            return JudgedClaim(claim, (), (), reason=problem)
        if tokens > self.fitted.longest_claim:
            limit = self.fitted.longest_claim
            reason = f"the claim has {tokens} tokens; the verifier reads {limit}"
            return JudgedClaim(claim, (), (), reason=reason)
        judged = sorted(self._schedule.claims[index].judged)
        windows = tuple(self._windows[index][window] for window in judged)
        scales = tuple(sorted({m for window in self._windows[index] for m in window.scales}))
        return JudgedClaim(
            claim,
            windows,
            tuple(answers[window.text, claim.hypothesis] for window in windows),
            sum(self._sizes[index][window] for window in judged),
            skipped=len(self._windows[index]) - len(judged),
            scales=scales,
            deciding_scale=scales[0] if self._reads_once and scales else None,
        )
