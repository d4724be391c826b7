"""The queue of the worker, and the messages that fill it."""

from __future__ import annotations

import time

from halldetect.config import Configuration
from halldetect.inputs import Pair
from halldetect_serve.worker.job_queue import (
    BATCH_TOKENS,
    Accepted,
    JobQueue,
    QueueFull,
    WorkItem,
    estimated_tokens,
    work_key,
)
from halldetect_serve.worker.report_memory import RememberedCheck, ReportMemory
from halldetect_serve.worker.wire import FinishedReport, Job, decode, decode_job, encode_job

USUAL = Configuration(extractor="sentences")
OTHER = Configuration(extractor="sentences", scoring="fed")


def job(
    name: str, count: int = 1, configuration: Configuration = USUAL, seconds: float = 60
) -> Job:
    pairs = tuple(Pair("source", f"{name} {at}", None) for at in range(count))
    return Job(name, configuration, pairs, time.monotonic() + seconds)


def names(batch: list[WorkItem]) -> list[str]:
    return [item.pair.response for item in batch]


def put(queue: JobQueue, job: Job) -> Accepted | QueueFull:
    keys = {at: work_key(job.configuration, pair) for at, pair in enumerate(job.pairs)}
    return queue.put(job, keys)


def sized(name: str, characters: int, *, watch: bool = False) -> Job:
    """A job with one pair whose source and response have so many characters."""
    text = (name * characters)[:characters]
    return Job(name, USUAL, (Pair(text, text, None),), time.monotonic() + 60, watch)


def waiting_for(items: list[WorkItem]) -> list[list[str]]:
    return [[waiter.job.id for waiter in item.waiters] for item in items]


def test_pairs_of_several_requests_go_together_up_to_the_limit() -> None:
    queue = JobQueue(10, 3)
    for name in "abcd":
        put(queue, job(name))
    assert names(queue.take_batch()) == ["a 0", "b 0", "c 0"]
    assert (queue.stats()["running"], len(queue)) == (3, 1)


def test_only_pairs_with_the_same_options_go_together_and_the_oldest_goes_first() -> None:
    queue = JobQueue(10, 4)
    for name, configuration in (("a", USUAL), ("b", OTHER), ("c", USUAL), ("d", OTHER)):
        put(queue, job(name, configuration=configuration))
    batches = [queue.take_batch(), queue.take_batch()]
    assert [(batch[0].configuration, names(batch)) for batch in batches] == [
        (USUAL, ["a 0", "c 0"]),
        (OTHER, ["b 0", "d 0"]),
    ]


def test_a_full_queue_takes_all_of_a_request_or_nothing() -> None:
    queue = JobQueue(4, 2)
    assert put(queue, job("a", 3)) == Accepted(0)
    assert isinstance(put(queue, job("b", 2)), QueueFull)
    assert put(queue, job("c", 1)) == Accepted(3)


def test_retry_after_follows_the_pace() -> None:
    queue = JobQueue(2, 2)
    put(queue, job("a", 2))
    queue.batch_done(queue.take_batch(), 10.0)
    put(queue, job("b", 2))
    assert put(queue, job("c")) == QueueFull(retry_after=10)
    assert queue.stats() == {
        "queued": 2,
        "running": 0,
        "batches": 1,
        "pairs": 2,
        "shared": 0,
    }


def test_what_nobody_waits_for_is_not_taken() -> None:
    queue = JobQueue(10, 10)
    late = job("late", seconds=-1)
    for submitted in (job("a", 2), late, job("b")):
        put(queue, submitted)
    queue.cancel("a")
    batch = queue.take_batch()
    assert names(batch) == ["b 0"]
    assert queue.is_wanted(batch[0])
    queue.cancel("b")
    assert not queue.is_wanted(batch[0])
    queue.put_back(batch[0])
    assert len(queue) == 0


def test_a_small_check_goes_before_a_large_one() -> None:
    queue = JobQueue(10, 4)
    put(queue, sized("large", 100_000))
    put(queue, sized("small", 100))
    assert waiting_for(queue.take_batch()) == [["small"]]
    assert waiting_for(queue.take_batch()) == [["large"]], "too large to be checked with others"


