"""The load test of benchmarks/serve.py, held to what is promised."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks import serve as bench
from tests.support.running import Running, serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def service() -> Iterator[Running]:
    with serving(*bench.LIMITS) as running:
        yield running


@pytest.fixture(scope="module")
def loaded(service: Running) -> Any:
    return bench.measure_load(service, 40)


def test_capacity_without_errors(loaded: Any) -> None:
    run = loaded["capacity"]
    assert run["statuses"] == {"200": run["requests"]}
    assert run["mixed"] == 0
    # The bound in the results is for a machine that does nothing else. Other suites run beside
    # this one, which slows all requests down alike: none may wait much longer than most do.
    assert run["p99_ms"] <= max(3 * loaded["p99_bound_ms"], 5 * run["p50_ms"])


def test_overload_refuses_the_rest(loaded: Any) -> None:
    run = loaded["four_times"]
    assert set(run["statuses"]) == {"200", "429"}
    assert sum(run["statuses"].values()) == run["requests"]
    assert run["mixed"] == 0


def test_memory_stays_flat_over_thousands_of_requests(service: Running) -> None:
    found = bench.measure_memory(service, 2000, 500)
    for process in ("http_mb", "worker_mb"):
        early, late = found[1][process], found[-1][process]
        assert late - early < 8, [row[process] for row in found]
