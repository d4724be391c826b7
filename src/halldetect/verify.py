"""Which pairs to judge, in which order and batches (Phase III)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from halldetect.chunks import Window
from halldetect.claims import Claim
from halldetect.planner import Course, Planner, Rule
from halldetect.promise import Promise
from halldetect.report import Probabilities
from halldetect.text import Span
from halldetect.verifiers import Verifier

# The room a claim takes is counted in steps, so that a window is divided in few ways only
# and the division of one claim never depends on the other claims of the batch.
CLAIM_STEP = 64
# A claim may take at most this share of what the verifier reads; the rest is the window's.
CLAIM_SHARE = 0.5
# So many pairs at a time go to the verifier: often enough for a person who waits.
STEP = 64


@dataclass(frozen=True, slots=True)
class Judged:
    """One claim against every window it met. `reason` says why it met none.

    `skipped` counts the windows it did not need to meet.
    """

    claim: Claim
    windows: tuple[Window, ...]
    probabilities: tuple[Probabilities, ...]
    tokens: int = 0
    reason: str | None = None
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Task:
    """The claims of one response and the windows of its source."""

    claims: tuple[Claim, ...]
    windows: tuple[Window, ...]
    documents: tuple[str, ...]


def verify(
    verifier: Verifier,
    tasks: Sequence[Task],
    progress: Callable[[int, int], None] | None = None,
    *,
    truncate: bool = False,
    rule: Rule | None = None,
) -> list[list[Judged]]:
    """Judge the claims against the windows, batching across all tasks.

    Every claim meets every window, or with a rule as many as the rule asks for. A window too
    long to be read beside a claim is divided and all its parts count as windows; with
    `truncate` only its beginning does, as in the paper.
    """
    plans = [_Plan(verifier, task, truncate, rule) for task in tasks]
    grid = len({pair for plan in plans for pair in plan.grid()})
    answers: dict[tuple[str, str], Probabilities] = {}
    while wanted := {pair: size for plan in plans for pair, size in plan.wanted()}:
        # Identical pairs (repeated sources in a batch) are judged once. Pairs of like length
        # stand together, so that a verifier that pads has little to pad.
        ordered = sorted(wanted.keys() - answers.keys(), key=lambda pair: (-wanted[pair], pair))
        for start in range(0, len(ordered), STEP):
            part = ordered[start : start + STEP]
            answers.update(zip(part, verifier.judge(part), strict=True))
            if progress is not None:
                progress(len(answers), grid)
        for plan in plans:
            plan.take(answers)
    if progress is not None and len(answers) < grid:  # the rest was not needed
        progress(grid, grid)
    return [plan.results(answers) for plan in plans]


class _Plan:
    """The windows each claim of a task is judged against, divided to fit beside it."""

    def __init__(self, verifier: Verifier, task: Task, truncate: bool, rule: Rule | None) -> None:
        self.task = task
        self.truncate = truncate
        self.limit = int(verifier.max_tokens * CLAIM_SHARE)
        self.claim_tokens = verifier.count_tokens([claim.text for claim in task.claims])
        self.divided: dict[int, tuple[Window, ...]] = {}
        self.window_tokens: dict[str, int] = {}
        texts = [window.text for window in task.windows]
        self.window_tokens.update(zip(texts, verifier.count_tokens(texts), strict=True))
        for tokens in self.claim_tokens:
            if tokens <= self.limit and self._room(verifier, tokens) not in self.divided:
                room = self._room(verifier, tokens)
                self.divided[room] = self._divide(verifier, room)
        self.rooms = [
            self._room(verifier, tokens) if tokens <= self.limit else None
            for tokens in self.claim_tokens
        ]
        self.windows = [() if room is None else self.divided[room] for room in self.rooms]
        self.planner = Planner(self._courses(rule), rule)
        self.round: list[tuple[int, int]] = []

    def _courses(self, rule: Rule | None) -> list[Course]:
        if rule is None:
            return [Course.whole(len(windows)) for windows in self.windows]
        promise = Promise(self.task.documents, self.task.windows)
        return [
            Course.promising(
                promise.of(claim.text, windows),
                [self.window_tokens[window.text] + tokens for window in windows],
                rule,
            )
            for claim, tokens, windows in zip(
                self.task.claims, self.claim_tokens, self.windows, strict=True
            )
        ]

    def _room(self, verifier: Verifier, claim_tokens: int) -> int:
        if self.truncate:
            return verifier.max_tokens - claim_tokens
        steps = -(-max(claim_tokens, 1) // CLAIM_STEP)
        return verifier.max_tokens - min(steps * CLAIM_STEP, self.limit)

    def _divide(self, verifier: Verifier, room: int) -> tuple[Window, ...]:
        parts: list[Window] = []
        for window in self.task.windows:
            if self.window_tokens[window.text] <= room:
                parts.append(window)
            elif self.truncate:
                parts.append(_beginning(verifier, window, room))
            else:
                parts.extend(self._fit(verifier, window, room))
        merged: dict[tuple[int, Span], Window] = {}
        for part in parts:
            key = (part.document, part.span)
            if key in merged:
                scales = tuple(sorted({*merged[key].scales, *part.scales}))
                part = Window(part.text, part.document, part.span, scales, part.sentences)
            merged[key] = part
        for part, tokens in zip(
            merged.values(), verifier.count_tokens([p.text for p in merged.values()]), strict=True
        ):
            self.window_tokens[part.text] = tokens
        return tuple(merged.values())

    def _fit(self, verifier: Verifier, window: Window, room: int) -> list[Window]:
        """The window in parts of whole sentences that fit; a longer sentence is cut at spaces."""
        document = self.task.documents[window.document]
        spans: list[Span] = []
        counts = verifier.count_tokens([span.cut(document) for span in window.sentences])
        for sentence, tokens in zip(window.sentences, counts, strict=True):
            if tokens > room:
                spans.extend(_pieces(verifier, document, sentence, room))
            else:
                spans.append(sentence)
        parts: list[list[Span]] = []
        size = 0
        for span, tokens in zip(
            spans, verifier.count_tokens([span.cut(document) for span in spans]), strict=True
        ):
            if not parts or size + tokens > room:
                parts.append([])
                size = 0
            parts[-1].append(span)
            size += tokens
        return [
            Window(span.cut(document), window.document, span, window.scales, tuple(part))
            for group in parts
            for part in _halves(verifier, document, group, room)
            for span in [Span(part[0].start, part[-1].end)]
        ]

    def _pair(self, claim: int, window: int) -> tuple[str, str]:
        return self.windows[claim][window].text, self.task.claims[claim].text

    def grid(self) -> Iterator[tuple[str, str]]:
        """Every pair of texts there is."""
        for claim, windows in enumerate(self.windows):
            for window in range(len(windows)):
                yield self._pair(claim, window)

    def wanted(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Each pair of texts to judge now, and its size."""
        self.round = self.planner.next()
        for claim, window in self.round:
            pair = self._pair(claim, window)
            yield pair, self.window_tokens[pair[0]] + self.claim_tokens[claim]

    def take(self, answers: dict[tuple[str, str], Probabilities]) -> None:
        for claim, window in self.round:
            self.planner.tell(claim, answers[self._pair(claim, window)])

    def results(self, answers: dict[tuple[str, str], Probabilities]) -> list[Judged]:
        results = []
        for at, (claim, tokens) in enumerate(zip(self.task.claims, self.claim_tokens, strict=True)):
            if self.rooms[at] is None:
                reason = f"the claim has {tokens} tokens; the verifier reads {self.limit}"
                results.append(Judged(claim, (), (), reason=reason))
                continue
            course = self.planner.courses[at]
            windows = tuple(self.windows[at][met] for met in sorted(course.order[: course.done]))
            probabilities = tuple(answers[window.text, claim.text] for window in windows)
            total = sum(self.window_tokens[window.text] + tokens for window in windows)
            skipped = len(course.order) - course.done
            results.append(Judged(claim, windows, probabilities, total, skipped=skipped))
        return results


