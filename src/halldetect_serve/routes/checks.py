"""Routes that check: one response, a batch, a stream, a repair, a comparison, a chat answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Annotated, Any

from anyio import to_process
from anyio.to_thread import run_sync
from fastapi import APIRouter, Query, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from halldetect.errors import InputError, MissingExtra, ServiceError
from halldetect.files.decoding import read_bytes
from halldetect.inputs import Pair
from halldetect_serve import context as parts
from halldetect_serve import rendering
from halldetect_serve.context import Context, ServiceContext, request_id, submit
from halldetect_serve.error_responses import error_object, service_error
from halldetect_serve.proxy.chat import ProxiedChat
from halldetect_serve.proxy.messages import ChatRequest, require_no_weaker
from halldetect_serve.routes import StrictJsonRoute
from halldetect_serve.schemas import (
    BatchRequest,
    BatchResult,
    CheckRequest,
    CheckResult,
    CompareRequest,
    RepairRequest,
)
from halldetect_serve.worker.process import FinishedReport
from halldetect_serve.worker.scheduler import PendingJob

router = APIRouter(tags=["check"], route_class=StrictJsonRoute)
_JSON = "application/json"
_EVENTS = "text/event-stream"
_FILE_BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.post("/v1/check", response_model=CheckResult)
async def check(body: CheckRequest, request: Request, context: Context) -> Response:
    """Check one response against its source."""
    work = parts.check_pairs(context, body, [body.pair()])
    (report,) = await parts.cancel_on_disconnect(request, work)
    result = await _check_result(context, body, report, request_id(request))
    return Response(result, media_type=_JSON)


@router.post("/v1/check/batch", response_model=BatchResult)
async def check_batch(body: BatchRequest, request: Request, context: Context) -> Response:
    """Check many responses; the results come in the order of the items."""
    limit = context.settings.limits.max_items
    if len(body.items) > limit:
        raise service_error("invalid_request", f"items: at most {limit}, not {len(body.items)}")
    work = parts.check_pairs(context, body, [item.pair() for item in body.items])
    reports = await parts.cancel_on_disconnect(request, work)
    stored = await parts.store_reports(context, body, reports, request_id(request))
    results = ",".join(map(_with_report, reports, stored))
    text = f'{{"request_id":{json.dumps(request_id(request))},"results":[{results}]}}'
    return Response(text.encode(), media_type=_JSON)


@router.post("/v1/read", response_model=dict[str, str], openapi_extra=_FILE_BODY)
async def read(
    request: Request,
    context: Context,
    name: Annotated[str, Query(max_length=1000)],
    evidence: bool = False,
) -> object:
    """Return the text of a file, also of PDF, DOCX and HTML, as the command line reads it.

    With `evidence`, for a source, text that a reader of the file does not see is left out.
    """
    # In a process of its own, which can be stopped: a small file can take long to unpack.
    work = to_process.run_sync(_file_text, await request.body(), name, evidence, cancellable=True)
    try:
        async with asyncio.timeout(context.settings.limits.timeout):
            text, refusal = await parts.cancel_on_disconnect(request, work)
    except TimeoutError:
        raise service_error("deadline_exceeded", "the file takes too long to read") from None
    if refusal:
        raise service_error("invalid_request", refusal)
    return {"text": text}


def _file_text(data: bytes, name: str, evidence: bool) -> tuple[str, str]:
    """Return the text of a file, or why it cannot be read."""
    try:
        return read_bytes(data, name, evidence=evidence), ""
    except (InputError, MissingExtra) as error:
        return "", str(error)


@router.post(
    "/v1/check/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {_EVENTS: {"schema": {"type": "object", "required": ["event", "data"]}}},
            "description": "accepted, progress, claims, verdict..., then report or error.",
        }
    },
)
async def check_stream(body: CheckRequest, request: Request, context: Context) -> Response:
    """Check one response, with claims and verdicts as events while it is checked."""
    stack = AsyncExitStack()
    job = stack.enter_context(submit(context, body, [body.pair()], watch=True))
    events = _events(context, body, job, request_id(request))
    return _OwningStream(stack, parts.with_keep_alive(events))


class _OwningStream(StreamingResponse):
    """A stream that releases its resources at its end, even if it never begins."""

    def __init__(self, owned: AsyncExitStack, parts: AsyncIterator[bytes]) -> None:
        super().__init__(parts, media_type=_EVENTS, headers={"X-Accel-Buffering": "no"})
        self._owned = owned

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._owned:
            await super().__call__(scope, receive, send)


async def _events(
    context: ServiceContext, body: CheckRequest, job: PendingJob, request_id: str
) -> AsyncIterator[bytes]:
    yield _event("accepted", {"request_id": request_id, "queued": job.queued})
    try:
        while True:
            event = await job.next_event()
            name = event["event"]
            if name == "report":
                parts.count_reports(context, job, [event["report"]])
                result = await _check_result(context, body, event["report"], request_id)
                yield b"event: report\ndata: " + result + b"\n\n"
                return
            yield _event(name, {key: value for key, value in event.items() if key != "event"})
    except ServiceError as error:
        yield _event("error", {"error": error_object(error, request_id)})


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {parts.compact_json(data)}\n\n".encode()


def _with_report(report: FinishedReport, fields: dict[str, Any]) -> str:
    """Return a JSON object with the report text of the worker and further fields."""
    return f'{{"report":{report.json},{json.dumps(fields)[1:]}'


async def _check_result(
    context: ServiceContext, body: CheckRequest, report: FinishedReport, request_id: str
) -> bytes:
    """Store the report if asked to, and return the JSON of a CheckResult."""
    (stored,) = await parts.store_reports(context, body, [report], request_id)
    forms = await run_sync(rendering.report_forms, report.json, body.include)
    return _with_report(report, {**stored, **forms, "request_id": request_id}).encode()


@router.post("/v1/repair", response_model=dict[str, Any], tags=["repair"])
async def repair(body: RepairRequest, request: Request, context: Context) -> Response:
    """Replace, shorten or remove unsupported parts of a response, and check the result."""
    with submit(context, body, [body.pair()], repair=True) as job:
        (finished,) = await parts.cancel_on_disconnect(request, job.reports())
    view = await run_sync(rendering.repair_tree, finished.json)
    fields = parts.compact_json({"request_id": request_id(request), "view": view})
    return Response(f'{{"repair":{finished.json},{fields[1:]}'.encode(), media_type=_JSON)


@router.post("/v1/compare", response_model=dict[str, Any], tags=["compare"])
async def compare_responses(body: CompareRequest, request: Request, context: Context) -> object:
    """Check two responses and say which claims differ and which the source supports."""
    source = body.model_dump()["source"]
    pairs = [Pair(source, text, body.question) for text in (body.a, body.b)]
    work = parts.check_pairs(context, body, pairs)
    finished = await parts.cancel_on_disconnect(request, work)
    compared = await run_sync(rendering.compared, [report.json for report in finished])
    return {"request_id": request_id(request), **compared}


@router.post(
    "/v1/chat/completions",
    response_model=dict[str, Any],
    responses={200: {"content": {_EVENTS: {"schema": {"type": "object"}}}}},
    tags=["proxy"],
)
async def chat_completions(body: ChatRequest, request: Request, context: Context) -> Response:
    """Ask the upstream, and check its answer against the sources in the request.

    The sources are `halldetect.sources`; without it, those in the places that the operator named,
    by default messages with the role `tool` or the name `source`, or the context in a prompt.
    Without sources the answer is uncheckable.
    """
    if context.upstream is None:
        raise service_error("not_found", "this service has no upstream")
    if body.options.store:
        context.require_reports()
    parts.resolve_options(context.settings.checks, body.options)
    if context.upstream.settings.action != "annotate":
        require_no_weaker(context.settings.checks, body.options)
    # In a thread, because a prompt may be megabytes long.
    read = await run_sync(body.read, context.upstream.settings.sources)
    proxied = ProxiedChat(context, context.upstream, body, read, request_id(request))
    if not body.stream:
        answer = await parts.cancel_on_disconnect(request, proxied.answer())
        return Response(parts.compact_json(answer).encode(), media_type=_JSON)
    async with AsyncExitStack() as stack:
        # Opened here, so that a refusal of the upstream gets an error status.
        chunks = await stack.enter_async_context(context.upstream.stream(proxied.body))
        return _OwningStream(stack.pop_all(), proxied.stream(chunks))