def test_a_small_check_interrupts_a_large_one_but_not_another_small_one() -> None:
    queue = JobQueue(10, 4)
    put(queue, sized("large", 100_000))
    large = queue.take_batch()
    assert queue.take_urgent(large) == []
    put(queue, sized("small", 200))
    small = queue.take_urgent(large)
    assert waiting_for(small) == [["small"]]
    put(queue, sized("other", 200))
    assert queue.take_urgent(small) == []
    put(queue, sized("huge", 200_000))
    assert waiting_for(queue.take_urgent(large)) == [["other"]]
    assert queue.take_urgent(large) == [], "what is larger waits"


def test_a_large_check_waits_for_no_more_than_its_own_size() -> None:
    queue = JobQueue(1000, 1)
    put(queue, sized("large", 20_000))
    large = queue.take_batch()
    between = 0
    for at in range(100_000):
        put(queue, sized(f"small {at} ", 1000))
        if not (batch := queue.take_urgent(large)):
            break
        queue.batch_done(batch, 0.01)
        between += batch[0].size
    assert 0.9 * large[0].size < between <= large[0].size


def test_a_batch_is_small_enough_for_its_reports_to_come_soon() -> None:
    queue = JobQueue(100, 100)
    for at in range(60):
        put(queue, sized(f"{at} ", 1000))
    batch = queue.take_batch()
    assert 1 < len(batch) < 60
    assert sum(estimated_tokens(item.pair) for item in batch) <= BATCH_TOKENS


def test_equal_work_is_done_once_whoever_asks() -> None:
    queue = JobQueue(2, 4)
    first, second = job("a", 2), job("a", 2)
    other = Job("b", USUAL, (first.pairs[1], first.pairs[1]), time.monotonic() + 60, watch=True)
    put(queue, first)
    assert put(queue, other) == Accepted(2), "it takes no room"
    batch = queue.take_batch()
    assert waiting_for(batch) == [["a"], ["a", "b", "b"]]
    event = {"event": "claims"}
    assert [job.id for job in queue.record(batch[1], event)] == ["b", "b"]
    late = Job("c", USUAL, second.pairs[1:], time.monotonic() + 60, watch=True)
    assert put(queue, late) == Accepted(0, (event,)), "it hears what was said before"
    queue.cancel("a")
    queue.cancel("b")
    assert not queue.is_wanted(batch[0])
    assert queue.is_wanted(batch[1])
    assert [waiter.job.id for waiter in queue.finish(batch[1])] == ["c"]
    put(queue, late)
    assert len(queue) == 1, "a report that is on its way cannot be joined"
    assert queue.stats()["shared"] == 3


def test_work_that_is_joined_while_it_is_given_up_is_done_after_all() -> None:
    queue = JobQueue(2, 4)
    put(queue, job("a"))
    (item,) = queue.take_batch()
    queue.cancel("a")
    put(queue, Job("b", USUAL, (item.pair,), time.monotonic() + 60))
    queue.put_back(item)
    assert queue.take_batch() == [item]


def test_other_options_or_texts_are_other_work() -> None:
    pair = Pair("source", "response", None)
    keys = {
        work_key(USUAL, pair),
        work_key(OTHER, pair),
        work_key(USUAL, Pair("source", "response", "question")),
        work_key(USUAL, Pair(["source"], "response", None)),
        work_key(USUAL, Pair("sourcer", "esponse", None)),
    }
    assert len(keys) == 5
    assert work_key(USUAL, Pair("source", "response", None)) in keys


def test_the_memory_of_reports_is_bounded_and_forgets_the_longest_unused() -> None:
    memory = ReportMemory(40)
    reports = {name: RememberedCheck(FinishedReport(name * 8, {})) for name in "abc"}
    for name in "ab":
        memory.put(name.encode(), reports[name])
    assert memory.get(b"a") is reports["a"]
    memory.put(b"c", reports["c"])
    assert [memory.get(name.encode()) for name in "abc"] == [reports["a"], None, reports["c"]]
    assert memory.hits == 3
    memory.put(b"long", RememberedCheck(FinishedReport("x" * 21, {})))
    assert memory.get(b"long") is None
    nothing = ReportMemory(0)
    nothing.put(b"a", reports["a"])
    assert nothing.get(b"a") is None


def test_a_job_survives_the_wire() -> None:
    odd = Job("a", USUAL, (Pair(["x\ud800", "y\n"], "z\x00", "q"),), 1.5, watch=True)
    assert decode_job(decode(encode_job(odd))) == odd
    assert encode_job(odd).count(b"\n") == 1
