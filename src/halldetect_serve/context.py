"""The parts that the routes share, and the way of a check to the worker."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, TypeVar

import anyio.to_thread
from fastapi import Depends, Request
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from halldetect.config import Configuration
from halldetect.errors import ConfigurationError, ServiceError
from halldetect.inputs import Pair
from halldetect.verification.presets import DEFAULT
from halldetect_serve.access import ANONYMOUS, AccessToken, RateLimiter, TokenTable
from halldetect_serve.database import Database
from halldetect_serve.error_responses import ClientGone, error_object, service_error
from halldetect_serve.proxy.upstream import UpstreamClient
from halldetect_serve.report_store import ReportStore
from halldetect_serve.schemas import CheckOptions
from halldetect_serve.settings import CheckSettings, ServiceSettings
from halldetect_serve.worker.process import FinishedReport, Job
from halldetect_serve.worker.scheduler import PendingJob, Scheduler

# Seconds between comments in an event stream; they keep the connection open.
KEEP_ALIVE_SECONDS = 10.0
KEEP_ALIVE_COMMENT = b":\n\n"
Result = TypeVar("Result")
METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
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


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The parts of the service; None where storage, tokens or the proxy are off."""

    settings: ServiceSettings
    worker: Scheduler
    metrics: ServiceMetrics
    rate: RateLimiter
    reports: ReportStore | None
    tokens: TokenTable | None
    upstream: UpstreamClient | None

    @classmethod
    def create(cls, settings: ServiceSettings, worker: Scheduler) -> ServiceContext:
        """Build the parts from the settings."""
        storage, upstream = settings.storage, settings.upstream
        return cls(
            settings=settings,
            worker=worker,
            metrics=ServiceMetrics(),
            rate=RateLimiter(settings.limits.rate),
            reports=ReportStore(Database(storage.url), storage) if storage.reports else None,
            tokens=TokenTable(settings.tokens) if settings.auth else None,
            upstream=None if upstream is None else UpstreamClient(upstream),
        )

    async def close(self) -> None:
        """Close all connections."""
        if self.upstream is not None:
            await self.upstream.close()
        if self.reports is not None:
            self.reports.database.close()

    def require_reports(self) -> ReportStore:
        """Return the stored reports, or raise ServiceError `storage_off`."""
        if self.reports is None:
            raise service_error("storage_off", "this service keeps no reports")
        return self.reports


def request_id(request: Request) -> str:
    """Return the id that the middleware gave to the request."""
    return str(request.scope.get("request_id", ""))


def token_name(request: Request) -> str | None:
    """Return the name of the caller's token; None without a token."""
    caller: AccessToken | None = request.scope.get("caller")
    return None if caller is None or caller is ANONYMOUS else caller.name


def _context(request: Request) -> ServiceContext:
    context: ServiceContext = request.app.state.context
    return context


Context = Annotated[ServiceContext, Depends(_context)]


def submit(
    context: ServiceContext,
    options: CheckOptions,
    pairs: Sequence[Pair],
    *,
    watch: bool = False,
    repair: bool = False,
) -> PendingJob:
    """Validate the options and queue the pairs; see `Job` for the arguments."""
    if options.store:
        context.require_reports()
    configuration = resolve_options(context.settings.checks, options)
    limit = context.settings.limits.timeout
    timeout = min(limit, options.timeout_seconds or limit)
    if options.missing and not all(pair.question for pair in pairs):
        raise service_error("invalid_request", "missing: needs a question")
    asked = [replace(pair, missing=options.missing, words=options.words) for pair in pairs]
    job = Job(configuration, tuple(asked), watch, repair)
    return context.worker.submit(job, timeout)


def resolve_options(settings: CheckSettings, options: CheckOptions) -> Configuration:
    """Return the service's configuration with the options of the request, or raise ServiceError."""
    changes: dict[str, Any] = {}
    if options.verifier is not None:
        if options.verifier not in settings.verifiers:
            raise service_error("unknown_model", "verifier: not a name of GET /v1/models")
        changes["verifier"] = None if options.verifier == DEFAULT else options.verifier
    if options.threshold is not None:
        changes["threshold"] = options.threshold
    try:
        return settings.configuration.replaced(**changes) if changes else settings.configuration
    except ConfigurationError as error:
        raise service_error("invalid_request", str(error)) from None


async def check_pairs(
    context: ServiceContext, options: CheckOptions, pairs: Sequence[Pair]
) -> list[FinishedReport]:
    """Check pairs and count their reports; raise the error that ended the job."""
    with submit(context, options, pairs) as job:
        return count_reports(context, job, await job.reports())


def count_reports(
    context: ServiceContext, job: PendingJob, reports: list[FinishedReport]
) -> list[FinishedReport]:
    """Count the finished reports of a job, and how long the job waited in the queue."""
    for report in reports:
        context.metrics.count_report(report.overview)
    worked = sum(sum(report.overview["seconds"].values()) for report in reports)
    waited = time.monotonic() - job.started - worked
    context.metrics.phases.labels("queue").observe(max(0.0, waited))
    return reports


async def store_reports(
    context: ServiceContext, options: CheckOptions, reports: list[FinishedReport], request_id: str
) -> list[dict[str, Any]]:
    """Store the reports if asked to; return `stored` and `store_error` of the answer for each."""
    nothing: dict[str, Any] = {"stored": None, "store_error": None}
    if not options.store:
        return [nothing] * len(reports)
    try:
        ids = await anyio.to_thread.run_sync(context.require_reports().add, reports)
    except ServiceError as error:
        return [{**nothing, "store_error": error_object(error, request_id)}] * len(reports)
    return [{**nothing, "stored": {"id": id, "url": f"/v1/reports/{id}"}} for id in ids]


async def cancel_on_disconnect(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Return the result of `work`; cancel it and raise ClientGone if the client disconnects."""
    task = asyncio.create_task(work)
    disconnect = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait({task, disconnect}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        task.cancel()
        disconnect.cancel()


async def with_keep_alive(parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Yield the parts of an event stream, with comments during long pauses."""
    waiting: asyncio.Future[bytes] | None = None
    try:
        while True:
            waiting = waiting or asyncio.ensure_future(anext(parts))
            done, _ = await asyncio.wait({waiting}, timeout=KEEP_ALIVE_SECONDS)
            if not done:
                yield KEEP_ALIVE_COMMENT
                continue
            try:
                part, waiting = waiting.result(), None
            except StopAsyncIteration:
                return
            yield part
    finally:
        if waiting is not None:
            waiting.cancel()


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def compact_json(value: Any) -> str:
    """Return a value as JSON without spaces, on one line."""
    return json.dumps(value, separators=(",", ":"))
