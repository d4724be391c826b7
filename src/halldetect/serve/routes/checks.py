"""Routes that check: one pair, many, or one watched while it is checked."""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncIterator, Coroutine, Sequence
from typing import Any, TypeVar

import anyio.to_thread
from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect.serve import error_responses as problems
from halldetect.serve.dependencies import Here, RequestId, Service
from halldetect.serve.error_responses import problem
from halldetect.serve.middleware import ClientGone
from halldetect.serve.schemas import (
    BatchRequest,
    BatchResult,
    CheckRequest,
    CheckResult,
    Chosen,
    Form,
    Item,
)
from halldetect.serve.settings import CheckSettings
from halldetect.serve.worker.wire import Options
from halldetect.serve.worker.worker_client import FinishedReport, PendingJob

log = logging.getLogger("halldetect.serve")
router = APIRouter(tags=["check"])
KEEP_ALIVE = 10.0
JSON = "application/json"
Result = TypeVar("Result")
_EVENTS = {
    "type": "object",
    "properties": {
        "event": {"enum": ["accepted", "progress", "claims", "verdict", "report", "error"]},
        "data": {"type": "string", "description": "JSON"},
    },
    "required": ["event", "data"],
}


@router.post("/v1/check", response_model=CheckResult)
async def check(given: CheckRequest, request: Request, here: Here, name: RequestId) -> Response:
    """Check one response against its source."""
    ticket = await submit(here, given, [given])
    with ticket:
        (found,) = await unless_gone(request, collect(here, ticket))
    return Response(await result(here, given, found, name), media_type=JSON)


@router.post("/v1/check/batch", response_model=BatchResult)
async def check_batch(
    given: BatchRequest, request: Request, here: Here, name: RequestId
) -> Response:
    """Check many responses; the results come in the order of the items."""
    if len(given.items) > here.settings.limits.max_items:
        limit = here.settings.limits.max_items
        raise problem("invalid_request", f"items: at most {limit}, not {len(given.items)}")
    with await submit(here, given, given.items) as ticket:
        found = await unless_gone(request, collect(here, ticket))
    kept = await keep(here, given.store, found, name)
    results = ",".join(
        f'{{"report":{each.report},{json.dumps(place)[1:]}'
        for each, place in zip(found, kept, strict=True)
    )
    text = f'{{"request_id":{json.dumps(name)},"results":[{results}]}}'
    return Response(text.encode(), media_type=JSON)


@router.post(
    "/v1/check/stream",
    response_class=StreamingResponse,
    responses={
        200: {
            "content": {"text/event-stream": {"schema": _EVENTS}},
            "description": "accepted, progress, claims, verdict..., then report or error.",
        }
    },
)
async def check_stream(given: CheckRequest, here: Here, name: RequestId) -> Response:
    """Check one response and watch: claims as they are extracted, verdicts as they are reached."""
    ticket = await submit(here, given, [given], watch=True)
    return _Watched(ticket, _told(here, given, ticket, name))


class _Watched(StreamingResponse):
    """Whatever becomes of the stream, even if it never begins, its job does not outlive it."""

    def __init__(self, ticket: PendingJob, events: AsyncIterator[bytes]) -> None:
        super().__init__(events, media_type="text/event-stream")
        self.headers["X-Accel-Buffering"] = "no"
        self._ticket = ticket

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._ticket:
            await super().__call__(scope, receive, send)


async def _told(
    here: Service, given: CheckRequest, ticket: PendingJob, name: str
) -> AsyncIterator[bytes]:
    yield event("accepted", {"request_id": name, "queued": ticket.queued})
    waiting: asyncio.Task[dict[str, Any]] | None = None
    try:
        while True:
            waiting = waiting or asyncio.create_task(ticket.next())
            done, _ = await asyncio.wait({waiting}, timeout=KEEP_ALIVE)
            if not done:
                yield b":\n\n"
                continue
            message, waiting = waiting.result(), None
            kind = message.pop("event")
            if kind == "report":
                found = FinishedReport(message["report"], message["facts"])
                _count(here, ticket, [found])
                yield b"event: report\ndata: " + await result(here, given, found, name) + b"\n\n"
                return
            yield event(kind, {key: value for key, value in message.items() if key != "id"})
    except ServiceError as error:
        yield event("error", {"error": problems.described(error, name)})
    finally:
        if waiting is not None:
            waiting.cancel()


