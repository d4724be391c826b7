"""How often one caller may send requests."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from halldetect_serve.rate_limit import RateLimiter


def test_a_caller_may_ask_so_often_and_others_are_not_touched() -> None:
    rate = RateLimiter(60)
    assert [rate.wait_seconds("a") for _ in range(6)] == [0.0] * 6
    assert 0 < rate.wait_seconds("a") <= 1.0
    assert rate.wait_seconds("b") == 0.0
    assert RateLimiter(0).wait_seconds("a") == 0.0
    assert RateLimiter(60, 2).wait_seconds("a") == 0.0


def test_idle_callers_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    # Not the clock itself: services of other tests run in threads here and go by it.
    clock = SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("halldetect_serve.rate_limit.time", clock)
    rate = RateLimiter(600)
    for caller in range(10_001):
        rate.wait_seconds(str(caller))
    now[0] = 100.0
    rate.wait_seconds("new")
    assert len(rate._buckets) == 1
