"""Blocks of rows to reports: those in the cache, then claims, then verdicts.

While the verifier judges one block, the extractor already works on the next.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol

from halldetect.batch.cache import ReportCache, without_cost
from halldetect.batch.rows import Row
from halldetect.errors import HallDetectError
from halldetect.inputs import Pair
from halldetect.pair_state import AnyPair, PairState
from halldetect.protocols import Models
from halldetect.report import Report

# A report, or what went wrong instead.
ReportOrProblem = Report | str


class BatchDetector(Models, Protocol):
    """What a batch needs of a detector; `halldetect.Detector` has it."""

    def begin(self, pairs: Iterable[AnyPair]) -> list[PairState]:
        """The first half of a check: the claims of each pair."""
        ...

    def finish(self, cases: list[PairState]) -> list[Report]:
        """The second half of a check: the reports of pairs that were begun."""
        ...

    def check_many(self, pairs: Iterable[AnyPair]) -> list[Report]:
        """The reports of pairs."""
        ...


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows that are checked and written together.

    Attributes:
        rows: the rows.
        input_digest: a digest of the input up to and including these rows.
        fraction_read: how much of the input had been read after them.
    """

    rows: Sequence[Row]
    input_digest: str = ""
    fraction_read: float | None = None


@dataclass(slots=True)
class _Begun:
    """The distinct pairs of a block: reports from the cache, and cases for the others.

    `cases` is None if beginning them failed; the pairs are then checked one by one.
    """

    keys: list[bytes | None]
    known: dict[bytes, Report] = field(default_factory=dict)
    pairs: dict[bytes, Pair] = field(default_factory=dict)
    cases: list[PairState] | None = field(default_factory=list)


class RowChecker:
    """Checks rows; the reports depend neither on the cache nor on the size of the blocks.

    Args:
        detector: what checks the pairs.
        cache: where reports of earlier checks are.
    """

    def __init__(self, detector: BatchDetector, cache: ReportCache) -> None:
        self._detector = detector
        self._cache = cache

    def check(
        self, blocks: Iterable[RowBlock]
    ) -> Generator[tuple[RowBlock, list[ReportOrProblem]], None, None]:
        """Each block with the outcomes of its rows, in order.

        A caller that closes the generator early waits for one row at most.
        """
        closed = Event()
        with ThreadPoolExecutor(1, "extract") as ahead:
            try:
                following: tuple[RowBlock, Future[_Begun]] | None = None
                for block in blocks:
                    begun = ahead.submit(self._begin, block.rows, closed.is_set)
                    if following is not None:
                        yield following[0], self._finish(following[0].rows, following[1].result())
                    following = (block, begun)
                if following is not None:
                    yield following[0], self._finish(following[0].rows, following[1].result())
            finally:
                closed.set()

    def _begin(self, rows: Sequence[Row], closed: Callable[[], bool]) -> _Begun:
        begun = _Begun([None if row.pair is None else self._cache.key(row.pair) for row in rows])
        wanted = {
            key: row.pair
            for row, key in zip(rows, begun.keys, strict=True)
            if row.pair is not None and key is not None
        }
        begun.known = self._cache.get(wanted)
        begun.pairs = {key: pair for key, pair in wanted.items() if key not in begun.known}
        try:
            for pair in begun.pairs.values():
                if closed() or begun.cases is None:
                    break
                begun.cases += self._detector.begin([pair])
        except (
            HallDetectError
        ):  # the detector itself cannot work, so every other row would fail too
            raise
        except Exception:
            begun.cases = None
        return begun

    def _finish(self, rows: Sequence[Row], begun: _Begun) -> list[ReportOrProblem]:
        fresh: dict[bytes, ReportOrProblem] = {}
        if begun.pairs:
            reports = self._reports(list(begun.pairs.values()), begun.cases)
            fresh = dict(zip(begun.pairs, reports, strict=True))
        self._cache.put({key: item for key, item in fresh.items() if isinstance(item, Report)})
        outcomes: list[ReportOrProblem] = []
        for row, key in zip(rows, begun.keys, strict=True):
            if row.pair is None or key is None:
                outcomes.append(str(row.problem))
            elif key in begun.known:
                outcomes.append(begun.known[key])
            else:
                outcome = fresh[key]
                outcomes.append(outcome)
                fresh[key] = outcome if isinstance(outcome, str) else without_cost(outcome)
        return outcomes

    def _reports(
        self, pairs: Sequence[Pair], cases: list[PairState] | None
    ) -> list[ReportOrProblem]:
        """The outcome of each pair; one that fails does not affect the others."""
        try:
            return list(
                self._detector.check_many(pairs) if cases is None else self._detector.finish(cases)
            )
        except HallDetectError:
            raise
        except Exception as error:
            if len(pairs) == 1:
                return [f"the check failed: {type(error).__name__}: {' '.join(str(error).split())}"]
            return [outcome for pair in pairs for outcome in self._reports([pair], None)]
