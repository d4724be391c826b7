"""The queue of the service: bounded, fair by size, with equal work done only once.

The rank of a work item is the work done before it arrived, in tokens, plus its own size. The lowest
rank goes first and interrupts the running batch. So a small check does not wait for a large one,
and later work delays a large check by at most its own size. This code runs in the event loop of the
service; the batches run in the worker process.
"""

from __future__ import annotations

import asyncio
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from itertools import count
from typing import Any

from halldetect.inputs import Pair, split_names
from halldetect_serve.error_responses import service_error
from halldetect_serve.settings import Limits
from halldetect_serve.worker.process import (
    Abandon,
    Batch,
    BatchEnd,
    BatchEvent,
    FinishedReport,
    Job,
)

MAX_RETRY_AFTER = 60
# Weight of the newest batch in the moving average of seconds per pair.
_SMOOTHING = 0.2
# Pairs are batched only up to this size, because their reports arrive together.
BATCH_TOKENS = 8_000
# To estimate the size of a pair: characters per token and per claim, tokens per claim.
_TOKEN_CHARACTERS, _CLAIM_CHARACTERS, _CLAIM_TOKENS = 4, 80, 2_000
_WORKER_DIED = "the worker ended while it was checking this; another is being started"
_NO_WORKER = "the worker is not running yet; it is being started"


@dataclass(eq=False, slots=True)
class WorkItem:
    """One pair to check, for all jobs that wait for it.

    Attributes:
        key: the same for equal pairs with equal options.
        job: the first job that asked for it, with the options of the check.
        size: the approximate number of tokens to read.
        rank: its place in the queue; the lowest goes first.
        waiters: the jobs that wait for the report, and the index of the pair in each.
        events: the events so far, for jobs that join later.
    """

    key: bytes
    job: Job
    pair: Pair
    size: int
    rank: int
    waiters: list[tuple[PendingJob, int]] = field(default_factory=list)
    events: list[dict[str, Any]] = field(default_factory=list)

    @property
    def alone(self) -> bool:
        """True if it is not batched: a repair, or the check of a part."""
        return self.job.repair or self.job.judge_from > 0


def work_key(job: Job, pair: Pair) -> bytes:
    """Return the identity of a check or a repair: a digest of the options and the texts."""
    texts = [pair.source, pair.response, pair.question]
    content = [job.configuration.to_dict(), texts, job.repair, job.judge_from]
    return blake2b(json.dumps(content).encode(), digest_size=24).digest()


def estimated_tokens(pair: Pair) -> int:
    """Return the approximate number of tokens read to check a pair."""
    documents, _ = split_names(pair.source)
    source = sum(len(str(text)) for text in documents) // _TOKEN_CHARACTERS
    claims = 1 + len(pair.response) // _CLAIM_CHARACTERS
    return 1 + claims * min(source, _CLAIM_TOKENS)


class PendingJob:
    """A job in the queue. As a context manager it cancels the rest of the job on exit."""

    def __init__(self, scheduler: Scheduler, job: Job, timeout: float) -> None:
        self.job = job
        self.queued = 0
        self.started = time.monotonic()
        self._scheduler = scheduler
        self._deadline = asyncio.get_running_loop().time() + timeout
        self._inbox: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def __enter__(self) -> PendingJob:
        """Return the job itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Cancel the rest of the job."""
        self._scheduler.cancel(self)

    def put(self, event: dict[str, Any]) -> None:
        """Add an event for the waiting caller."""
        self._inbox.put_nowait(event)

    async def next_event(self) -> dict[str, Any]:
        """Wait for the next event; raise the error that ended the job."""
        try:
            async with asyncio.timeout_at(self._deadline):
                event = await self._inbox.get()
        except TimeoutError:
            message = "time is up before the check was done"
            raise service_error("deadline_exceeded", message) from None
        if event["event"] == "failed":
            raise service_error(event["code"], event["message"])
        return event

    async def reports(self) -> list[FinishedReport]:
        """Wait for the reports of all pairs, in their order; raise the error that ended the job."""
        reports: dict[int, FinishedReport] = {}
        while len(reports) < len(self.job.pairs):
            event = await self.next_event()
            if event["event"] == "report":
                reports[event["pair"]] = event["report"]
        return [reports[index] for index in sorted(reports)]


