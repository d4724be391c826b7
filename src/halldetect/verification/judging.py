"""Judge statements against the windows of their source, batched across responses.

A statement meets one window after the other, until one supports it clearly: the sentence that
shares most of its words, the best run of three sentences, the best pages, then the best runs of
two and of three documents together. A verifier that reads a source once for all statements gets
every page at once, with as many documents on a page as fit. A statement that the source makes word
for word needs no verifier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from halldetect.protocols import Verifier
from halldetect.report import Probabilities
from halldetect.verification.windows import FittedTask, Task, Window

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
    """The verifier's answers for one statement, by window."""

    windows: tuple[Window, ...] = ()
    probabilities: tuple[Probabilities, ...] = ()
    tokens: int = 0  # read for the statement
    reason: str | None = None  # of an empty result


# Receives task, statement and outcome once a statement needs no more windows.
Settled = Callable[[int, int, Judgement], None]


class _Statement:
    """A statement with its windows and the answers so far, from round to round."""

    def __init__(self, fitted: FittedTask, at: int, enough: Enough | None) -> None:
        self.text = fitted.task.statements[at]
        self.size = fitted.sizes[at]
        self._reason: str | None = None
        self._enough = enough
        self._answers: list[Probabilities] = []
        self.windows: Sequence[Window] = ()
        if fitted.task.windows:
            self.windows = fitted.given(at)
        elif (copy := fitted.copy(at)) is not None:  # its only window has its answer already
            self.windows, self._answers = [copy], [COPIED]
        elif (reason := fitted.reason(at)) is not None:
            self._reason = reason
        else:
            self.windows = fitted.plan(at)
        self.done = not self.windows

    @property
    def waiting(self) -> Sequence[Window]:
        """Return the windows that were not judged yet."""
        return self.windows[len(self._answers) :]

    def next_pairs(self) -> list[tuple[tuple[str, str], int]]:
        """Return the pairs of the next round, each with its tokens."""
        now = self.waiting if self._enough is None else self.waiting[:1]
        return [((window.text, self.text), window.tokens + self.size) for window in now]

    def record(self, answers: dict[tuple[str, str], Probabilities]) -> None:
        """Store the answers of a round."""
        found = [answers[texts] for texts, _ in self.next_pairs()]
        self._answers += found
        enough = self._enough is not None and any(map(self._enough, found))
        self.done = enough or not self.waiting

    def judgement(self) -> Judgement:
        """Return the outcome."""
        if not self.windows:
            return Judgement(reason=self._reason)
        judged = self.windows[: len(self._answers)]
        return Judgement(
            tuple(judged),
            tuple(self._answers),
            # A copy was not read by the verifier.
            tokens=sum(window.tokens + self.size for window in judged if window.tokens),
        )


def verify(
    verifier: Verifier,
    tasks: Sequence[Task],
    enough: Enough | None = None,
    progress: Advance | None = None,
    settled: Settled | None = None,
    *,
    short: bool = False,
) -> list[list[Judgement]]:
    """Judge the statements of each task.

    Args:
        verifier: Judges the pairs.
        tasks: Statements and sources.
        enough: Tells when a statement needs no more windows; None: judge all of them.
        progress: Receives the tokens judged and expected, at first 0 of 1; the ratio never falls.
        settled: Receives task, statement and outcome once a statement needs no more windows.
        short: Judge short windows only, also by a verifier that prefers whole sources.
    """
    whole = verifier.reads_whole_sources and not short

    def planned(item: FittedTask, at: int) -> _Statement:
        if progress is not None:
            progress(0, 1)
        return _Statement(item, at, None if whole else enough)

    fitted = [FittedTask(verifier, task, whole=whole, short=short) for task in tasks]
    statements = [[planned(item, at) for at in range(len(item.sizes))] for item in fitted]
    answers: dict[tuple[str, str], Probabilities] = {}
    judged = 0
    while unsettled := [
        (task, at, item)
        for task, items in enumerate(statements)
        for at, item in enumerate(items)
        if not item.done
    ]:
        sizes = dict(pair for _, _, item in unsettled for pair in item.next_pairs())
        expected = judged + sum(
            window.tokens + item.size for _, _, item in unsettled for window in item.waiting
        )
        # Identical pairs are judged once. Pairs of similar length need little padding; a verifier
        # that reads a window once wants its statements together.
        new = [texts for texts in sizes if texts not in answers]
        new.sort(key=lambda texts: texts if whole else (-sizes[texts], texts))
        for batch in _batches(new, sizes, verifier.pairs_at_once):
            answers.update(zip(batch, verifier.judge(batch), strict=True))
            judged += sum(map(sizes.__getitem__, batch))
            if progress is not None:
                progress(judged, max(expected, judged))
        for task, at, item in unsettled:
            item.record(answers)
            if item.done and settled is not None:
                settled(task, at, item.judgement())
    if progress is not None and judged:
        progress(judged, judged)
    return [_outcomes(items, whole) for items in statements]


def _batches(
    pairs: Sequence[tuple[str, str]], sizes: Mapping[tuple[str, str], int], at_once: int
) -> Iterator[list[tuple[str, str]]]:
    """Yield the pairs in the order given, in batches for the verifier."""
    batch: list[tuple[str, str]] = []
    tokens = 0
    for pair in pairs:
        too_long = not at_once and tokens + sizes[pair] > TOKENS_AT_ONCE
        if batch and (too_long or len(batch) == (at_once or PAIRS_AT_ONCE)):
            yield batch
            batch, tokens = [], 0
        batch.append(pair)
        tokens += sizes[pair]
    if batch:
        yield batch


def _outcomes(statements: Sequence[_Statement], whole: bool) -> list[Judgement]:
    """Return the outcome of every statement; count a window that is read once only once."""
    outcomes = [item.judgement() for item in statements]
    read: set[Window] = set()
    for at, item in enumerate(statements if whole else ()):
        again = sum(window.tokens for window in item.windows if window in read)
        read.update(outcomes[at].windows)
        outcomes[at] = replace(outcomes[at], tokens=outcomes[at].tokens - again)
    return outcomes
