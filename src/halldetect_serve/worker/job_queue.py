"""The queue of the worker: bounded, fair by size, with equal work done once.

Each piece of work has a rank: the work done before it came, in tokens, plus its own size. The
lowest rank goes first, also before what is running. So a small check does not wait for a large
one, and a large one waits for no more later work than it is itself.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from threading import Condition
from typing import Any

from halldetect.config import Configuration
from halldetect.inputs import Pair
from halldetect_serve.worker.wire import Job

MAX_RETRY_AFTER = 60
# Weight of the newest batch in the moving average of seconds per pair.
_SMOOTHING = 0.2
# Pairs are checked together only up to this size, because their reports come together.
BATCH_TOKENS = 8_000
# For the size of a pair: characters per token and per claim, and the tokens read for a claim.
_TOKEN_CHARACTERS, _CLAIM_CHARACTERS, _CLAIM_TOKENS = 4, 80, 2_000


@dataclass(frozen=True, slots=True)
class Waiter:
    """A job that waits for a piece of work.

    job    the job
    index  of the pair among the pairs of the job
    """

    job: Job
    index: int


@dataclass(eq=False, slots=True)
class WorkItem:
    """One pair to check, for all jobs that wait for it.

    key            the same for equal pairs with equal options
    pair           source and response
    configuration  options of the check
    repair         whether the response is to be repaired
    judge_from     where in the response the part begins that is checked
    size           roughly how many tokens have to be read
    rank           its place in the queue; the lowest goes first
    waiters        those who wait for the report
    events         what has been said about it so far, for those who join later
    """

    key: bytes
    pair: Pair
    configuration: Configuration
    repair: bool
    judge_from: int
    size: int
    rank: int
    waiters: list[Waiter] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def alone(self) -> bool:
        """Whether it is done without others: a repair, or the check of a part."""
        return self.repair or self.judge_from > 0


@dataclass(frozen=True, slots=True)
class QueueFull:
    """A job was not accepted.

    retry_after  seconds after which there may be room
    """

    retry_after: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """A job was accepted.

    before  the number of pairs that were waiting
    events  what has been said about work that the job has joined
    """

    before: int
    events: tuple[dict[str, Any], ...] = ()


def work_key(
    configuration: Configuration, pair: Pair, *, repair: bool = False, judge_from: int = 0
) -> bytes:
    """Return what identifies a check or a repair: a digest of the options and the texts."""
    texts = [pair.source, pair.response, pair.question]
    content = [configuration.to_dict(), texts, repair, judge_from]
    return blake2b(json.dumps(content).encode(), digest_size=24).digest()


def estimated_tokens(pair: Pair) -> int:
    """Return roughly how many tokens are read to check a pair."""
    documents = [pair.source] if isinstance(pair.source, str) else pair.source
    source = sum(map(len, documents)) // _TOKEN_CHARACTERS
    claims = 1 + len(pair.response) // _CLAIM_CHARACTERS
    return 1 + claims * min(source, _CLAIM_TOKENS)


class JobQueue:
    """Filled by the thread that reads requests, emptied by the thread that checks.

    Args:
        size: number of pairs that may wait; pairs being checked do not count.
        batch_size: number of pairs in a batch at most.
    """

    def __init__(self, size: int, batch_size: int) -> None:
        self._size = size
        self._batch_size = batch_size
        self._waiting: list[WorkItem] = []
        self._items: dict[bytes, WorkItem] = {}  # waiting and running
        self._changed = Condition()
        self._seconds_per_pair = 0.0
        self._tokens_done = 0
        self._running = 0
        self._batches = 0
        self._pairs = 0
        self._shared = 0

    def __len__(self) -> int:
        """The number of pairs that wait."""
        return len(self._waiting)

    def stats(self) -> dict[str, int]:
        """Return the pairs that wait and run, the batches and pairs done, and the pairs shared."""
        return {
            "queued": len(self._waiting),
            "running": self._running,
            "batches": self._batches,
            "pairs": self._pairs,
            "shared": self._shared,
        }

    def put(self, job: Job, keys: Mapping[int, bytes]) -> Accepted | QueueFull:
        """Add pairs of a job, all or none; a pair that waits or runs already is joined.

        Args:
            job: the job.
            keys: of the pairs to add, by their index in the job; see `work_key`.
        """
        with self._changed:
            before = len(self._waiting)
            if before + len(set(keys.values()) - set(self._items)) > self._size:
                return QueueFull(self._retry_after())
            joined: list[WorkItem] = []
            for index, key in keys.items():
                if key not in self._items:
                    self._add(key, job, index)
                else:
                    joined.append(self._items[key])
                    self._shared += 1
                self._items[key].waiters.append(Waiter(job, index))
            self._changed.notify()
            return Accepted(before, tuple(event for item in joined for event in item.events))

    def _add(self, key: bytes, job: Job, index: int) -> None:
        pair = job.pairs[index]
        size = estimated_tokens(pair)
        rank = self._tokens_done + size
        item = WorkItem(key, pair, job.configuration, job.repair, job.judge_from, size, rank)
        self._items[key] = item
        self._waiting.append(item)

    def cancel(self, job_id: str) -> None:
        """Forget a job: what only this job waits for leaves the queue, or is not wanted."""
        with self._changed:
            for item in self._items.values():
                item.waiters = [waiter for waiter in item.waiters if waiter.job.id != job_id]
            self._drop([item for item in self._waiting if not item.waiters])

    def _drop(self, items: Iterable[WorkItem]) -> None:
        for item in items:
            self._waiting.remove(item)
            del self._items[item.key]

    def is_wanted(self, item: WorkItem) -> bool:
        """Return whether somebody still waits for the report."""
        now = time.monotonic()
        return any(now < waiter.job.deadline for waiter in tuple(item.waiters))

    def take_batch(self) -> list[WorkItem]:
        """Wait for pairs and return the next batch."""
        with self._changed:
            while True:
                while not self._waiting:
                    self._changed.wait()
                if batch := self._next_batch():
                    return batch

    def take_urgent(self, running: Collection[WorkItem]) -> list[WorkItem]:
        """Return a batch that goes before what is running; empty if there is none."""
        with self._changed:
            return self._next_batch(min(item.rank for item in running))

    def record(self, item: WorkItem, event: dict[str, Any]) -> list[Job]:
        """Keep an event for those who join later, and return the jobs that want events now."""
        with self._changed:
            item.events.append(event)
            return self._watching(item)

    def watching(self, items: Collection[WorkItem]) -> list[Job]:
        """Return the jobs that want events about any of the items."""
        with self._changed:
            jobs = {job.id: job for item in items for job in self._watching(item)}
            return list(jobs.values())

    def _watching(self, item: WorkItem) -> list[Job]:
        return [waiter.job for waiter in item.waiters if waiter.job.watch]

    def put_back(self, item: WorkItem) -> None:
        """Take back an item that was given up; it waits again if somebody has joined it."""
        with self._changed:
            if item.waiters:
                self._waiting.append(item)
                self._changed.notify()
            else:
                self._items.pop(item.key, None)

    def finish(self, item: WorkItem) -> list[Waiter]:
        """Return those who wait for an item that is done; nobody can join it any more."""
        with self._changed:
            self._items.pop(item.key, None)
            return item.waiters

    def batch_done(self, batch: Collection[WorkItem], seconds: float) -> None:
        """Record that a batch is done, and how long it took."""
        with self._changed:
            newest, average = seconds / len(batch), self._seconds_per_pair
            if average:
                newest = (1 - _SMOOTHING) * average + _SMOOTHING * newest
            self._seconds_per_pair = newest
            self._tokens_done += sum(item.size for item in batch)
            self._running -= len(batch)
            self._batches += 1
            self._pairs += len(batch)

    def _next_batch(self, before: float = math.inf) -> list[WorkItem]:
        """Return the pair that goes first, if its rank is low enough, and those that fit to it."""
        self._drop([item for item in self._waiting if not self.is_wanted(item)])
        in_order = sorted(self._waiting, key=lambda item: item.rank)
        if not in_order or in_order[0].rank >= before:
            return []
        first, *others = in_order
        batch, size = [first], first.size
        for item in others:
            fits = item.configuration == first.configuration and size + item.size <= BATCH_TOKENS
            if fits and not (first.alone or item.alone) and len(batch) < self._batch_size:
                batch.append(item)
                size += item.size
        for item in batch:
            self._waiting.remove(item)
        self._running += len(batch)
        return batch

    def _retry_after(self) -> int:
        expected = (len(self._waiting) + self._running) * (self._seconds_per_pair or 1.0)
        return max(1, min(MAX_RETRY_AFTER, math.ceil(expected)))
