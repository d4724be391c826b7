"""Routes about the service itself."""

from __future__ import annotations

import anyio.to_thread
from fastapi import APIRouter, Request, Response

from halldetect import __version__
from halldetect.scoring import SCORINGS
from halldetect.serve import prometheus as metrics
from halldetect.serve.dependencies import ANYBODY, Here
from halldetect.serve.error_responses import problem
from halldetect.serve.schemas import Models, Session, State
from halldetect.serve.settings import EMBEDDED
from halldetect.serve.storage.access_tokens import SCOPES, Token

router = APIRouter(tags=["service"])
# What needs no token, even where tokens are wanted (see `edge.py`).
open_router = APIRouter(tags=["service"])
_KNOWN = {
    "auto": "the small language model if it is to be had, else sentences",
    "sentences": "each sentence is one claim; no language model",
    EMBEDDED: "the verifier in the package",
}


@open_router.get("/healthz", response_model=State)
async def health() -> object:
    """The process answers."""
    return {"status": "ok"}


@open_router.get("/readyz", response_model=State)
async def ready(here: Here) -> object:
    """The worker has its models and answers."""
    if await here.judge.stats() is None:
        raise problem("worker_failed", "the worker does not answer; it is being started")
    return {"status": "ready"}


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def counted(here: Here) -> Response:
    """Counters and histograms for Prometheus."""
    stats = await here.judge.stats()
    text = await anyio.to_thread.run_sync(here.metrics.text, stats)
    return Response(text, headers={"Content-Type": metrics.CONTENT_TYPE})


@router.get("/v1/models", response_model=Models)
async def models(here: Here) -> object:
    """The extractors and verifiers that a request may name."""
    checking = here.settings.checking

    def listed(names: tuple[str, ...]) -> list[dict[str, str]]:
        return [{"name": name, "description": _KNOWN.get(name, "a model")} for name in names]

    return {
        "default": {"extractor": checking.extractor, "verifier": checking.verifier},
        "extractors": listed(checking.extractors),
        "verifiers": listed(checking.verifiers),
        "scorings": list(SCORINGS),
        "defaults": {
            "scoring": checking.scoring,
            "threshold": checking.threshold,
            "exact": checking.exact,
        },
    }


@open_router.get("/v1/session", response_model=Session)
async def session(request: Request, here: Here) -> object:
    """Who is asking, and what may be asked; open to everybody."""
    settings = here.settings
    caller: Token | None = request.scope.get("caller")
    return {
        "auth_required": settings.auth,
        "authenticated": caller is not None,
        "token_name": None if caller is None or caller is ANYBODY else caller.name,
        "scopes": [scope for scope in SCOPES if caller is not None and caller.may(scope)],
        "storage": here.store is not None,
        "version": __version__,
        "limits": {
            "max_body_bytes": settings.limits.max_body,
            "max_source": settings.checking.max_source,
            "max_response": settings.checking.max_response,
            "max_items": settings.limits.max_items,
            "timeout_seconds": settings.limits.timeout,
        },
    }
