"""Which pairs to judge, in which order and batches (Phase III)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from halldetect.claims.extraction import Claim
from halldetect.protocols import TokenVerifier, Verifier
from halldetect.report import Probabilities
from halldetect.text.overlap import Promise
from halldetect.text.sentences import Span
from halldetect.verification.schedule import Course, Planner, Rule
from halldetect.windows.pages import beginning, divide
from halldetect.windows.scales import Window
from halldetect.windows.tokens import Reading, adds_up

# The room a claim takes is counted in steps, so that a window is divided in few ways only
# and the division of one claim never depends on the other claims of the batch.
CLAIM_STEP = 64
# A claim may take at most this share of what the verifier reads; the rest is the window's.
CLAIM_SHARE = 0.5
# So many pairs at a time go to the verifier: often enough for a person who waits. One that
# needs more to be fast says so with `pairs_at_once`.
STEP = 64

Answers = dict[tuple[str, str], Probabilities]


@dataclass(frozen=True, slots=True)
class Judged:
    """One claim against every window it met. `reason` says why it met none.

    `skipped` counts the windows it did not need to meet; `scales` are those of all.
    """

    claim: Claim
    windows: tuple[Window, ...]
    probabilities: tuple[Probabilities, ...]
    tokens: int = 0
    reason: str | None = None
    skipped: int = 0
    scales: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """The claims of one response and the windows of its source.

    `finer` asks for finer scales where the windows of a long source are all long.
    """

    claims: tuple[Claim, ...]
    windows: tuple[Window, ...]
    documents: tuple[str, ...]
    finer: bool = False


def verify(
    verifier: Verifier,
    tasks: Sequence[Task],
    progress: Callable[[int, int], None] | None = None,
    *,
    truncate: bool = False,
    rule: Rule | None = None,
    settled: Callable[[int, int, Judged], None] | None = None,
) -> list[list[Judged]]:
    """Judge the claims against the windows, batching across all tasks.

    Every claim meets every window, or with a rule as many as the rule asks for. A window too
    long to be read beside a claim is divided and all its parts count as windows; with
    `truncate` only its beginning does, as in the paper. `settled` is told task, claim and
    outcome of every claim that rests, again if it is taken up again.
    """
    plans = [_Plan(verifier, task, truncate, rule) for task in tasks]
    grid = sum({key: count for plan in plans for key, count in plan.grid()}.values())
    answers: Answers = {}
    step = int(getattr(verifier, "pairs_at_once", STEP))
    while wanted := {pair.texts: pair for plan in plans for pair in plan.wanted()}:
        # Identical pairs (repeated sources in a batch) are judged once. Pairs of like length
        # stand together, so that a verifier that pads has little to pad.
        new = [pair for texts, pair in wanted.items() if texts not in answers]
        new.sort(key=lambda pair: (-pair.size, pair.texts))
        for start in range(0, len(new), step):
            part = new[start : start + step]
            found = _judge(verifier, part)
            answers.update(zip((pair.texts for pair in part), found, strict=True))
            if progress is not None:
                progress(len(answers), max(grid, len(answers)))
        for plan in plans:
            plan.take(answers)
        if settled is not None:
            for task, plan in enumerate(plans):
                for claim, outcome in plan.rested(answers):
                    settled(task, claim, outcome)
    if progress is not None and len(answers) < grid:  # the rest was not needed
        progress(grid, grid)
    return [plan.results(answers) for plan in plans]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A window's and a claim's text, their size, and where their tokens are kept."""

    texts: tuple[str, str]
    size: int
    plan: _Plan
    window: Window
    claim: int


def _judge(verifier: Verifier, pairs: Sequence[_Pair]) -> list[Probabilities]:
    if isinstance(verifier, TokenVerifier) and adds_up(verifier):
        return verifier.judge_tokens([pair.plan.tokens(pair) for pair in pairs])
    return verifier.judge([pair.texts for pair in pairs])


