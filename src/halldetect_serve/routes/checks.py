"""Routes that check: one response, a batch, or one with events while it is checked."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect_serve.answer_schemas import BatchResult, CheckResult
from halldetect_serve.dependencies import Context, RequestId, ServiceContext
from halldetect_serve.error_responses import error_object, service_error
from halldetect_serve.request_schemas import BatchRequest, CheckRequest, Form, Item, NamedDocument
from halldetect_serve.strict_json import StrictJsonRoute
from halldetect_serve.submission import (
    KEEP_ALIVE_COMMENT,
    KEEP_ALIVE_SECONDS,
    cancel_on_disconnect,
    compact_json,
    count_reports,
    store_reports,
    submit,
    wait_for_reports,
)
from halldetect_serve.worker.wire import FinishedReport
from halldetect_serve.worker.worker_client import PendingJob

router = APIRouter(tags=["check"], route_class=StrictJsonRoute)
_JSON = "application/json"
_EVENT_SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"enum": ["accepted", "progress", "claims", "verdict", "report", "error"]},
        "data": {"type": "string", "description": "JSON"},
    },
    "required": ["event", "data"],
}


@router.post("/v1/check", response_model=CheckResult)
async def check(
    body: CheckRequest, request: Request, context: Context, request_id: RequestId
) -> Response:
    """Check one response against its source."""
    with await submit(context, body, [item_pair(body)]) as job:
        (report,) = await cancel_on_disconnect(request, wait_for_reports(context, job))
    return Response(await _check_result(context, body, report, request_id), media_type=_JSON)


@router.post("/v1/check/batch", response_model=BatchResult)
async def check_batch(
    body: BatchRequest, request: Request, context: Context, request_id: RequestId
) -> Response:
    """Check many responses; the results come in the order of the items."""
    limit = context.settings.limits.max_items
    if len(body.items) > limit:
        raise service_error("invalid_request", f"items: at most {limit}, not {len(body.items)}")
    with await submit(context, body, [item_pair(item) for item in body.items]) as job:
        reports = await cancel_on_disconnect(request, wait_for_reports(context, job))
    stored = await store_reports(context, body, reports, request_id)
    results = ",".join(map(_with_report, reports, stored))
    text = f'{{"request_id":{json.dumps(request_id)},"results":[{results}]}}'
    return Response(text.encode(), media_type=_JSON)


@router.post(
    "/v1/check/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {"schema": _EVENT_SCHEMA}},
            "description": "accepted, progress, claims, verdict..., then report or error.",
        }
    },
)
async def check_stream(body: CheckRequest, context: Context, request_id: RequestId) -> Response:
    """Check one response, with claims as they are extracted and verdicts as they are reached."""
    job = await submit(context, body, [item_pair(body)], watch=True)
    return _EventStream(job, _events(context, body, job, request_id))


class _EventStream(StreamingResponse):
    """The job ends with the stream, even if the stream never begins."""

    def __init__(self, job: PendingJob, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self.headers["X-Accel-Buffering"] = "no"
        self._job = job

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._job:
            await super().__call__(scope, receive, send)


async def _events(
    context: ServiceContext, body: CheckRequest, job: PendingJob, request_id: str
) -> AsyncIterator[bytes]:
    yield _event("accepted", {"request_id": request_id, "queued": job.queued})
    waiting: asyncio.Task[dict[str, Any]] | None = None
    try:
        while True:
            waiting = waiting or asyncio.create_task(job.next_event())
            done, _ = await asyncio.wait({waiting}, timeout=KEEP_ALIVE_SECONDS)
            if not done:
                yield KEEP_ALIVE_COMMENT
                continue
            event, waiting = waiting.result(), None
            name = event.pop("event")
            if name == "report":
                report = FinishedReport(event["report"], event["overview"])
                count_reports(context, job, [report])
                result = await _check_result(context, body, report, request_id)
                yield b"event: report\ndata: " + result + b"\n\n"
                return
            yield _event(name, {key: value for key, value in event.items() if key != "id"})
    except ServiceError as error:
        yield _event("error", {"error": error_object(error, request_id)})
    finally:
        if waiting is not None:
            waiting.cancel()


def _event(name: str, data: dict[str, Any]) -> bytes:
    return f"event: {name}\ndata: {compact_json(data)}\n\n".encode()


def item_pair(item: Item) -> Pair:
    """Return the pair of a request."""
    source = item.source
    if isinstance(source, list):
        return Pair([_document(one) for one in source], item.response, item.question)
    return Pair(_document(source), item.response, item.question)


def _document(document: str | NamedDocument) -> str | dict[str, str]:
    return document if isinstance(document, str) else document.model_dump()


def _with_report(report: FinishedReport, fields: dict[str, Any]) -> str:
    """Return a JSON object with the report, as the worker wrote it, and further fields."""
    return f'{{"report":{report.json},{json.dumps(fields)[1:]}'


async def _check_result(
    context: ServiceContext, body: CheckRequest, report: FinishedReport, request_id: str
) -> bytes:
    """Store the report if asked to, and return the JSON of a CheckResult."""
    (stored,) = await store_reports(context, body, [report], request_id)
    forms: dict[str, Any] = dict.fromkeys(map(str, Form))
    if body.include:
        forms |= await anyio.to_thread.run_sync(_render, report.json, tuple(body.include))
    return _with_report(report, {**stored, **forms, "request_id": request_id}).encode()


def _render(text: str, wanted: tuple[Form, ...]) -> dict[str, Any]:
    from halldetect.render import html, markdown, payload
    from halldetect.report import Report

    report = Report.from_json(text)
    renderers: dict[Form, Callable[[Report], Any]] = {
        Form.VIEW: payload,
        Form.MARKDOWN: markdown,
        Form.HTML: html,
    }
    return {str(form): renderers[form](report) for form in wanted}
