"""The guarding proxy: forwards a chat request and checks the answer against its sources.

annotate  the answer goes through, and its field `halldetect` says what the check found
block     a hallucinated answer is replaced by a notice
retry     the upstream is asked again, with what was wrong; in the end as block
repair    a hallucinated answer is replaced by what a repair makes of it; if that fails, as block

A stream that is only annotated goes through as it comes. With block and repair each sentence is
judged when it is complete, and passed on, replaced or held back; block ends at the first sentence
that fails. With retry a stream waits for the verdict on the whole.
With all but annotate, only fields that were checked or that hold no text are passed on.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from halldetect_serve.dependencies import Context, RequestId
from halldetect_serve.error_responses import service_error
from halldetect_serve.proxy.messages import (
    ChatRequest,
    require_no_weaker,
)
from halldetect_serve.proxy.proxied_chat import ProxiedChat
from halldetect_serve.strict_json import StrictJsonRoute
from halldetect_serve.submission import (
    cancel_on_disconnect,
    resolve_options,
)

router = APIRouter(tags=["proxy"], route_class=StrictJsonRoute)


@router.post(
    "/v1/chat/completions",
    response_model=dict[str, Any],
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "object"}}}}},
)
async def chat_completions(
    body: ChatRequest, request: Request, context: Context, request_id: RequestId
) -> Response:
    """Ask the upstream, and check its answer against the sources in the request.

    The sources are `halldetect.sources`; without it, what the service is told to look for, by
    default messages of the role `tool`, those whose `name` is `source`, or the context in a
    prompt. Without any the answer is uncheckable.
    """
    if context.upstream is None:
        raise service_error("not_found", "this service has no upstream")
    if body.options.store:
        context.require_reports()
    resolve_options(context.settings.checks, body.options)
    if context.upstream.settings.action != "annotate":
        require_no_weaker(context.settings.checks, body.options)
    proxied = ProxiedChat(context, context.upstream, body, request_id)
    if not body.stream:
        return JSONResponse(await cancel_on_disconnect(request, proxied.answer()))
    async with AsyncExitStack() as stack:
        # Opened here, so that a refusal of the upstream is answered before the stream begins.
        chunks = await stack.enter_async_context(proxied.upstream.stream(proxied.body))
        return _ChatStream(stack.pop_all(), proxied.stream(chunks))


class _ChatStream(StreamingResponse):
    """The stream of the upstream is closed with this one."""

    def __init__(self, stack: AsyncExitStack, parts: AsyncIterator[bytes]) -> None:
        super().__init__(parts, media_type="text/event-stream")
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await super().__call__(scope, receive, send)