class _Plan:
    """The windows each claim of a task is judged against, divided to fit beside it."""

    def __init__(self, verifier: Verifier, task: Task, truncate: bool, rule: Rule | None) -> None:
        self.task = task
        self.truncate = truncate
        self.verifier = verifier
        self.limit = int(verifier.max_tokens * CLAIM_SHARE)
        self.claim_ids: list[tuple[int, ...]] = []
        texts = [claim.text for claim in task.claims]
        if isinstance(verifier, TokenVerifier) and adds_up(verifier):
            self.claim_ids = verifier.tokenize(texts)
            self.claim_tokens = [len(ids) for ids in self.claim_ids]
        else:
            self.claim_tokens = verifier.count_tokens(texts)
        self.reading = Reading(verifier, task.documents, task.windows)
        self.divided: dict[int, tuple[Window, ...]] = {}
        self.sizes: dict[int, list[int]] = {}
        self.rooms = [
            self._room(tokens) if tokens <= self.limit else None for tokens in self.claim_tokens
        ]
        for room in dict.fromkeys(self.rooms):
            if room is not None:
                self.divided[room] = self._divide(room)
                self.sizes[room] = self._count(self.divided[room])
        self.windows = [() if room is None else self.divided[room] for room in self.rooms]
        self.planner = Planner(self._courses(rule), rule)
        self.round: list[tuple[int, int]] = []
        self.told = [-1] * len(task.claims)

    def _courses(self, rule: Rule | None) -> list[Course]:
        if rule is None:
            return [Course.whole(len(windows)) for windows in self.windows]
        promise = Promise(self.task.documents, self.task.windows)
        # Claims of the same room share their windows, and where these are.
        places = {
            room: [(window.document, window.span.start, window.span.end) for window in found]
            for room, found in self.divided.items()
        }
        return [
            Course.promising(
                promise.of(self.task.claims[at].text, windows),
                [self._size(at, window) for window in range(len(windows))],
                () if room is None else places[room],
                rule,
            )
            for at, (room, windows) in enumerate(zip(self.rooms, self.windows, strict=True))
        ]

    def _room(self, claim_tokens: int) -> int:
        most = self.verifier.max_tokens
        if self.truncate:
            return most - claim_tokens
        steps = -(-max(claim_tokens, 1) // CLAIM_STEP)
        return most - min(steps * CLAIM_STEP, self.limit)

    def _divide(self, room: int) -> tuple[Window, ...]:
        task = self.task
        if not self.truncate:
            return divide(task.windows, task.documents, self.reading, room, task.finer)
        counts = self._count(task.windows)
        merged: dict[tuple[int, Span], Window] = {}
        for window, tokens in zip(task.windows, counts, strict=True):
            part = window if tokens <= room else beginning(self.verifier, window, room)
            key = (part.document, part.span)
            if key in merged:
                scales = tuple(sorted({*merged[key].scales, *part.scales}))
                part = Window(part.text, part.document, part.span, scales, part.sentences)
            merged[key] = part
        return tuple(merged.values())

    def _count(self, windows: Sequence[Window]) -> list[int]:
        """The tokens of each window."""
        counts: dict[tuple[int, Span], int] = {}
        for document in range(len(self.task.documents)):
            spans = [window.span for window in windows if window.document == document]
            found = self.reading.count(document, spans)
            counts.update(((document, span), n) for span, n in zip(spans, found, strict=True))
        return [counts[window.document, window.span] for window in windows]

    def _size(self, claim: int, window: int) -> int:
        room = self.rooms[claim]
        return 0 if room is None else self.sizes[room][window] + self.claim_tokens[claim]

    def tokens(self, pair: _Pair) -> tuple[Sequence[int], Sequence[int]]:
        """Of the window and the claim."""
        assert isinstance(self.verifier, TokenVerifier)
        ids = self.reading.tokens(pair.window)
        if ids is None:
            (ids,) = self.verifier.tokenize([pair.window.text])
        return ids, self.claim_ids[pair.claim]

    def grid(self) -> Iterator[tuple[object, int]]:
        """How many pairs there are for each claim; equal claims on equal sources count once."""
        distinct = {room: len({w.text for w in found}) for room, found in self.divided.items()}
        for claim, room in zip(self.task.claims, self.rooms, strict=True):
            if room is not None:
                yield (claim.text, self.task.documents), distinct[room]

    def wanted(self) -> Iterator[_Pair]:
        """The pairs to judge now."""
        self.round = self.planner.next()
        for claim, at in self.round:
            window = self.windows[claim][at]
            texts = (window.text, self.task.claims[claim].text)
            yield _Pair(texts, self._size(claim, at), self, window, claim)

    def take(self, answers: Answers) -> None:
        for claim, window in self.round:
            texts = (self.windows[claim][window].text, self.task.claims[claim].text)
            self.planner.tell(claim, window, answers[texts])

    def rested(self, answers: Answers) -> Iterator[tuple[int, Judged]]:
        """The claims that the next round leaves alone, each when it has met more than before."""
        going_on = {claim for claim, _ in self.planner.next()}
        for at, course in enumerate(self.planner.courses):
            if at not in going_on and len(course.met) > self.told[at]:
                self.told[at] = len(course.met)
                yield at, self._result(at, answers)

    def results(self, answers: Answers) -> list[Judged]:
        return [self._result(at, answers) for at in range(len(self.task.claims))]

    def _result(self, at: int, answers: Answers) -> Judged:
        claim, tokens = self.task.claims[at], self.claim_tokens[at]
        if self.rooms[at] is None:
            reason = f"the claim has {tokens} tokens; the verifier reads {self.limit}"
            return Judged(claim, (), (), reason=reason)
        met = sorted(self.planner.courses[at].met)
        windows = tuple(self.windows[at][window] for window in met)
        return Judged(
            claim,
            windows,
            tuple(answers[window.text, claim.text] for window in windows),
            sum(self._size(at, window) for window in met),
            skipped=len(self.windows[at]) - len(met),
            scales=tuple(sorted({m for window in self.windows[at] for m in window.scales})),
        )
