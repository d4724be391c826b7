"""The queue of the worker, and the messages that fill it."""

from __future__ import annotations

import time

from halldetect.config import Configuration
from halldetect.inputs import Pair
from halldetect.serve.worker.job_queue import JobQueue, QueuedPair, QueueFull
from halldetect.serve.worker.wire import Job, decode, decode_job, encode_job

USUAL = Configuration(extractor="sentences")
OTHER = Configuration(extractor="sentences", scoring="fed")


def job(
    name: str, count: int = 1, configuration: Configuration = USUAL, seconds: float = 60
) -> Job:
    pairs = tuple(Pair("source", f"{name} {at}", None) for at in range(count))
    return Job(name, configuration, pairs, time.time() + seconds)


def names(batch: list[QueuedPair]) -> list[str]:
    return [item.pair.response for item in batch]


def test_pairs_of_several_requests_go_together_up_to_the_limit() -> None:
    queue = JobQueue(10, 3)
    for name in "abcd":
        queue.put(job(name))
    assert names(queue.take_batch()) == ["a 0", "b 0", "c 0"]
    assert (queue.stats()["running"], len(queue)) == (3, 1)


def test_only_pairs_with_the_same_options_go_together_and_the_oldest_goes_first() -> None:
    queue = JobQueue(10, 4)
    for name, configuration in (("a", USUAL), ("b", OTHER), ("c", USUAL), ("d", OTHER)):
        queue.put(job(name, configuration=configuration))
    batches = [queue.take_batch(), queue.take_batch()]
    assert [(batch[0].job.configuration, names(batch)) for batch in batches] == [
        (USUAL, ["a 0", "c 0"]),
        (OTHER, ["b 0", "d 0"]),
    ]


def test_a_full_queue_takes_all_of_a_request_or_nothing() -> None:
    queue = JobQueue(4, 2)
    assert queue.put(job("a", 3)) == 0
    assert isinstance(queue.put(job("b", 2)), QueueFull)
    assert queue.put(job("c", 1)) == 3


def test_retry_after_follows_the_pace() -> None:
    queue = JobQueue(2, 2)
    queue.put(job("a", 2))
    queue.batch_done(queue.take_batch(), 10.0)
    queue.put(job("b", 2))
    assert queue.put(job("c")) == QueueFull(retry_after=10)
    assert queue.stats() == {"queued": 2, "running": 0, "batches": 1, "pairs": 2}


def test_what_nobody_waits_for_is_not_taken() -> None:
    queue = JobQueue(10, 10)
    late = job("late", seconds=-1)
    for submitted in (job("a", 2), late, job("b")):
        queue.put(submitted)
    queue.cancel("a")
    batch = queue.take_batch()
    assert names(batch) == ["b 0"]
    assert not queue.is_wanted(late)
    assert queue.is_wanted(batch[0].job)
    queue.cancel("b")
    assert not queue.is_wanted(batch[0].job)


def test_a_job_survives_the_wire() -> None:
    odd = Job("a", USUAL, (Pair(["x\ud800", "y\n"], "z\x00", "q"),), 1.5, watch=True)
    assert decode_job(decode(encode_job(odd))) == odd
    assert encode_job(odd).count(b"\n") == 1
