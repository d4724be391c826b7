"""The counters and histograms of the service, in the text format of Prometheus."""

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
# Read by prometheus_client; `server.py` sets it where several HTTP processes count together.
MULTIPROCESS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
_WORKER_GAUGES = {
    "queued": "Pairs that wait to be checked.",
    "running": "Pairs being checked.",
    "batches": "Batches since the worker started.",
    "pairs": "Pairs of source and response since the worker started.",
    "shared": "Pairs that joined an equal one that was waiting or being checked.",
    "remembered": "Pairs whose report was still in memory.",
}
_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class ServiceMetrics:
    """The metrics of one HTTP process.

    Labels hold routes, codes, states and phases only, never what a caller sent.
    """

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
        self.proxied = Counter(
            "halldetect_guarded_answers",
            "Answers of the upstream by what was done with them.",
            ("action",),
            registry=registry,
        )

    def count_report(self, overview: dict[str, Any]) -> None:
        """Count one finished report.

        Args:
            overview: what `worker.process.report_overview` returns for the report.
        """
        self.verdicts.labels(overview["verdict"]).inc()
        self.pairs.inc(overview["pairs_judged"])
        for status, count in overview["claims"].items():
            self.claims.labels(status).inc(count)
        for phase, seconds in overview["seconds"].items():
            self.phases.labels(phase).observe(seconds)

    def to_text(self, worker_stats: dict[str, Any] | None) -> bytes:
        """Return all metrics in the text format of Prometheus.

        Args:
            worker_stats: what the worker reports of itself; None if it does not answer.
        """
        registry = self._registry
        if os.environ.get(MULTIPROCESS_FOLDER):
            registry = CollectorRegistry()
            multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        worker_registry = CollectorRegistry()
        worker_registry.register(_WorkerCollector(worker_stats))
        return generate_latest(registry) + generate_latest(worker_registry)


class _WorkerCollector:
    """The gauges of the worker, which is asked at the moment of the scrape."""

    def __init__(self, stats: dict[str, Any] | None) -> None:
        self._stats = stats

    def collect(self) -> Iterator[GaugeMetricFamily]:
        is_up = 0 if self._stats is None else 1
        yield GaugeMetricFamily("halldetect_worker_up", "1 while the worker answers.", is_up)
        for name, meaning in _WORKER_GAUGES.items():
            value = (self._stats or {}).get(name, 0)
            yield GaugeMetricFamily(f"halldetect_worker_{name}", meaning, value)
