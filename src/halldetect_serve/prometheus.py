"""The counters and histograms of the service, in the text format of Prometheus."""

from __future__ import annotations

from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_WORKER_GAUGES = {
    "up": "1 while the worker answers.",
    "queued": "Pairs that wait to be checked.",
    "running": "Pairs being checked.",
}
_SECONDS = (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class ServiceMetrics:
    """The metrics of the service; labels hold routes, codes, states and phases only."""

    def __init__(self) -> None:
        self._registry = registry = CollectorRegistry()

        def counter(name: str, meaning: str, *labels: str) -> Counter:
            return Counter(f"halldetect_{name}", meaning, labels, registry=registry)

        def histogram(name: str, meaning: str, label: str) -> Histogram:
            name = f"halldetect_{name}"
            return Histogram(name, meaning, (label,), buckets=_SECONDS, registry=registry)

        self._worker = {
            name: Gauge(f"halldetect_worker_{name}", meaning, registry=registry)
            for name, meaning in _WORKER_GAUGES.items()
        }
        by_route = "Requests by route, method and status."
        self.requests = counter("requests", by_route, "route", "method", "status")
        self.latency = histogram("request_seconds", "From first byte to last byte sent.", "route")
        self.phases = histogram("phase_seconds", "Time by phase; queue is the wait.", "phase")
        self.pairs = counter("pairs_judged", "Pairs of claim and window judged.")
        self.verdicts = counter("verdicts", "Reports by verdict.", "verdict")
        self.claims = counter("claims", "Claims by state.", "status")
        self.proxied = counter("guarded_answers", "Proxied answers by action.", "action")

    def count_report(self, overview: dict[str, Any]) -> None:
        """Count one finished report by its overview; see `worker.process.report_overview`."""
        self.verdicts.labels(overview["verdict"]).inc()
        self.pairs.inc(overview["pairs_judged"])
        for status, count in overview["claims"].items():
            self.claims.labels(status).inc(count)
        for phase, seconds in overview["seconds"].items():
            self.phases.labels(phase).observe(seconds)

    def to_text(self, worker_stats: dict[str, Any] | None) -> bytes:
        """Return all metrics as text; pass `worker_stats` as None if the worker does not answer."""
        numbers = {} if worker_stats is None else {**worker_stats, "up": 1}
        for name, gauge in self._worker.items():
            gauge.set(numbers.get(name, 0))
        return generate_latest(self._registry)
