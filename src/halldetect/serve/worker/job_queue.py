"""The queue of the worker: bounded, first in first out, with batches of pairs that fit together."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass
from threading import Condition

from halldetect.inputs import Pair
from halldetect.serve.worker.wire import Job

MAX_RETRY_AFTER = 60
# Weight of the newest batch in the moving average of seconds per pair.
_SMOOTHING = 0.2


@dataclass(frozen=True, slots=True)
class QueuedPair:
    """One pair of a job.

    job    the job it belongs to
    index  its index among the pairs of the job
    """

    job: Job
    index: int

    @property
    def pair(self) -> Pair:
        """The source and the response."""
        return self.job.pairs[self.index]


@dataclass(frozen=True, slots=True)
class QueueFull:
    """A job was not accepted.

    retry_after  seconds after which there may be room
    """

    retry_after: int


class JobQueue:
    """Filled by the thread that reads requests, emptied by the thread that checks.

    Args:
        size: number of pairs that may wait; pairs being checked do not count.
        batch_size: number of pairs in a batch at most.
    """

    def __init__(self, size: int, batch_size: int) -> None:
        self._size = size
        self._batch_size = batch_size
        self._waiting: deque[QueuedPair] = deque()
        self._jobs: dict[str, Job] = {}
        self._changed = Condition()
        self._seconds_per_pair = 0.0
        self._running = 0
        self._batches = 0
        self._pairs = 0

    def __len__(self) -> int:
        """The number of pairs that wait."""
        return len(self._waiting)

    def stats(self) -> dict[str, int]:
        """Return the pairs that wait and run, and the batches and pairs done so far."""
        return {
            "queued": len(self._waiting),
            "running": self._running,
            "batches": self._batches,
            "pairs": self._pairs,
        }

    def put(self, job: Job) -> int | QueueFull:
        """Add all pairs of a job, or none.

        Returns:
            The number of pairs that wait before them, or QueueFull.
        """
        with self._changed:
            before = len(self._waiting)
            if before + len(job.pairs) > self._size:
                return QueueFull(self._retry_after())
            self._jobs[job.id] = job
            self._waiting.extend(QueuedPair(job, index) for index in range(len(job.pairs)))
            self._changed.notify()
            return before

    def cancel(self, job_id: str) -> None:
        """Forget a job: its waiting pairs leave the queue, its running ones are not wanted."""
        with self._changed:
            self._jobs.pop(job_id, None)
            self._waiting = deque(item for item in self._waiting if item.job.id != job_id)

    def is_wanted(self, job: Job) -> bool:
        """Return whether somebody still waits for the job."""
        return job.id in self._jobs and time.time() < job.deadline

    def take_batch(self) -> list[QueuedPair]:
        """Wait for pairs and return the next batch.

        The oldest pair decides the configuration; others with the same one join it.
        """
        with self._changed:
            while True:
                while not self._waiting:
                    self._changed.wait()
                batch = self._next_batch()
                if batch:
                    self._running = len(batch)
                    return batch

    def batch_done(self, batch: list[QueuedPair], seconds: float) -> None:
        """Record that a batch is done, and how long it took."""
        with self._changed:
            newest, average = seconds / len(batch), self._seconds_per_pair
            if average:
                newest = (1 - _SMOOTHING) * average + _SMOOTHING * newest
            self._seconds_per_pair = newest
            self._running = 0
            self._batches += 1
            self._pairs += len(batch)

    def _next_batch(self) -> list[QueuedPair]:
        batch: list[QueuedPair] = []
        rest: deque[QueuedPair] = deque()
        now = time.time()
        for item in self._waiting:
            if now >= item.job.deadline:
                continue  # its caller has been told that the time is up
            fits = not batch or item.job.configuration == batch[0].job.configuration
            if fits and len(batch) < self._batch_size:
                batch.append(item)
            else:
                rest.append(item)
        self._waiting = rest
        return batch

    def _retry_after(self) -> int:
        expected = (len(self._waiting) + self._running) * (self._seconds_per_pair or 1.0)
        return max(1, min(MAX_RETRY_AFTER, math.ceil(expected)))
