"""The worker's queue, and how often one may ask."""

from __future__ import annotations

import time
from threading import Thread
from types import SimpleNamespace

import pytest

from halldetect.errors import ConfigurationError
from halldetect.inputs import Pair
from halldetect.serve.rate_limit import Rate
from halldetect.serve.settings import Limits, Settings, Storage, Upstream, is_loopback
from halldetect.serve.worker.job_queue import Entry, Full, Queue
from halldetect.serve.worker.wire import Job, Options, decoded, submission, submitted

USUAL = Options("sentences", "embedded", "calibrated", 0.5, False)
OTHER = Options("sentences", "embedded", "fed", 0.5, False)


def job(name: str, count: int = 1, options: Options = USUAL, seconds: float = 60) -> Job:
    pairs = tuple(Pair("source", f"{name} {at}", None) for at in range(count))
    return Job(name, options, pairs, time.time() + seconds)


def names(entries: list[Entry]) -> list[str]:
    return [entry.pair.response for entry in entries]


def test_pairs_of_several_requests_go_together_up_to_the_limit() -> None:
    queue = Queue(10, 3)
    for name in "abcd":
        queue.offer(job(name))
    taken = queue.take()
    assert taken is not None
    assert names(taken[1]) == ["a 0", "b 0", "c 0"]
    assert (queue.running, len(queue)) == (3, 1)


def test_only_pairs_with_the_same_options_go_together_and_the_oldest_goes_first() -> None:
    queue = Queue(10, 4)
    for name, options in (("a", USUAL), ("b", OTHER), ("c", USUAL), ("d", OTHER)):
        queue.offer(job(name, options=options))
    batches = [queue.take(), queue.take()]
    assert [(batch[0], names(batch[1])) for batch in batches if batch] == [
        (USUAL, ["a 0", "c 0"]),
        (OTHER, ["b 0", "d 0"]),
    ]


def test_a_full_queue_takes_all_of_a_request_or_nothing() -> None:
    queue = Queue(4, 2)
    assert queue.offer(job("a", 3)) == 0
    assert isinstance(queue.offer(job("b", 2)), Full)
    assert queue.offer(job("c", 1)) == 3


def test_retry_after_follows_the_pace() -> None:
    queue = Queue(2, 2)
    queue.offer(job("a", 2))
    taken = queue.take()
    assert taken is not None
    queue.done(taken[1], 10.0)
    queue.offer(job("b", 2))
    assert queue.offer(job("c")) == Full(retry_after=10)


def test_what_nobody_waits_for_is_not_taken() -> None:
    queue = Queue(10, 10)
    late = job("late", seconds=-1)
    for one in (job("a", 2), late, job("b")):
        queue.offer(one)
    queue.cancel("a")
    taken = queue.take()
    assert taken is not None
    assert names(taken[1]) == ["b 0"]
    assert not queue.wanted(late)
    assert queue.wanted(taken[1][0].job)
    queue.cancel("b")
    assert not queue.wanted(taken[1][0].job)


def test_closing_ends_the_wait() -> None:
    queue = Queue(1, 1)
    ended: list[object] = []
    thread = Thread(target=lambda: ended.append(queue.take()))
    thread.start()
    queue.close()
    thread.join(5)
    assert ended == [None]


def test_a_job_survives_the_wire() -> None:
    odd = Job("a", USUAL, (Pair(["x\ud800", "y\n"], "z\x00", "q"),), 1.5, watch=True)
    assert submitted(decoded(submission(odd))) == odd
    assert submission(odd).count(b"\n") == 1


def test_a_caller_may_ask_so_often_and_others_are_not_touched() -> None:
    rate = Rate(60)
    assert [rate.wait("a") for _ in range(6)] == [0.0] * 6
    assert 0 < rate.wait("a") <= 1.0
    assert rate.wait("b") == 0.0
    assert Rate(0).wait("a") == 0.0
    assert Rate(60, 2).wait("a") == 0.0


def test_idle_callers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    # Not the clock itself: services of other tests run in threads here and go by it.
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("halldetect.serve.rate_limit.time", clock)
    rate = Rate(600)
    for caller in range(10_001):
        rate.wait(str(caller))
    now[0] = 100.0
    rate.wait("new")
    assert len(rate._buckets) == 1


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"host": "0.0.0.0"}, "needs tokens"),
        ({"host": "example.org"}, "needs tokens"),
        ({"port": 99999}, "no port"),
        ({"origins": ("*",)}, "name the origins"),
        ({"workers": 0}, "workers"),
        ({"limits": Limits(queue=5, max_items=6)}, "largest batch"),
        ({"limits": Limits(timeout=0)}, "timeout"),
    ],
)
def test_settings_that_make_no_sense(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Settings(Storage("sqlite:///x"), **given)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file:///etc/passwd", "must look like"),
        ("http://", "must look like"),
        ("http://a/v1?x=1", "must look like"),
        ("http://a:99999/v1", "must look like"),
        ("http://user:secret@a/v1", "HALLDETECT_UPSTREAM_API_KEY"),
    ],
)
def test_an_upstream_that_makes_no_sense(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        Upstream(url)
    assert "secret" not in str(caught.value)


def test_the_key_of_the_upstream_is_not_shown() -> None:
    assert "k-123" not in repr(Upstream("http://a/v1", key="k-123"))
    assert Upstream("http://a/v1/").endpoint == "http://a/v1/chat/completions"


def test_loopback() -> None:
    for host in ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost"):
        assert is_loopback(host)
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", ""):
        assert not is_loopback(host)
