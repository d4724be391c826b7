"""The application of one HTTP process: its parts, its routes, its error handlers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.params import Security
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from halldetect import __version__
from halldetect.errors import ServiceError
from halldetect.serve import error_responses as problems
from halldetect.serve.dependencies import AppArguments, Service, request_id
from halldetect.serve.error_responses import problem
from halldetect.serve.middleware import RequestMiddleware
from halldetect.serve.prometheus import Metrics
from halldetect.serve.proxy.upstream import Chat
from halldetect.serve.rate_limit import Rate
from halldetect.serve.routes import chat_completions as proxy
from halldetect.serve.routes import checks, history, status
from halldetect.serve.routes import static_files as pages
from halldetect.serve.schemas import Problem
from halldetect.serve.settings import Settings
from halldetect.serve.storage.access_tokens import Tokens
from halldetect.serve.storage.database import Database
from halldetect.serve.storage.report_store import Retention, Store
from halldetect.serve.worker.worker_client import WorkerClient

log = logging.getLogger("halldetect.serve")
_PRUNE_EVERY = 3600.0
_DESCRIBED = {
    400: "The body is not JSON.",
    401: "A token is missing or unknown.",
    403: "The token has not the scope.",
    404: "There is no such thing.",
    408: "The request took too long to arrive.",
    409: "The service keeps no reports.",
    413: "The request is too large.",
    422: "The request does not fit its description.",
    429: "Too many requests, or too much waits to be checked; see Retry-After.",
    500: "A defect of the service.",
    502: "The upstream failed.",
    503: "The worker or the database is not to be had; see Retry-After.",
    504: "Time is up.",
}
_CODES: dict[int, str] = {404: "not_found", 405: "method_not_allowed", 400: "invalid_json"}


def create_app(shared: AppArguments) -> FastAPI:
    service = _service(shared)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        await service.judge.start()
        pruning = asyncio.create_task(_prune(service.store)) if service.store else None
        try:
            yield
        finally:
            if pruning is not None:
                pruning.cancel()
            await service.judge.stop()
            if service.chat is not None:
                await service.chat.close()
            if service.database is not None:
                service.database.close()

    app = FastAPI(
        title="HallDetect",
        version=__version__,
        summary="Tells whether a text is faithful to its source, and which claim is wrong.",
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        lifespan=lifespan,
    )
    app.state.service = service
    errors: dict[int | str, dict[str, Any]] = {
        code: {"model": Problem, "description": text} for code, text in _DESCRIBED.items()
    }
    # Only for the description: the edge has checked the token before anything gets here.
    bearer = [Security(HTTPBearer(auto_error=False))] if shared.settings.auth else []
    for part in (checks, history, proxy, status):
        app.include_router(part.router, responses=errors, dependencies=bearer)
    app.include_router(status.open_router, responses=errors)
    app.include_router(pages.router)
    app.add_exception_handler(ServiceError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_middleware(RequestMiddleware, service=lambda: service)
    if shared.settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=shared.settings.origins,
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "X-Request-Id"],
            expose_headers=["Retry-After", "X-Request-Id"],
        )
    _describe(app, shared.settings)
    return app


def _describe(app: FastAPI, settings: Settings) -> None:
    """Publish what this very service takes: the models it offers, the size of a batch."""
    published = app.openapi()
    names = {"extractor": settings.checking.extractors, "verifier": settings.checking.verifiers}
    for name in ("CheckRequest", "BatchRequest", "Guarding"):
        properties = published["components"]["schemas"][name]["properties"]
        for role, known in names.items():
            properties[role]["anyOf"][0]["enum"] = list(known)
        if "items" in properties:
            properties["items"]["maxItems"] = settings.limits.max_items


def _service(shared: AppArguments) -> Service:
    settings = shared.settings
    database = open_database(settings)
    storage = settings.storage
    keep = Retention(storage.keep_days, storage.keep_reports)
    return Service(
        settings=settings,
        judge=WorkerClient(shared.worker),
        metrics=Metrics(),
        rate=Rate(settings.limits.rate, settings.workers),
        database=database,
        store=Store(database, keep) if database is not None and storage.reports else None,
        tokens=Tokens(database) if database is not None and settings.auth else None,
        chat=None if settings.upstream is None else Chat(settings.upstream),
    )


def open_database(settings: Settings) -> Database | None:
    """None where nothing is kept: then there is no file, either."""
    if not (settings.auth or settings.storage.reports):
        return None
    return Database(settings.storage.url)


async def _prune(store: Store) -> None:
    """Age takes its toll even when nothing new comes in."""
    while True:
        try:
            await anyio.to_thread.run_sync(store.prune)
        except ServiceError as error:
            log.error("old reports could not be deleted: %s", error)
        await asyncio.sleep(_PRUNE_EVERY)


def _answer(error: ServiceError, request: Request) -> Response:
    return Response(
        problems.body(error, request_id(request)),
        status_code=error.status,
        media_type="application/json",
        headers=problems.headers(error),
    )


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, ServiceError)
    return _answer(error, request)


async def _invalid(request: Request, error: Exception) -> Response:
    """Where the misfit is and what would fit; what was sent is not quoted."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return _answer(problem("invalid_json", "the body is not JSON"), request)
    place = ".".join(str(part) for part in first["loc"] if part != "body")[:100]
    place = place.encode("ascii", "replace").decode()
    return _answer(problem("invalid_request", f"{place or 'body'}: {first['msg']}"), request)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    code = _CODES.get(error.status_code, "invalid_request")
    words = {
        "not_found": "there is nothing at this address",
        "method_not_allowed": "not with this method",
        "invalid_json": "the body cannot be read as JSON",
    }
    answer = _answer(problem(code, words.get(code, "the request cannot be read")), request)
    if allow := (error.headers or {}).get("Allow"):
        answer.headers["Allow"] = allow
    return answer
