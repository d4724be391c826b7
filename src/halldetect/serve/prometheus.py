"""What the service counts, in Prometheus' text form."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    generate_latest,
    multiprocess,
)
from prometheus_client.core import GaugeMetricFamily

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Set by `run.py` where several HTTP processes count together.
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_WORKER = {
    "queued": "Pairs that wait to be checked.",
    "running": "Pairs being checked.",
    "batches": "Batches since the worker started.",
    "pairs": "Pairs of source and response since the worker started.",
}
_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class Metrics:
    """No label ever holds what a caller sent: routes, codes, states and phases only."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "halldetect_requests",
            "Requests by route, method and status.",
            ("route", "method", "status"),
            registry=registry,
        )
        self.latency = Histogram(
            "halldetect_request_seconds",
            "From the first byte of a request to the last of its answer.",
            ("route",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.phases = Histogram(
            "halldetect_phase_seconds",
            "Time of a check by phase; queue is the wait before it.",
            ("phase",),
            buckets=_SECONDS,
            registry=registry,
        )
        self.pairs = Counter(
            "halldetect_pairs_judged", "Pairs of claim and window judged.", registry=registry
        )
        self.verdicts = Counter(
            "halldetect_verdicts", "Reports by verdict.", ("verdict",), registry=registry
        )
        self.claims = Counter(
            "halldetect_claims", "Claims by state.", ("status",), registry=registry
        )
        self.guarded = Counter(
            "halldetect_guarded_answers",
            "Answers of the upstream by what was done with them.",
            ("action",),
            registry=registry,
        )

    def count(self, facts: dict[str, Any]) -> None:
        """One finished report."""
        self.verdicts.labels(facts["verdict"]).inc()
        self.pairs.inc(facts["pairs_judged"])
        for status, count in facts["claims"].items():
            self.claims.labels(status).inc(count)
        for phase, seconds in facts["seconds"].items():
            self.phases.labels(phase).observe(seconds)

    def text(self, stats: dict[str, Any] | None) -> bytes:
        registry = self._registry
        if os.environ.get(SHARED_FOLDER):
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        worker = CollectorRegistry()
        worker.register(_Worker(stats))
        return generate_latest(registry) + generate_latest(worker)


class _Worker:
    """The worker is asked at the moment of the scrape, by whichever process is scraped."""

    def __init__(self, stats: dict[str, Any] | None) -> None:
        self._stats = stats

    def collect(self) -> Iterator[GaugeMetricFamily]:
        up = 0 if self._stats is None else 1
        yield GaugeMetricFamily("halldetect_worker_up", "1 while the worker answers.", up)
        for name, meaning in _WORKER.items():
            value = (self._stats or {}).get(name, 0)
            yield GaugeMetricFamily(f"halldetect_worker_{name}", meaning, value)
