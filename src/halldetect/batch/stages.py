"""Slices of rows on their way to reports: known ones, claims, verdicts.

While the verifier judges one slice, the extractor already reads the next.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol

from halldetect.batch.cache import Cache, at_no_cost
from halldetect.batch.rows import Row
from halldetect.config import Configuration
from halldetect.errors import HallDetectError
from halldetect.inputs import Pair
from halldetect.pipeline import AnyPair, PairState
from halldetect.protocols import Extractor, Verifier
from halldetect.report import Report
from halldetect.scoring import Calibration

# A report, or what went wrong instead.
Finding = Report | str


class Checks(Protocol):
    """What is needed of a detector."""

    @property
    def configuration(self) -> Configuration: ...
    @property
    def extractor(self) -> Extractor: ...
    @property
    def verifier(self) -> Verifier: ...
    @property
    def calibration(self) -> Calibration: ...
    def begin(self, pairs: Iterable[AnyPair]) -> list[PairState]: ...
    def finish(self, cases: list[PairState]) -> list[Report]: ...
    def check_many(self, pairs: Iterable[AnyPair]) -> list[Report]: ...


@dataclass(frozen=True, slots=True)
class Slice:
    """Rows that are checked and written together, and how the input stands after them."""

    rows: Sequence[Row]
    input_digest: str = ""
    fraction: float | None = None


@dataclass(slots=True)
class _Begun:
    """The different pairs of a slice: what the cache knows, and cases for the rest.

    `cases` is None where beginning them failed; they are then checked one by one.
    """

    keys: list[bytes | None]
    known: dict[bytes, Report] = field(default_factory=dict)
    pairs: dict[bytes, Pair] = field(default_factory=dict)
    cases: list[PairState] | None = field(default_factory=list)


class Checker:
    """Rows in, findings out: the same whatever is cached and however the rows are divided."""

    def __init__(self, detector: Checks, cache: Cache) -> None:
        self._detector = detector
        self._cache = cache

    def findings(
        self, slices: Iterable[Slice]
    ) -> Generator[tuple[Slice, list[Finding]], None, None]:
        """The slices in order. Whoever leaves early waits for no more than one row."""
        left = Event()
        with ThreadPoolExecutor(1, "extract") as ahead:
            try:
                following: tuple[Slice, Future[_Begun]] | None = None
                for item in slices:
                    begun = ahead.submit(self._begin, item.rows, left.is_set)
                    if following is not None:
                        yield following[0], self._finish(following[0].rows, following[1].result())
                    following = (item, begun)
                if following is not None:
                    yield following[0], self._finish(following[0].rows, following[1].result())
            finally:
                left.set()

    def _begin(self, rows: Sequence[Row], left: Callable[[], bool]) -> _Begun:
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
                if left() or begun.cases is None:
                    break
                begun.cases += self._detector.begin([pair])
        except HallDetectError:  # the detector itself cannot work: so would every further row
            raise
        except Exception:
            begun.cases = None
        return begun

    def _finish(self, rows: Sequence[Row], begun: _Begun) -> list[Finding]:
        fresh: dict[bytes, Finding] = {}
        if begun.pairs:
            found = self._reports(list(begun.pairs.values()), begun.cases)
            fresh = dict(zip(begun.pairs, found, strict=True))
        self._cache.put({key: made for key, made in fresh.items() if isinstance(made, Report)})
        findings: list[Finding] = []
        for row, key in zip(rows, begun.keys, strict=True):
            if row.pair is None or key is None:
                findings.append(str(row.problem))
            elif key in begun.known:
                findings.append(begun.known[key])
            else:
                made = fresh[key]
                findings.append(made)
                fresh[key] = made if isinstance(made, str) else at_no_cost(made)
        return findings

    def _reports(self, pairs: Sequence[Pair], cases: list[PairState] | None) -> list[Finding]:
        """A finding for each pair; one that fails takes no other with it."""
        try:
            return list(
                self._detector.check_many(pairs) if cases is None else self._detector.finish(cases)
            )
        except HallDetectError:
            raise
        except Exception as error:
            if len(pairs) == 1:
                return [f"the check failed: {type(error).__name__}: {' '.join(str(error).split())}"]
            return [finding for pair in pairs for finding in self._reports([pair], None)]
