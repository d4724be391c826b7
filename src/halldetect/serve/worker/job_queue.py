"""The worker's queue: bounded, first come first served, batches of pairs that can go together."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass
from threading import Condition

from halldetect.inputs import Pair
from halldetect.serve.worker.wire import Job, Options

MAX_RETRY_AFTER = 60


@dataclass(frozen=True, slots=True)
class Entry:
    """One pair of a job, and its place in it."""

    job: Job
    place: int

    @property
    def pair(self) -> Pair:
        return self.job.pairs[self.place]


@dataclass(frozen=True, slots=True)
class Full:
    """Why a job was not taken, and when it is worth trying again."""

    retry_after: int


class Queue:
    """Filled by the thread that reads requests, emptied by the one that checks.

    `size` bounds the pairs that wait. What is being checked is no longer counted.
    """

    def __init__(self, size: int, batch: int) -> None:
        self._size = size
        self._batch = batch
        self._waiting: deque[Entry] = deque()
        self._alive: dict[str, Job] = {}
        self._changed = Condition()
        self._closed = False
        self._pace = 0.0
        self.running = 0
        self.batches = 0
        self.pairs = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def offer(self, job: Job) -> int | Full:
        """How many pairs wait before it, or Full: all pairs of a job are taken, or none."""
        with self._changed:
            before = len(self._waiting)
            if before + len(job.pairs) > self._size:
                return Full(self._retry_after())
            self._alive[job.id] = job
            self._waiting.extend(Entry(job, place) for place in range(len(job.pairs)))
            self._changed.notify()
            return before

    def cancel(self, job: str) -> None:
        """Forget a job: what waits is dropped, what runs is stopped where it can be."""
        with self._changed:
            self._alive.pop(job, None)
            self._waiting = deque(entry for entry in self._waiting if entry.job.id != job)

    def wanted(self, job: Job) -> bool:
        """Whether somebody still waits for it."""
        return job.id in self._alive and time.time() < job.until

    def take(self) -> tuple[Options, list[Entry]] | None:
        """The next batch, waiting for one; None once the queue is closed.

        The oldest pair decides with which options; others with the same join it.
        """
        with self._changed:
            while True:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return None
                entries = self._gather()
                if entries:
                    self.running = len(entries)
                    return entries[0].job.options, entries

    def _gather(self) -> list[Entry]:
        chosen: list[Entry] = []
        left: deque[Entry] = deque()
        now = time.time()
        for entry in self._waiting:
            if now >= entry.job.until:
                continue  # whoever asked has been told that time is up
            fits = not chosen or entry.job.options == chosen[0].job.options
            if fits and len(chosen) < self._batch:
                chosen.append(entry)
            else:
                left.append(entry)
        self._waiting = left
        return chosen

    def done(self, entries: list[Entry], seconds: float) -> None:
        with self._changed:
            each = seconds / len(entries)
            self._pace = each if not self._pace else 0.8 * self._pace + 0.2 * each
            self.running = 0
            self.batches += 1
            self.pairs += len(entries)

    def finish(self, job: str) -> None:
        with self._changed:
            self._alive.pop(job, None)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _retry_after(self) -> int:
        expected = (len(self._waiting) + self.running) * (self._pace or 1.0)
        return max(1, min(MAX_RETRY_AFTER, math.ceil(expected)))