def _halves(verifier: Verifier, document: str, part: list[Span], room: int) -> list[list[Span]]:
    """The part, or its halves: what lies between two sentences may cost tokens of its own."""
    text = document[part[0].start : part[-1].end]
    if len(part) == 1 or verifier.count_tokens([text])[0] <= room:
        return [part]
    middle = len(part) // 2
    return [
        *_halves(verifier, document, part[:middle], room),
        *_halves(verifier, document, part[middle:], room),
    ]


def _pieces(verifier: Verifier, document: str, sentence: Span, room: int) -> list[Span]:
    """Halve a sentence at the space nearest its middle until every piece fits."""
    if verifier.count_tokens([sentence.cut(document)])[0] <= room or len(sentence) < 2:
        return [sentence]
    middle = (sentence.start + sentence.end) // 2
    before = document.rfind(" ", sentence.start + 1, middle)
    after = document.find(" ", middle, sentence.end - 1)
    candidates = [place for place in (before, after) if place > 0]
    place = min(candidates, key=lambda at: abs(at - middle)) if candidates else middle
    left, right = Span(sentence.start, place), Span(place, sentence.end)
    while right.start < right.end - 1 and document[right.start].isspace():
        right = Span(right.start + 1, right.end)
    return [
        *_pieces(verifier, document, left, room),
        *_pieces(verifier, document, right, room),
    ]


def _beginning(verifier: Verifier, window: Window, room: int) -> Window:
    """As much of the beginning of a window as fits."""
    fits, over = 0, 16
    while over < len(window.text) and verifier.count_tokens([window.text[:over]])[0] <= room:
        fits, over = over, 2 * over
    over = min(over, len(window.text))
    while over - fits > 1:
        middle = (fits + over) // 2
        if verifier.count_tokens([window.text[:middle]])[0] <= room:
            fits = middle
        else:
            over = middle
    end = window.span.start + len(window.text[:fits].rstrip())
    kept = tuple(
        Span(span.start, min(span.end, end)) for span in window.sentences if span.start < end
    )
    return Window(
        window.text[: end - window.span.start],
        window.document,
        Span(window.span.start, end),
        window.scales,
        kept,
    )
