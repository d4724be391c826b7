"""The queue of the service: bounded and fair by size.

The rank of a work item is the work done before it arrived, in tokens, plus its own size. The lowest
rank goes first and interrupts the running batch. So a small check does not wait for a large one,
and later work delays a large check by at most its own size. This code runs in the event loop of the
service; the batches run in the worker process.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import chain, count
from typing import Any

from halldetect.inputs import Conversation, LastTurn, Pair, split_documents
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

# Seconds for each pair that waits, as an estimate for the header Retry-After.
_PAIR_SECONDS, _MAX_RETRY_AFTER = 1, 60
# Pairs are batched only up to this size, because their reports arrive together.
BATCH_TOKENS = 8_000
# To estimate the size of a pair: characters per token and per claim, tokens per claim.
_TOKEN_CHARACTERS, _CLAIM_CHARACTERS, _CLAIM_TOKENS = 4, 80, 2_000
_WORKER_DIED = "the worker ended while it was checking this; another is being started"
_NO_WORKER = "the worker is not running yet; it is being started"


@dataclass(eq=False, slots=True)
class WorkItem:
    """One pair of a job, its size in tokens and its rank; dropped if nobody waits for it."""

    pending: PendingJob
    index: int
    size: int
    rank: int
    dropped: bool = False

    @property
    def alone(self) -> bool:
        """True if it is not batched: a repair, or the check of a part."""
        job = self.pending.job
        return job.repair or job.pairs[self.index].judge_from > 0


def estimated_tokens(pair: Pair) -> int:
    """Return the approximate number of tokens read to check a pair."""
    documents, *_ = split_documents(pair.source)
    if isinstance(pair, Conversation):
        documents = [*documents, pair.response]
    source = sum(len(str(text)) for text in documents) // _TOKEN_CHARACTERS
    long = 0 if isinstance(pair, LastTurn) else len(pair.response)
    return 1 + (1 + long // _CLAIM_CHARACTERS) * min(source, _CLAIM_TOKENS)


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
        self._sent: dict[int, list[WorkItem]] = {}  # the last one interrupts those before it
        self._ids = count()
        self._tokens_done = 0
        self.is_ready = False

    def stats(self) -> dict[str, int] | None:
        """Return the number of pairs held; None while the worker is not ready."""
        if not self.is_ready:
            return None
        return {"queued": len(self._waiting), "running": sum(map(len, self._sent.values()))}

    def submit(self, job: Job, timeout: float) -> PendingJob:
        """Queue the pairs of a job, all or none; they must be done within `timeout` seconds."""
        if not self.is_ready:
            raise service_error("worker_failed", _NO_WORKER)
        if len(self._waiting) + len(job.pairs) > self._limits.queue:
            held = len(self._waiting) + sum(map(len, self._sent.values()))
            after = min(_MAX_RETRY_AFTER, held * _PAIR_SECONDS)
            raise service_error("queue_full", "too much is waiting to be checked", after)
        pending = PendingJob(self, job, timeout)
        pending.queued = len(self._waiting)
        for index, pair in enumerate(job.pairs):
            size = estimated_tokens(pair)
            self._waiting.append(WorkItem(pending, index, size, self._tokens_done + size))
        self._dispatch()
        return pending

    def cancel(self, pending: PendingJob) -> None:
        """Drop a job: its pairs leave the queue, and a batch that nobody waits for is abandoned."""
        self._waiting = [item for item in self._waiting if item.pending is not pending]
        for id, batch in self._sent.items():
            mine = [item for item in batch if item.pending is pending and not item.dropped]
            for item in mine:
                item.dropped = True
            if mine and all(item.dropped for item in batch):
                self._send(Abandon(id))

    def on_ready(self) -> None:
        """Accept jobs from now on."""
        self.is_ready = True

    def on_died(self) -> None:
        """End all jobs: the worker process is gone."""
        self.is_ready = False
        for item in chain(self._waiting, *self._sent.values()):
            item.pending.put({"event": "failed", "code": "worker_failed", "message": _WORKER_DIED})
        self._waiting.clear()
        self._sent.clear()

    def on_message(self, message: BatchEvent | BatchEnd) -> None:
        """Handle a message of the worker process."""
        batch = self._sent.get(message.id)
        if batch is None:
            return  # sent by a worker that has died
        if isinstance(message, BatchEvent):
            items = batch if message.pair is None else [batch[message.pair]]
            for pending in {id(item.pending): item.pending for item in items}.values():
                if pending.job.watch:
                    pending.put(message.event)
            return
        del self._sent[message.id]
        self._tokens_done += sum(item.size for item in batch)
        for at, item in enumerate(batch):
            if message.reports is not None:
                report = message.reports[at]
                item.pending.put({"event": "report", "pair": item.index, "report": report})
            elif message.error is not None:
                item.pending.put({"event": "failed", **message.error})
        self._dispatch()

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
            same = item.pending.job.configuration == first.pending.job.configuration
            fits = same and size + item.size <= BATCH_TOKENS and len(batch) < self._limits.batch
            if fits and not (first.alone or item.alone):
                batch.append(item)
                size += item.size
        for item in batch:
            self._waiting.remove(item)
        id = next(self._ids)
        self._sent[id] = batch
        pairs = tuple(item.pending.job.pairs[item.index] for item in batch)
        self._send(Batch(id, replace(first.pending.job, pairs=pairs)))
