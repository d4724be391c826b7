"""The ways to call a check: many at once, one after another, or awaited.

A thread of the detector runs the checks that are awaited, one at a time. A check that is cancelled
while it waits never begins. One that runs ends with its block of pairs, because no thread can be
stopped from outside.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from itertools import chain
from typing import TypedDict, TypeVar, Unpack

from halldetect.inputs import AnyPair, Source
from halldetect.protocols import Observe
from halldetect.report import Report

# Pairs per block: enough to fill batches, few enough for memory.
BLOCK = 64
Result = TypeVar("Result")


class CheckOptions(TypedDict, total=False):
    """The keyword arguments of `Detector.check`."""

    question: str | None
    threshold: float | str | None
    missing: bool
    words: bool


class Calls(ABC):
    """Adds the calls for many responses and those that are awaited to a check."""

    def __init__(self) -> None:
        # The thread starts with the first check that is awaited.
        self._worker = ThreadPoolExecutor(1, "halldetect")

    @abstractmethod
    def check(
        self, source: Source, response: str | None = None, **options: Unpack[CheckOptions]
    ) -> Report:
        """Check one response."""

    @abstractmethod
    def _blocks(
        self, pairs: Iterable[AnyPair], observe: Observe | None, size: int
    ) -> Iterator[list[Report]]:
        """Yield the reports of one block of pairs after another."""

    def check_many(
        self, pairs: Iterable[AnyPair], *, observe: Observe | None = None
    ) -> list[Report]:
        """Check many responses in batches; each report equals that of `check`.

        Pairs are `Pair`s, or tuples or records of source, response and perhaps question; one that
        is not text is uncheckable. A `Conversation` gets one report. `observe` receives the claims
        of each pair, and each claim once it is settled.
        """
        return [*chain.from_iterable(self._blocks(pairs, observe, BLOCK))]

    def check_iter(
        self, pairs: Iterable[AnyPair], *, observe: Observe | None = None
    ) -> Iterator[Report]:
        """Check pairs as they are read; yield each report once its block is done.

        Pairs, reports and `observe` are those of `check_many`. The first block is one pair, each
        further one twice as many as before, up to 64.
        """
        return chain.from_iterable(self._blocks(pairs, observe, 1))

    async def acheck(
        self, source: Source, response: str | None = None, **options: Unpack[CheckOptions]
    ) -> Report:
        """Check one response as `check` does, without blocking the event loop."""
        return await self._run(partial(self.check, source, response, **options))

    async def acheck_many(
        self, pairs: Iterable[AnyPair], *, observe: Observe | None = None
    ) -> list[Report]:
        """Check many responses as `check_many` does, without blocking the event loop.

        Other checks may run between the blocks. Pairs are read, and `observe` is called, in the
        thread. After it is cancelled, no further block begins.
        """
        blocks = self._blocks(pairs, observe, 1)
        reports: list[Report] = []
        while block := await self._run(partial(next, blocks, [])):
            reports += block
        return reports

    async def _run(self, work: Callable[[], Result]) -> Result:
        """Return the result of some work in the thread, with the caller's context."""
        from asyncio import get_running_loop  # slow to import, and loaded by who awaits

        return await get_running_loop().run_in_executor(self._worker, copy_context().run, work)
