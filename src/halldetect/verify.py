"""Which pairs to judge, in which order and batches (Phase III)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from halldetect.chunks import Window
from halldetect.claims import Claim
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
    """One claim against every window it met. `reason` says why it met none."""

    claim: Claim
    windows: tuple[Window, ...]
    probabilities: tuple[Probabilities, ...]
    tokens: int = 0
    reason: str | None = None


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
) -> list[list[Judged]]:
    """Judge every claim against every window, batching across all tasks.

    A window too long to be read beside a claim is divided and all its parts are judged;
    with `truncate` only its beginning is, as in the paper.
    """
    plans = [_Plan(verifier, task, truncate) for task in tasks]
    # Identical pairs (repeated sources in a batch) are judged once. Pairs of like length stand
    # together, so that a verifier that pads has little to pad.
    sizes = {pair: size for plan in plans for pair, size in plan.pairs()}
    ordered = sorted(sizes, key=lambda pair: -sizes[pair])
    answers: dict[tuple[str, str], Probabilities] = {}
    for start in range(0, len(ordered), STEP):
        part = ordered[start : start + STEP]
        answers.update(zip(part, verifier.judge(part), strict=True))
        if progress is not None:
            progress(len(answers), len(ordered))
    return [plan.results(answers) for plan in plans]


class _Plan:
    """The windows each claim of a task is judged against, divided to fit beside it."""

    def __init__(self, verifier: Verifier, task: Task, truncate: bool) -> None:
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

    def pairs(self) -> Iterator[tuple[tuple[str, str], int]]:
        """Each pair of texts and its size."""
        for claim, room, tokens in zip(
            self.task.claims, self.rooms, self.claim_tokens, strict=True
        ):
            for window in () if room is None else self.divided[room]:
                yield (window.text, claim.text), self.window_tokens[window.text] + tokens

    def results(self, answers: dict[tuple[str, str], Probabilities]) -> list[Judged]:
        results = []
        for claim, room, tokens in zip(
            self.task.claims, self.rooms, self.claim_tokens, strict=True
        ):
            if room is None:
                reason = f"the claim has {tokens} tokens; the verifier reads {self.limit}"
                results.append(Judged(claim, (), (), reason=reason))
                continue
            windows = self.divided[room]
            probabilities = tuple(answers[window.text, claim.text] for window in windows)
            total = sum(self.window_tokens[window.text] + tokens for window in windows)
            results.append(Judged(claim, windows, probabilities, total))
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
