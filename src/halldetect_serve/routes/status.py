"""Routes about the service itself: health, metrics, models, session."""

from __future__ import annotations

from importlib.util import find_spec

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from halldetect import __version__
from halldetect.claims.extractors import describe_extractor
from halldetect.errors import ServiceError
from halldetect.scoring import SCORINGS
from halldetect.verification.presets import describe_verifier
from halldetect_serve.answer_schemas import Models, Session, State, UpstreamModel
from halldetect_serve.dependencies import ANONYMOUS, Context, ServiceContext
from halldetect_serve.error_responses import service_error
from halldetect_serve.prometheus import CONTENT_TYPE
from halldetect_serve.request_schemas import Defaults
from halldetect_serve.settings import EMBEDDED
from halldetect_serve.storage.access_tokens import SCOPES, AccessToken

router = APIRouter(tags=["service"])
# Needs no token, even where tokens are required (see `middleware.py`).
open_router = APIRouter(tags=["service"])


@open_router.get("/healthz", response_model=State)
async def health() -> object:
    """The process answers."""
    return {"status": "ok"}


@open_router.get("/readyz", response_model=State)
async def ready(context: Context) -> object:
    """The worker has its models and answers."""
    if await context.worker.stats() is None:
        raise service_error("worker_failed", "the worker does not answer; it is being started")
    return {"status": "ready"}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def counted(context: Context) -> Response:
    """Counters and histograms for Prometheus."""
    stats = await context.worker.stats()
    text = await anyio.to_thread.run_sync(context.metrics.to_text, stats)
    return Response(text, headers={"Content-Type": CONTENT_TYPE})


@router.get("/v1/models", response_model=Models)
async def models(context: Context) -> object:
    """The extractors and verifiers that a request may name, and the models of the upstream."""
    data, upstream_error = await _upstream_models(context)
    checks = context.settings.checks
    extractors = {name: describe_extractor(name) for name in checks.extractors}
    verifiers = {
        name: describe_verifier(None if name == EMBEDDED else name) for name in checks.verifiers
    }
    return {
        "data": data,
        "upstream_error": upstream_error,
        "default": {"extractor": checks.extractors[0], "verifier": checks.verifiers[0]},
        "extractors": _named(extractors),
        "verifiers": _named(verifiers),
        "scorings": list(SCORINGS),
        "defaults": {name: getattr(checks.configuration, name) for name in Defaults.model_fields},
    }


async def _upstream_models(context: ServiceContext) -> tuple[list[UpstreamModel], str | None]:
    """The models, or why there are none; the page needs the rest of the answer in any case."""
    if context.upstream is None:
        return [], None
    try:
        return await context.upstream.models(), None
    except ServiceError as error:
        return [], str(error)


def _named(descriptions: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "description": text} for name, text in descriptions.items()]


@open_router.get("/v1/session", response_model=Session)
async def session(request: Request, context: Context) -> object:
    """Who is asking, and what this service offers; needs no token."""
    settings = context.settings
    caller: AccessToken | None = request.scope.get("caller")
    return {
        "auth_required": settings.auth,
        "authenticated": caller is not None,
        "token_name": None if caller is None or caller is ANONYMOUS else caller.name,
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