class Scheduler:
    """Decides which pairs the worker checks next; `send` sends a message to its process."""

    def __init__(self, limits: Limits, send: Callable[[Batch | Abandon], None]) -> None:
        self._limits = limits
        self._send = send
        self._waiting: list[WorkItem] = []
        self._items: dict[bytes, WorkItem] = {}  # waiting and running
        self._sent: dict[int, list[WorkItem]] = {}  # the last one interrupts those before it
        self._abandoned: set[int] = set()
        self._ids = count()
        self._seconds_per_pair = 0.0
        self._tokens_done = 0
        self._counts = {"batches": 0, "pairs": 0, "shared": 0}
        self.is_ready = False

    def stats(self) -> dict[str, int] | None:
        """Return the counts of the worker; None while it is not ready."""
        if not self.is_ready:
            return None
        running = sum(map(len, self._sent.values()))
        held = {"queued": len(self._waiting), "running": running}
        return {**held, **self._counts}

    def submit(self, job: Job, timeout: float) -> PendingJob:
        """Queue the pairs of a job, all or none; they must be done within `timeout` seconds."""
        if not self.is_ready:
            raise service_error("worker_failed", _NO_WORKER)
        keys = [work_key(job, pair) for pair in job.pairs]
        if len(self._waiting) + len(set(keys) - set(self._items)) > self._limits.queue:
            message = "too much is waiting to be checked"
            raise service_error("queue_full", message, self._retry_after())
        pending = PendingJob(self, job, timeout)
        pending.queued = len(self._waiting)
        for index, key in enumerate(keys):
            self._wait_for(key, pending, index)
        self._dispatch()
        return pending

    def _wait_for(self, key: bytes, pending: PendingJob, index: int) -> None:
        item, job = self._items.get(key), pending.job
        if item is None:
            size = estimated_tokens(job.pairs[index])
            item = WorkItem(key, job, job.pairs[index], size, self._tokens_done + size)
            self._items[key] = item
            self._waiting.append(item)
        else:
            self._counts["shared"] += 1
            self._tell(pending, item.events)
        item.waiters.append((pending, index))

    def _tell(self, pending: PendingJob, events: Sequence[dict[str, Any]]) -> None:
        if pending.job.watch:
            for event in events:
                pending.put(event)

    def cancel(self, pending: PendingJob) -> None:
        """Drop a job: work that no other job waits for leaves the queue or is abandoned."""
        for item in list(self._items.values()):
            item.waiters = [waiter for waiter in item.waiters if waiter[0] is not pending]
            if not item.waiters and item in self._waiting:
                self._waiting.remove(item)
                del self._items[item.key]
        for id, batch in self._sent.items():
            if id not in self._abandoned and not any(item.waiters for item in batch):
                self._abandoned.add(id)
                self._send(Abandon(id))

    def on_ready(self) -> None:
        """Accept jobs from now on."""
        self.is_ready = True

    def on_died(self) -> None:
        """End all jobs: the worker process is gone."""
        self.is_ready = False
        for item in self._items.values():
            self._end(item, {"code": "worker_failed", "message": _WORKER_DIED})
        for held in (self._waiting, self._items, self._sent, self._abandoned):
            held.clear()

    def on_message(self, message: BatchEvent | BatchEnd) -> None:
        """Handle a message of the worker process."""
        batch = self._sent.get(message.id)
        if batch is None:
            return  # sent by a worker that has died
        if isinstance(message, BatchEvent):
            self._on_event(batch, message)
            return
        del self._sent[message.id]
        self._abandoned.discard(message.id)
        self._count(batch, message.seconds)
        if message.reports is not None:
            for item, report in zip(batch, message.reports, strict=True):
                for pending, index in self._items.pop(item.key).waiters:
                    pending.put({"event": "report", "pair": index, "report": report})
        elif message.error is not None:
            for item in batch:
                self._end(self._items.pop(item.key), message.error)
        else:  # abandoned; another job may have joined it since
            for item in batch:
                if item.waiters:
                    self._waiting.append(item)
                else:
                    del self._items[item.key]
        self._dispatch()

    def _on_event(self, batch: list[WorkItem], message: BatchEvent) -> None:
        if message.pair is None:  # progress of the whole batch
            jobs = {id(pending): pending for item in batch for pending, _ in item.waiters}
        else:
            item = batch[message.pair]
            item.events.append(message.event)
            jobs = {id(pending): pending for pending, _ in item.waiters}
        for pending in jobs.values():
            self._tell(pending, [message.event])

    def _end(self, item: WorkItem, error: dict[str, Any]) -> None:
        for pending, _ in item.waiters:
            pending.put({"event": "failed", **error})

    def _count(self, batch: list[WorkItem], seconds: float) -> None:
        newest, average = seconds / len(batch), self._seconds_per_pair
        if average:
            newest = (1 - _SMOOTHING) * average + _SMOOTHING * newest
        self._seconds_per_pair = newest
        self._tokens_done += sum(item.size for item in batch)
        self._counts["batches"] += 1
        self._counts["pairs"] += len(batch)

    def _dispatch(self) -> None:
        """Send the next batch if the worker is idle or the batch ranks before the running one."""
        before = math.inf
        if self._sent:
            before = min(item.rank for item in list(self._sent.values())[-1])
        in_order = sorted(self._waiting, key=lambda item: item.rank)
        if not in_order or in_order[0].rank >= before:
            return
        first, *others = in_order
        batch, size = [first], first.size
        for item in others:
            same = item.job.configuration == first.job.configuration
            fits = same and size + item.size <= BATCH_TOKENS and len(batch) < self._limits.batch
            if fits and not (first.alone or item.alone):
                batch.append(item)
                size += item.size
        for item in batch:
            self._waiting.remove(item)
        id = next(self._ids)
        self._sent[id] = batch
        pairs = tuple(item.pair for item in batch)
        self._send(Batch(id, replace(first.job, pairs=pairs)))

    def _retry_after(self) -> int:
        held = len(self._waiting) + sum(map(len, self._sent.values()))
        expected = held * (self._seconds_per_pair or 1.0)
        return max(1, min(MAX_RETRY_AFTER, math.ceil(expected)))
