"""Which pairs go to the worker, in which order, and who gets the reports."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from multiprocessing import Pipe
from typing import Any

import pytest

from halldetect.config import Configuration
from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect_serve.settings import CheckSettings, Limits
from halldetect_serve.worker.process import (
    Abandon,
    Batch,
    BatchAbandoned,
    BatchEnd,
    BatchEvent,
    CheckWorker,
    FinishedReport,
    Job,
    ModelDetectorPool,
)
from halldetect_serve.worker.scheduler import (
    BATCH_TOKENS,
    PendingJob,
    Scheduler,
    estimated_tokens,
)

USUAL = Configuration()
OTHER = Configuration(threshold=0.25)
CLAIMS = {"event": "claims", "claims": []}


def in_a_loop(test: Callable[[], None]) -> Callable[[], None]:
    @wraps(test)
    def run() -> None:
        async def inside() -> None:
            test()

        asyncio.run(inside())

    return run


class Desk(Scheduler):
    """A scheduler whose worker is the test: `sent` has its messages."""

    def __init__(self, **limits: Any) -> None:
        self.sent: list[Batch | Abandon] = []
        defaults = {"queue": 10, "max_items": 1, "batch": 4}
        super().__init__(Limits(**{**defaults, **limits}), self.sent.append)
        self.on_ready()

    def ask(self, *texts: str, timeout: float = 60, **how: Any) -> PendingJob:
        how.setdefault("configuration", USUAL)
        pairs = tuple(Pair("source", text) for text in texts)
        return self.submit(Job(pairs=pairs, **how), timeout)

    def ask_sized(self, name: str, characters: int, **how: Any) -> PendingJob:
        text = (name * characters)[:characters]
        return self.submit(Job(USUAL, (Pair(text, text),), **how), 60)

    def texts(self) -> list[list[str]]:
        """The responses of the batches sent so far."""
        batches = (item for item in self.sent if isinstance(item, Batch))
        return [[pair.response[:5] for pair in batch.job.pairs] for batch in batches]

    def finish(self, at: int = -1) -> None:
        batch = self.sent[at]
        assert isinstance(batch, Batch)
        reports = [FinishedReport(pair.response, {}) for pair in batch.job.pairs]
        self.on_message(BatchEnd(batch.id, reports))


def events(job: PendingJob) -> list[str]:
    found = []
    while not job._inbox.empty():
        found.append(job._inbox.get_nowait()["event"])
    return found


@in_a_loop
def test_pairs_of_several_requests_go_together() -> None:
    desk = Desk(batch=3)
    for text in ("busy", "a", "b", "c", "d"):
        desk.ask(text)
    assert desk.texts() == [["busy"]]
    desk.finish()
    assert desk.texts()[1:] == [["a", "b", "c"]]
    assert (desk.stats() or {})["queued"] == 1


@in_a_loop
def test_only_equal_options_go_together() -> None:
    desk = Desk()
    desk.ask("busy")
    for text, configuration in (("a", USUAL), ("b", OTHER), ("c", USUAL), ("d", OTHER)):
        desk.ask(text, configuration=configuration)
    desk.ask("e", repair=True)
    for _ in range(3):
        desk.finish()
    assert desk.texts()[1:] == [["a", "c"], ["b", "d"], ["e"]]


@in_a_loop
def test_full_queue_takes_all_or_nothing() -> None:
    desk = Desk(queue=4)
    desk.ask("busy")
    assert desk.ask("a", "b", "c").queued == 0
    with pytest.raises(ServiceError) as caught:
        desk.ask("d", "e")
    assert (caught.value.code, caught.value.retry_after) == ("queue_full", 4)
    assert desk.ask("f").queued == 3


@in_a_loop
def test_unwanted_work_is_dropped_or_abandoned() -> None:
    desk = Desk()
    running, waiting = desk.ask("running"), desk.ask("waiting")
    desk.ask("other")
    with waiting:
        pass
    with running:
        pass
    assert desk.sent[-1] == Abandon(0)
    desk.on_message(BatchEnd(0))
    assert desk.texts() == [["runni"], ["other"]]


@in_a_loop
def test_a_batch_ends_only_if_nobody_waits_for_it() -> None:
    desk = Desk()
    desk.ask("busy")
    first, second = desk.ask("a"), desk.ask("b")
    desk.finish()
    with first:
        pass
    assert desk.texts()[1:] == [["a", "b"]]
    assert not any(isinstance(message, Abandon) for message in desk.sent)
    desk.finish()
    assert events(second) == ["report"]


@in_a_loop
def test_small_check_interrupts_large_one() -> None:
    desk = Desk()
    desk.ask_sized("large", 100_000)
    desk.ask_sized("small", 200)
    desk.ask_sized("other", 200)
    desk.ask_sized("huge ", 200_000)
    assert desk.texts() == [["large"], ["small"]], "the other small one waits for the first"
    desk.finish()
    assert desk.texts()[2:] == [["other"]]
    desk.finish()
    assert len(desk.sent) == 3, "a larger one waits"


@in_a_loop
def test_large_check_waits_for_its_size() -> None:
    desk = Desk(batch=1)
    text = "x" * 20_000
    desk.ask_sized("x", 20_000)
    between = 0
    for at in range(100_000):
        before = len(desk.sent)
        desk.ask_sized(f"{at} ", 1000)
        if len(desk.sent) == before:
            break
        last = desk.sent[-1]
        assert isinstance(last, Batch)
        between += estimated_tokens(last.job.pairs[0])
        desk.finish()
    own = estimated_tokens(Pair(text, text))
    assert 0.9 * own < between <= own


@in_a_loop
def test_batch_is_small_enough_to_end_soon() -> None:
    desk = Desk(queue=100, batch=100)
    for at in range(60):
        desk.ask_sized(f"{at} ", 1000)
    desk.finish()
    batch = desk.sent[-1]
    assert isinstance(batch, Batch)
    assert 1 < len(batch.job.pairs) < 60
    assert sum(map(estimated_tokens, batch.job.pairs)) <= BATCH_TOKENS


@in_a_loop
def test_events_reach_those_who_watch() -> None:
    desk = Desk()
    desk.ask("busy")
    silent, watching = desk.ask("a"), desk.ask("b", watch=True)
    desk.finish()
    desk.on_message(BatchEvent(1, 0, CLAIMS))
    desk.on_message(BatchEvent(1, 1, CLAIMS))
    desk.on_message(BatchEvent(1, None, {"event": "progress"}))
    desk.finish()
    assert events(silent) == ["report"]
    assert events(watching) == ["claims", "progress", "report"]


def test_dead_worker_ends_every_job() -> None:
    async def run() -> None:
        desk = Desk()
        jobs = [desk.ask("running"), desk.ask("waiting")]
        desk.on_died()
        for job in jobs:
            with pytest.raises(ServiceError, match="another is being started"):
                await job.reports()
        with pytest.raises(ServiceError, match="not running yet"):
            desk.ask("early")
        assert desk.stats() is None
        desk.on_ready()
        desk.on_message(BatchEnd(0))  # of the dead one
        with pytest.raises(ServiceError, match="time is up"):
            await desk.ask("late", timeout=0.01).reports()

    asyncio.run(run())


def test_named_document_counts_by_its_text() -> None:
    text = "word " * 2000
    sources: list[Any] = [text, [text], {"id": "a", "text": text}, [{"id": "a", "text": text}]]
    assert len({estimated_tokens(Pair(source, "answer")) for source in sources}) == 1
    assert estimated_tokens(Pair(text, "answer")) > 2000


def test_conversion_is_not_interrupted() -> None:
    ours, theirs = Pipe()
    worker = CheckWorker(CheckSettings(), ModelDetectorPool, theirs)
    worker._running.append(Batch(7, Job(USUAL, ())))
    worker._abandoned.add(7)
    worker._on_progress("convert", 1, 2)
    worker.on_interrupt()
    with pytest.raises(BatchAbandoned):
        worker._on_progress("verify", 1, 2)
    ours.close()
