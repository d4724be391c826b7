"""What the routes of one HTTP process share, and how a route gets hold of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from fastapi import Depends, Request

from halldetect_serve.error_responses import service_error
from halldetect_serve.prometheus import ServiceMetrics
from halldetect_serve.proxy.upstream import UpstreamClient
from halldetect_serve.rate_limit import RateLimiter
from halldetect_serve.settings import ServiceSettings
from halldetect_serve.shutdown import ShutdownNotice
from halldetect_serve.storage.access_tokens import SCOPES, AccessToken, TokenStore
from halldetect_serve.storage.database import Database
from halldetect_serve.storage.report_store import ReportStore, Retention
from halldetect_serve.worker.worker_client import WorkerClient

# The caller of a service without tokens, who may do everything.
ANONYMOUS = AccessToken("anybody", frozenset(SCOPES), 0.0)


@dataclass(frozen=True, slots=True)
class AppArguments:
    """What the parent process passes to each HTTP process; it can be pickled.

    settings       the settings of the service
    worker_socket  path of the Unix socket on which the worker listens
    """

    settings: ServiceSettings
    worker_socket: Path


@dataclass(frozen=True, slots=True)
class ServiceContext:
    """The parts of one HTTP process.

    settings  the settings of the service
    worker    connection to the worker process
    metrics   counters for Prometheus
    rate      limit on requests per caller
    database  None where neither reports nor tokens are stored
    reports   stored reports; None where the operator has not turned storage on
    tokens    access tokens; None where none are needed
    upstream  chat server behind the proxy; None for no proxy
    shutdown  whether the process was asked to stop
    """

    settings: ServiceSettings
    worker: WorkerClient
    metrics: ServiceMetrics
    rate: RateLimiter
    database: Database | None
    reports: ReportStore | None
    tokens: TokenStore | None
    upstream: UpstreamClient | None
    shutdown: ShutdownNotice

    @classmethod
    def create(cls, arguments: AppArguments) -> ServiceContext:
        """Build the parts from the settings; the connection to the worker is not yet started."""
        settings = arguments.settings
        storage, upstream = settings.storage, settings.upstream
        database = open_database(settings)
        retention = Retention(storage.keep_days, storage.keep_reports)
        return cls(
            settings=settings,
            worker=WorkerClient(arguments.worker_socket),
            metrics=ServiceMetrics(),
            rate=RateLimiter(settings.limits.rate, settings.workers),
            database=database,
            reports=ReportStore(database, retention) if database and storage.reports else None,
            tokens=TokenStore(database) if database and settings.auth else None,
            upstream=None if upstream is None else UpstreamClient(upstream),
            shutdown=ShutdownNotice(),
        )

    def require_reports(self) -> ReportStore:
        """Return the stored reports.

        Raises:
            ServiceError: `storage_off` where the operator has not turned storage on.
        """
        if self.reports is None:
            raise service_error("storage_off", "this service keeps no reports")
        return self.reports


def open_database(settings: ServiceSettings) -> Database | None:
    """Open the database; None where nothing is stored, and then no file is created either."""
    if not (settings.auth or settings.storage.reports):
        return None
    return Database(settings.storage.url)


def request_id(request: Request) -> str:
    """Return the id that the middleware gave to the request."""
    return str(request.scope.get("request_id", ""))


def _context(request: Request) -> ServiceContext:
    context: ServiceContext = request.app.state.context
    return context


Context = Annotated[ServiceContext, Depends(_context)]
RequestId = Annotated[str, Depends(request_id)]
