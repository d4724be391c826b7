"""Routes about the service itself (health, metrics, models, session) and the files of the page.

A file is looked up in a table, never joined to a path.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from importlib import resources
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import Any

from anyio.to_thread import run_sync
from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from halldetect import __version__
from halldetect.errors import ServiceError
from halldetect.report import demo
from halldetect.verification.presets import describe_verifier
from halldetect_serve.access import SCOPES, AccessToken
from halldetect_serve.context import METRICS_TYPE, Context, token_name
from halldetect_serve.error_responses import service_error

router = APIRouter(tags=["service"])
# Needs no token, even where tokens are required (see `middleware.py`).
open_router = APIRouter(tags=["service"])
page_router = APIRouter(include_in_schema=False)

INDEX = "index.html"
EXAMPLE = "example.json"
# The report view is shared with HTML reports.
_FOLDERS = ("halldetect_serve", "page"), ("halldetect.render", "assets")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".svg": "image/svg+xml",
}


@open_router.get("/healthz", response_model=dict[str, str])
async def health() -> object:
    """Report that the process answers."""
    return {"status": "ok"}


@open_router.get("/readyz", response_model=dict[str, str])
async def ready(context: Context) -> object:
    """Report that the worker has loaded its models and answers."""
    if not context.worker.is_ready:
        raise service_error("worker_failed", "the worker does not answer; it is being started")
    return {"status": "ready"}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def counted(context: Context) -> Response:
    """Return counters and histograms for Prometheus."""
    text = await run_sync(context.metrics.to_text, context.worker.stats())
    return Response(text, headers={"Content-Type": METRICS_TYPE})


@router.get("/v1/models", response_model=dict[str, Any])
async def models(context: Context) -> object:
    """List the verifiers that a request may name, and in `data` the models of the upstream."""
    data, upstream_error = [], None
    try:
        data = [] if context.upstream is None else await context.upstream.models()
    except ServiceError as error:
        upstream_error = str(error)
    checks = context.settings.checks
    return {
        "object": "list",
        "data": data,
        "upstream_error": upstream_error,
        "verifiers": [
            {"name": name, "description": describe_verifier(name)} for name in checks.verifiers
        ],
        "defaults": {
            "verifier": checks.verifiers[0],
            "threshold": checks.configuration.threshold,
        },
    }


@open_router.get("/v1/session", response_model=dict[str, Any])
async def session(request: Request, context: Context) -> object:
    """Return the caller's rights and the features of this service; needs no token."""
    settings = context.settings
    caller: AccessToken | None = request.scope.get("caller")
    return {
        "auth_required": settings.auth,
        "authenticated": caller is not None,
        "token_name": token_name(request),
        "scopes": [scope for scope in SCOPES if caller is not None and caller.allows(scope)],
        "storage": context.reports is not None,
        "pdf": find_spec("weasyprint") is not None,
        "version": __version__,
        "limits": {
            "max_body_bytes": settings.limits.max_body,
            "max_source": settings.checks.configuration.max_source,
            "max_response": settings.checks.configuration.max_response,
            "max_items": settings.limits.max_items,
            "timeout_seconds": settings.limits.timeout,
        },
    }


@page_router.get("/")
def index(request: Request) -> Response:
    """Return the page."""
    return _file_response(request, INDEX)


@page_router.get("/static/{name}")
def static(request: Request, name: str) -> Response:
    """Return a script, style sheet or image of the page."""
    if name == INDEX or name not in static_files():
        raise HTTPException(404, "there is no such file")
    return _file_response(request, name)


@cache
def static_files() -> dict[str, bytes]:
    """Return the files of the page by name."""
    folders = [resources.files(package) / name for package, name in _FOLDERS]
    files = {file.name: file.read_bytes() for folder in folders for file in folder.iterdir()}
    example = {"source": [demo.SOURCE], "response": demo.RESPONSE, "question": demo.QUESTION}
    return {**files, EXAMPLE: json.dumps(example).encode()}


def _file_response(request: Request, name: str) -> Response:
    """Return a file. Browsers revalidate it each time, so versions never mix."""
    body = static_files()[name]
    etag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Cache-Control": "no-cache"}
    if request.headers.get("if-none-match") == etag:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=_TYPES[PurePosixPath(name).suffix], headers=headers)
