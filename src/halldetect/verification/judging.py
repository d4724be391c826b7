"""Judge statements against the windows of their source, batched across responses.

A statement meets one window after the other, until one supports it clearly: the sentence that
shares most of its words, the best run of three sentences, the best pages, then the best runs of
two and of three documents together. A verifier that reads a source once for all statements gets
every page at once, with as many documents on a page as fit. A statement that the source makes word
for word needs no verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from halldetect.protocols import Verifier
from halldetect.report import Probabilities
from halldetect.verification.planning import FittedTask, Kind, Task
from halldetect.verification.windows import Window

# The answer for a statement that the source makes word for word.
COPIED = Probabilities(1.0, 0.0, None)
# Pairs and tokens per call of the verifier: about a second on two cores, after which progress is
# shown and a check can be interrupted. A verifier may ask for more with `pairs_at_once`.
PAIRS_AT_ONCE, TOKENS_AT_ONCE = 16, 1024

# Returns True if an answer is clear enough to skip all other windows of a statement.
Enough = Callable[[Probabilities], bool]
Advance = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verifier's answers for one statement.

    Attributes:
        windows: The windows it was judged against.
        probabilities: The answer for each.
        tokens: The tokens that were read for it.
        skipped: The number of windows that were skipped.
        reason: The reason for an empty result.
    """

    windows: tuple[Window, ...] = ()
    probabilities: tuple[Probabilities, ...] = ()
    tokens: int = 0
    skipped: int = 0
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class _Pair:
    """A window and a statement of a fitted task, with their tokens together."""

    fitted: FittedTask
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
    kind: Kind | None = None,
) -> list[list[Judgement]]:
    """Judge the statements of each task.

    Args:
        verifier: Judges the pairs.
        tasks: Statements and sources.
        enough: Tells when a statement needs no more windows; None: judge all of them.
        progress: Receives the tokens judged and the expected total; the ratio never falls.
        settled: Receives task, statement and outcome once a statement needs no more windows.
        kind: The windows to judge; by default those that the verifier prefers.
    """
    if kind is None:
        kind = Kind.WHOLE if getattr(verifier, "reads_whole_sources", False) else Kind.ANY
    whole = kind is Kind.WHOLE
    runs = [_Run(FittedTask(verifier, task, kind), None if whole else enough) for task in tasks]
    answers: dict[tuple[str, str], Probabilities] = {}
    judged = 0
    while not all(run.done for run in runs):
        pairs = {pair.texts: pair for run in runs for pair in run.next_pairs()}
        expected = judged + sum(run.remaining_tokens() for run in runs)
        # Identical pairs are judged once. Pairs of similar length need little padding; a verifier
        # that reads a window once wants its statements together.
        new = [pair for texts, pair in pairs.items() if texts not in answers]
        new.sort(key=lambda pair: pair.texts if whole else (-pair.size, pair.texts))
        for batch in _batches(new, getattr(verifier, "pairs_at_once", None)):
            texts = [pair.texts for pair in batch]
            answers.update(zip(texts, verifier.judge(texts), strict=True))
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


class _Run:
    """The statements of one task, from round to round."""

    def __init__(self, fitted: FittedTask, enough: Enough | None) -> None:
        self._fitted = fitted
        self._enough = enough
        self._judged: list[list[Probabilities]] = [[] for _ in fitted.reasons]
        self._plans = [self._plan(at) for at in range(len(self._judged))]
        self._done = [not windows for windows, _ in self._plans]

    def _plan(self, at: int) -> tuple[list[tuple[Window, int]], int]:
        """Return the windows of a statement; the only window of a copy has its answer already."""
        if self._fitted.reasons[at] is not None:
            return [], 0
        copy = self._fitted.copy(at)
        if copy is None:
            return self._fitted.plan(at)
        self._judged[at] = [COPIED]
        return [(copy, 0)], 0

    @property
    def done(self) -> bool:
        """Return True if every statement is settled."""
        return all(self._done)

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
            # A copy was not read by the verifier.
            tokens=sum(tokens + size for _, tokens in judged if tokens),
            skipped=skipped + len(windows) - len(judged),
        )

    def results(self) -> list[Judgement]:
        """Return the outcome of every statement; count a window that is read once only once."""
        outcomes = list(map(self.judgement, range(len(self._plans))))
        if self._fitted.kind is not Kind.WHOLE:
            return outcomes
        read: set[Window] = set()
        for at, outcome in enumerate(outcomes):
            again = sum(tokens for window, tokens in self._plans[at][0] if window in read)
            read.update(outcome.windows)
            outcomes[at] = replace(outcome, tokens=outcome.tokens - again)
        return outcomes