def event(kind: str, data: dict[str, Any]) -> bytes:
    return f"event: {kind}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n".encode()


async def submit(
    here: Service,
    chosen: Chosen,
    items: Sequence[Item],
    *,
    watch: bool = False,
) -> PendingJob:
    """A place in the queue for what a request asks, once it is known to ask for what there is."""
    if chosen.store:
        _ = here.kept
    options = choose(here.settings.checking, chosen)
    limit = here.settings.limits.timeout
    seconds = limit if chosen.timeout_seconds is None else min(limit, chosen.timeout_seconds)
    pairs = tuple(Pair(item.source, item.response, item.question) for item in items)
    if here.settings.log_text:
        for pair in pairs:
            log.info("source %r response %r", pair.source, pair.response)
    return await here.judge.submit(options, pairs, seconds, watch=watch)


def choose(checking: CheckSettings, chosen: Chosen) -> Options:
    """The request's choices over the service's; models only from the operator's list."""

    def among(role: str, name: str | None, names: tuple[str, ...]) -> str:
        if name is not None and name not in names:
            raise problem("unknown_model", f"{role}: not a name of GET /v1/models")
        return names[0] if name is None else name

    return Options(
        extractor=among("extractor", chosen.extractor, checking.extractors),
        verifier=among("verifier", chosen.verifier, checking.verifiers),
        scoring=chosen.scoring or checking.scoring,
        threshold=checking.threshold if chosen.threshold is None else chosen.threshold,
        exact=checking.exact if chosen.exact is None else chosen.exact,
    )


async def collect(here: Service, ticket: PendingJob) -> list[FinishedReport]:
    found = await ticket.findings()
    _count(here, ticket, found)
    return found


def _count(here: Service, ticket: PendingJob, found: list[FinishedReport]) -> None:
    for each in found:
        here.metrics.count(each.facts)
    worked = sum(sum(each.facts["seconds"].values()) for each in found)
    waited = time.monotonic() - ticket.started - worked
    here.metrics.phases.labels("queue").observe(max(0.0, waited))


async def result(here: Service, given: CheckRequest, found: FinishedReport, name: str) -> bytes:
    """The JSON of a CheckResult; the report goes into it as the worker wrote it."""
    (kept,) = await keep(here, given.store, [found], name)
    forms: dict[str, Any] = dict.fromkeys(map(str, Form))
    if given.include:
        forms |= await anyio.to_thread.run_sync(_forms, found.report, tuple(given.include))
    rest = json.dumps({**kept, **forms, "request_id": name})
    return f'{{"report":{found.report},{rest[1:]}'.encode()


def _forms(text: str, wanted: tuple[Form, ...]) -> dict[str, Any]:
    from halldetect.render import html, markdown, payload
    from halldetect.report import Report

    report = Report.from_json(text)
    renderers = {Form.VIEW: payload, Form.MARKDOWN: markdown, Form.HTML: html}
    return {str(form): renderers[form](report) for form in wanted}


async def keep(
    here: Service, asked: bool, found: list[FinishedReport], name: str
) -> list[dict[str, Any]]:
    """Where each report was stored. A store that fails costs nobody the report."""
    nothing: dict[str, Any] = {"stored": None, "store_error": None}
    if not asked:
        return [nothing] * len(found)
    try:
        ids = await anyio.to_thread.run_sync(here.kept.add, found)
    except ServiceError as error:
        return [{**nothing, "store_error": problems.described(error, name)}] * len(found)
    return [{**nothing, "stored": {"id": id_, "url": f"/v1/reports/{id_}"}} for id_ in ids]


async def unless_gone(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The outcome of the work; once the client has gone, the work is cancelled."""
    task = asyncio.create_task(work)
    gone = asyncio.create_task(_gone(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ClientGone
        return task.result()
    finally:
        task.cancel()
        gone.cancel()


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
