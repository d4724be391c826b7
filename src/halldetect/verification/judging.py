"""Judge statements against the windows of their source, batched across responses.

A statement meets one window after the other, until one supports it clearly: the sentence that
shares most of its words, the best run of three sentences, the best pages. A verifier that reads a
source once for all statements gets every page at once. The numbers below lose nothing measurable
against judging many more windows (`benchmarks/results/method_gate.json`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from halldetect.protocols import Verifier
from halldetect.reading.document import Document, Span
from halldetect.reading.overlap import WordIndex
from halldetect.report import Probabilities
from halldetect.verification.tokens import SourceTokens, token_verifier
from halldetect.verification.windows import Window, cut_pages, short_spans

# A statement meets the best short window of each of these sizes, in sentences, and this number of
# pages: those that share most of its words; short windows are ranked relative to their length.
SHORT_SIZES, PAGES = (1, 3), 2
# The exponent of a window's length in its rank: twice the overlap is worth four times the tokens.
LENGTH_EXPONENT = 0.5
# A statement may take at most this share of the verifier's limit. Its size is rounded up to steps,
# so that its pages never depend on the other statements of a batch.
STATEMENT_SHARE, STATEMENT_STEP = 0.5, 64
# Pairs and tokens per call of the verifier: about a second on two cores, after which progress is
# shown and a check can be interrupted. A verifier may ask for more with `pairs_at_once`.
PAIRS_AT_ONCE, TOKENS_AT_ONCE = 16, 1024

# Returns True if an answer is clear enough to skip all other windows of a statement.
Enough = Callable[[Probabilities], bool]
Advance = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Task:
    """Statements about one source, and its documents."""

    statements: tuple[str, ...]
    documents: tuple[Document, ...]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verifier's answers for one statement.

    Attributes:
        windows: The windows it was judged against.
        probabilities: The answer for each.
        tokens: The tokens that were read for it.
        skipped: The number of windows that were skipped.
        reason: The reason for an empty result.
        pages_decide: True if short windows only show the passage.
    """

    windows: tuple[Window, ...] = ()
    probabilities: tuple[Probabilities, ...] = ()
    tokens: int = 0
    skipped: int = 0
    reason: str | None = None
    pages_decide: bool = False

    @property
    def deciding(self) -> list[tuple[Window, Probabilities]]:
        """Return the windows that decide, with their answers."""
        answered = zip(self.windows, self.probabilities, strict=True)
        return [item for item in answered if item[0].page or not self.pages_decide]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A window and a statement of a fitted task, with their tokens together."""

    fitted: _FittedTask
    at: int
    window: Window
    size: int

    @property
    def texts(self) -> tuple[str, str]:
        return self.window.text, self.fitted.task.statements[self.at]


def verify(
    verifier: Verifier,
    tasks: Sequence[Task],
    enough: Enough | None = None,
    progress: Advance | None = None,
    settled: Callable[[int, int, Judgement], None] | None = None,
) -> list[list[Judgement]]:
    """Judge the statements of each task.

    Args:
        verifier: Judges the pairs.
        tasks: Statements and sources.
        enough: Tells when a statement needs no more windows; None: judge all of them.
        progress: Receives the tokens judged and the expected total; the ratio never falls.
        settled: Receives task, statement and outcome once a statement needs no more windows.
    """
    whole = bool(getattr(verifier, "reads_whole_sources", False))
    runs = [_Run(_FittedTask(verifier, task, whole), None if whole else enough) for task in tasks]
    answers: dict[tuple[str, str], Probabilities] = {}
    judged = 0
    while pairs := {pair.texts: pair for run in runs for pair in run.next_pairs()}:
        expected = judged + sum(run.remaining_tokens() for run in runs)
        # Identical pairs are judged once. Pairs of similar length need little padding; a verifier
        # that reads a window once wants its statements together.
        new = [pair for texts, pair in pairs.items() if texts not in answers]
        new.sort(key=lambda pair: pair.texts if whole else (-pair.size, pair.texts))
        for batch in _batches(new, getattr(verifier, "pairs_at_once", None)):
            found = _judge(verifier, batch)
            answers.update(zip((pair.texts for pair in batch), found, strict=True))
            judged += sum(pair.size for pair in batch)
            if progress is not None:
                progress(judged, max(expected, judged))
        for task, run in enumerate(runs):
            for at in run.record(answers):
                if settled is not None:
                    settled(task, at, run.judgement(at))
    if progress is not None and judged:
        progress(judged, judged)
    return [run.results() for run in runs]


def _batches(pairs: Sequence[_Pair], pairs_at_once: int | None) -> Iterator[list[_Pair]]:
    """Yield the pairs in the order given, in batches for the verifier."""
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


def _judge(verifier: Verifier, pairs: Sequence[_Pair]) -> list[Probabilities]:
    by_tokens = token_verifier(verifier)
    if by_tokens is None:
        return verifier.judge([pair.texts for pair in pairs])
    return by_tokens.judge_tokens([pair.fitted.pair_tokens(pair.at, pair.window) for pair in pairs])


class _FittedTask:
    """A task with its windows fitted to the verifier's limit beside each statement."""

    def __init__(self, verifier: Verifier, task: Task, whole: bool) -> None:
        self.task = task
        self.whole = whole
        self._verifier = verifier
        self._longest = int(verifier.max_tokens * STATEMENT_SHARE)
        by_tokens = token_verifier(verifier)
        if by_tokens is None:
            self._ids: list[tuple[int, ...]] = []
            self.sizes = verifier.count_tokens(task.statements)
        else:
            self._ids = by_tokens.tokenize(task.statements)
            self.sizes = [len(ids) for ids in self._ids]
        self.reasons = [self._reason(at) for at in range(len(task.statements))]
        self._tokens = SourceTokens(verifier, task.documents)
        self._index = WordIndex(task.documents)
        self._pages: dict[int, list[tuple[Window, int]]] = {}
        self._short = [
            self._windows((short_spans(document, size) for document in task.documents), page=False)
            for size in SHORT_SIZES
        ]

    def _reason(self, at: int) -> str | None:
        """Return why a statement cannot be judged; None if it can."""
        if self.sizes[at] > self._longest:
            return f"the claim has {self.sizes[at]} tokens; the verifier reads {self._longest}"
        # A word without tokens would be ignored.
        unknown_words = getattr(self._verifier, "unknown_words", None)
        unknown = [] if unknown_words is None else unknown_words(self.task.statements[at])
        if not unknown:
            return None
        shown = ", ".join(repr(word[:40]) for word in dict.fromkeys(unknown[:3]))
        return f"the verifier cannot read {shown}"

    def _windows(self, spans: Iterable[Sequence[Span]], *, page: bool) -> list[tuple[Window, int]]:
        """Return a window, and its tokens, for each span of each document."""
        found = []
        for index, (document, parts) in enumerate(zip(self.task.documents, spans, strict=True)):
            counts = self._tokens.count(index, parts)
            found += [
                (Window(document.readable(span), index, span, page), count)
                for span, count in zip(parts, counts, strict=True)
            ]
        return found

    def _room(self, at: int) -> int:
        steps = -(-max(self.sizes[at], 1) // STATEMENT_STEP)
        return self._verifier.max_tokens - min(steps * STATEMENT_STEP, self._longest)

    def plan(self, at: int) -> tuple[list[tuple[Window, int]], int]:
        """Return the windows of a statement with their tokens, and the number of skipped pages."""
        room, statement = self._room(at), self.task.statements[at]
        if room not in self._pages:
            spans = (
                cut_pages(self._tokens, index, document, room, overlap=self.whole)
                for index, document in enumerate(self.task.documents)
            )
            self._pages[room] = self._windows(spans, page=True)
        pages = self._pages[room]

        def ranked(windows: list[tuple[Window, int]], exponent: float) -> list[tuple[Window, int]]:
            places = [(window.document, window.span) for window, _ in windows]
            shares = self._index.shares(statement, places)
            sizes = [max(tokens + self.sizes[at], 1) for _, tokens in windows]
            order = sorted(
                range(len(windows)),
                key=lambda number: (-shares[number] / math.pow(sizes[number], exponent), number),
            )
            return [windows[number] for number in order]

        kept = ranked(pages, 0.0)[: None if self.whole else PAGES]
        chosen = {(window.document, window.span): (window, tokens) for window, tokens in kept}
        short: dict[tuple[int, Span], tuple[Window, int]] = {}
        for windows in self._short:
            fitting = [item for item in windows if item[1] <= room]
            for window, tokens in ranked(fitting, LENGTH_EXPONENT)[:1]:
                short.setdefault((window.document, window.span), (window, tokens))
        # A page with the same span as a short window counts as a page.
        return list((short | chosen).values()), len(pages) - len(kept)

    def pair_tokens(self, at: int, window: Window) -> tuple[Sequence[int], Sequence[int]]:
        """Return the tokens of a window and of a statement."""
        ids = self._tokens.tokens(window.document, window.span)
        if ids is None:
            by_tokens = token_verifier(self._verifier)
            assert by_tokens is not None
            (ids,) = by_tokens.tokenize([window.text])
        return ids, self._ids[at]


class _Run:
    """The statements of one task, from round to round."""

    def __init__(self, fitted: _FittedTask, enough: Enough | None) -> None:
        self._fitted = fitted
        self._enough = enough
        self._plans = [
            ([], 0) if reason is not None else fitted.plan(at)
            for at, reason in enumerate(fitted.reasons)
        ]
        self._judged: list[list[Probabilities]] = [[] for _ in self._plans]
        self._done = [not windows for windows, _ in self._plans]

    def next_pairs(self) -> Iterator[_Pair]:
        """Yield the pairs of the next round."""
        for at, (windows, _) in enumerate(self._plans):
            for window, size in self._next(at, windows):
                yield _Pair(self._fitted, at, window, size + self._fitted.sizes[at])

    def _next(self, at: int, windows: list[tuple[Window, int]]) -> list[tuple[Window, int]]:
        if self._done[at]:
            return []
        waiting = windows[len(self._judged[at]) :]
        return waiting if self._enough is None else waiting[:1]

    def remaining_tokens(self) -> int:
        """Return the tokens still to judge if no statement is settled early."""
        return sum(
            size + self._fitted.sizes[at]
            for at, (windows, _) in enumerate(self._plans)
            if not self._done[at]
            for _, size in windows[len(self._judged[at]) :]
        )

    def record(self, answers: dict[tuple[str, str], Probabilities]) -> list[int]:
        """Store the answers of a round; return the statements that are now settled."""
        settled = []
        for at, (windows, _) in enumerate(self._plans):
            if self._done[at]:
                continue
            statement = self._fitted.task.statements[at]
            found = [answers[window.text, statement] for window, _ in self._next(at, windows)]
            self._judged[at] += found
            enough = self._enough is not None and any(map(self._enough, found))
            if enough or len(self._judged[at]) == len(windows):
                self._done[at] = True
                settled.append(at)
        return settled

    def judgement(self, at: int) -> Judgement:
        """Return the outcome of a statement."""
        windows, skipped = self._plans[at]
        if not windows:
            return Judgement(reason=self._fitted.reasons[at])
        judged = windows[: len(self._judged[at])]
        size = self._fitted.sizes[at]
        return Judgement(
            tuple(window for window, _ in judged),
            tuple(self._judged[at]),
            tokens=sum(tokens + size for _, tokens in judged),
            skipped=skipped + len(windows) - len(judged),
            pages_decide=self._fitted.whole,
        )

    def results(self) -> list[Judgement]:
        """Return the outcome of every statement; count a window that is read once only once."""
        outcomes = list(map(self.judgement, range(len(self._plans))))
        if not self._fitted.whole:
            return outcomes
        read: set[Window] = set()
        for at, outcome in enumerate(outcomes):
            again = sum(tokens for window, tokens in self._plans[at][0] if window in read)
            read.update(outcome.windows)
            outcomes[at] = replace(outcome, tokens=outcome.tokens - again)
        return outcomes
