"""The server: starts the worker and uvicorn, and builds the ASGI application of the routes."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing, suppress
from http import HTTPStatus
from typing import Any

import anyio.to_thread
import uvicorn
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Security
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from halldetect import __version__
from halldetect.errors import ConfigurationError, ServiceError
from halldetect_serve.context import ServiceContext, request_id
from halldetect_serve.database import Database
from halldetect_serve.error_responses import STATUS_BY_CODE, error_response, service_error
from halldetect_serve.middleware import RequestMiddleware
from halldetect_serve.report_store import ReportStore
from halldetect_serve.routes import MAX_KEYS, checks, history, status
from halldetect_serve.schemas import NamedDocument, Problem
from halldetect_serve.settings import ServiceSettings
from halldetect_serve.worker.process import DetectorPoolFactory, ModelDetectorPool
from halldetect_serve.worker.scheduler import Scheduler
from halldetect_serve.worker.supervisor import WorkerSupervisor

log = logging.getLogger("halldetect_serve")
_PRUNE_SECONDS = 3600.0
_ERRORS = sorted(set(STATUS_BY_CODE.values()) - {405, 501})
_NOT_JSON = (
    f"the body is not JSON, or has a key twice, more than {MAX_KEYS:,} keys, or a number that is "
    "not finite"
)
# Names of pydantic for the forms that a value may have.
_FORMS = ("constrained-", "literal[", "list[", NamedDocument.__name__)
_HTTP_ERRORS = {
    400: ("invalid_json", _NOT_JSON),
    404: ("not_found", "nothing is at this address"),
    405: ("method_not_allowed", "this address does not take this method"),
}


def run_server(
    settings: ServiceSettings, pool_factory: DetectorPoolFactory = ModelDetectorPool
) -> None:
    """Serve until SIGTERM or SIGINT, then finish the running requests."""
    # SIGTERM before uvicorn runs leaves every `with` below, as Ctrl-C does. Later uvicorn handles
    # both signals, drains, and raises them again at the end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s")
    log.setLevel(logging.INFO)
    with suppress(KeyboardInterrupt), open_listener(settings) as listener:
        create_tables(settings)
        with WorkerSupervisor(settings.checks, pool_factory) as supervisor:
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]" if ":" in host else host
            print(f"halldetect: serving on http://{shown}:{port}", file=sys.stderr, flush=True)
            uvicorn.Server(uvicorn_config(settings, supervisor)).run(sockets=[listener])


def create_tables(settings: ServiceSettings) -> None:
    """Create the tables of the database if reports are stored."""
    if settings.storage.reports:
        with closing(Database(settings.storage.url)) as database:
            database.create()


def open_listener(settings: ServiceSettings) -> socket.socket:
    """Open the socket to serve on, or raise ConfigurationError."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With the protocol set to TCP, asyncio disables Nagle's algorithm.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((settings.host.strip("[]"), settings.port))
    except OSError as error:
        listener.close()
        address = f"{settings.host}:{settings.port}"
        raise ConfigurationError(f"cannot serve on {address}: {error.strerror}") from None
    listener.listen(1024)
    return listener


def uvicorn_config(settings: ServiceSettings, supervisor: WorkerSupervisor) -> uvicorn.Config:
    """Return the configuration of uvicorn, which logs warnings only."""
    return uvicorn.Config(
        create_app(settings, supervisor),
        log_config=None,
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http="h11",
        ws="none",
        timeout_keep_alive=30,
        timeout_graceful_shutdown=round(settings.limits.drain),
    )


def create_app(settings: ServiceSettings, supervisor: WorkerSupervisor) -> FastAPI:
    """Build the application over a worker."""
    scheduler = Scheduler(settings.limits, supervisor.send)
    context = ServiceContext.create(settings, scheduler)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        supervisor.attach(scheduler)
        pruning = asyncio.create_task(_prune(context.reports)) if context.reports else None
        try:
            yield
        finally:
            if pruning is not None:
                pruning.cancel()
            await context.close()

    app = FastAPI(
        title="HallDetect",
        version=__version__,
        summary="Checks a text against its source, and names the claim that is wrong.",
        docs_url=None,  # its page would load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.context = context
    errors: dict[int | str, dict[str, Any]] = {
        code: {"model": Problem, "description": HTTPStatus(code).phrase} for code in _ERRORS
    }
    # For the API description only: the middleware has checked the token before any route runs.
    bearer = [Security(HTTPBearer(auto_error=False))] if settings.auth else []
    for module in (checks, history, status):
        app.include_router(module.router, responses=errors, dependencies=bearer)
    app.include_router(status.open_router, responses=errors)
    app.include_router(status.page_router)
    app.add_exception_handler(RequestValidationError, _on_invalid_request)
    app.add_exception_handler(HTTPException, _on_http_error)
    app.add_middleware(RequestMiddleware, context=context)
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-Id"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
    _publish_limits(app, settings)
    return app


def _publish_limits(app: FastAPI, settings: ServiceSettings) -> None:
    """Add the verifiers and the batch size of this service to the API description."""
    schemas = app.openapi()["components"]["schemas"]
    for schema in ("CheckRequest", "RepairRequest", "CompareRequest", "BatchRequest", "Guarding"):
        properties = schemas[schema]["properties"]
        properties["verifier"]["anyOf"][0]["enum"] = list(settings.checks.verifiers)
        if "items" in properties:
            properties["items"]["maxItems"] = settings.limits.max_items


async def _prune(reports: ReportStore) -> None:
    """Delete old reports every hour, even when no new ones come in."""
    while True:
        try:
            await anyio.to_thread.run_sync(reports.prune)
        except ServiceError as error:
            log.error("old reports could not be deleted: %s", error)
        await asyncio.sleep(_PRUNE_SECONDS)


async def _on_invalid_request(request: Request, error: Exception) -> Response:
    """Name a field that does not match and why, a misspelt one first; never quote the request."""
    assert isinstance(error, RequestValidationError)
    # Of several forms of a value, the one that it comes closest to has the longest place.
    first = min(error.errors(), key=lambda it: (it["type"] != "extra_forbidden", -len(it["loc"])))
    place = ".".join(part for part in map(str, first["loc"]) if not part.startswith(_FORMS))
    field = place.removeprefix("body").removeprefix(".")[:100].encode("ascii", "replace").decode()
    why = "unknown name" if first["type"] == "extra_forbidden" else first["msg"]
    why = f"{field}: {why}" if field else "the body must be a JSON object, sent as application/json"
    is_json = first["type"] != "json_invalid"
    problem = ("invalid_request", why) if is_json else ("invalid_json", "the body is not JSON")
    return error_response(service_error(*problem), request_id(request))


async def _on_http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    unreadable = ("invalid_request", "the request cannot be read")
    code, message = _HTTP_ERRORS.get(error.status_code, unreadable)
    response = error_response(service_error(code, message), request_id(request))
    if allow := (error.headers or {}).get("Allow"):
        response.headers["Allow"] = allow
    return response
