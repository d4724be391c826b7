"""The guarding proxy: forwards a chat request and checks the answer against its sources.

annotate  the answer goes through, and says in its field `halldetect` what was found
block     an answer that is hallucinated is held back; a notice stands in its place
retry     it is asked for again, told what was wrong, and held back in the end

A stream that is only annotated goes through as it comes; otherwise it waits for the verdict.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

from fastapi import APIRouter, Request, Response
from starlette.responses import JSONResponse, StreamingResponse
from starlette.types import Receive, Scope, Send

from halldetect.errors import ServiceError
from halldetect.inputs import Pair
from halldetect.serve import error_responses as problems
from halldetect.serve.dependencies import Here, RequestId, Service
from halldetect.serve.error_responses import problem
from halldetect.serve.proxy.messages import (
    ChatRequest,
    Judged,
    asked_again,
    index_of,
    notice,
    summed,
    text_of,
    texts,
)
from halldetect.serve.proxy.upstream import Chat, Chunk
from halldetect.serve.routes.checks import KEEP_ALIVE, choose, collect, keep, unless_gone

router = APIRouter(tags=["proxy"])
_DONE = b"data: [DONE]\n\n"


@router.post(
    "/v1/chat/completions",
    response_model=dict[str, Any],
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "object"}}}}},
)
async def chat_completions(
    given: ChatRequest, request: Request, here: Here, name: RequestId
) -> Response:
    """Ask the upstream, and check its answer against the sources in the request.

    The sources are `halldetect.sources`; without it, the messages of the role `tool` and those
    whose `name` is `source`. Without any the answer is uncheckable.
    """
    if here.chat is None:
        raise problem("not_found", "this service has no upstream")
    if given.chosen.store:
        _ = here.kept
    choose(here.settings.checking, given.chosen)
    guard = _Guard(here, here.chat, given, name)
    if not given.stream:
        return JSONResponse(await unless_gone(request, guard.answer()))
    async with AsyncExitStack() as stack:
        # A refusal of the upstream is known, and told as such, before the stream begins.
        chunks = await stack.enter_async_context(guard.chat.stream(guard.body))
        return _Streamed(stack.pop_all(), guard.stream(chunks))


class _Streamed(StreamingResponse):
    def __init__(self, stack: AsyncExitStack, parts: AsyncIterator[bytes]) -> None:
        super().__init__(parts, media_type="text/event-stream")
        self._stack = stack

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._stack:
            await super().__call__(scope, receive, send)


class _Guard:
    """One chat request on its way to an answer that may be shown."""

    def __init__(self, here: Service, chat: Chat, given: ChatRequest, name: str) -> None:
        self.here = here
        self.chat = chat
        self.given = given
        self.name = name
        self.body = given.forwarded()
        self.attempts = 1

    @property
    def action(self) -> str:
        return self.chat.settings.action

    async def answer(self) -> dict[str, Any]:
        answer = await self.chat.complete(self.body)
        try:
            judged = await self.judge(texts(answer))
            while self._again(judged):
                answer = await self.chat.complete(self.body)
                judged = await self.judge(texts(answer))
        except ServiceError as error:
            return {**answer, "halldetect": self._unchecked(error)}
        blocked = self._blocked(judged)
        for at, choice in enumerate(answer["choices"]):
            if (index := index_of(choice, at)) in blocked:
                told = notice(next(one for one in judged if one.index == index))
                choice["message"] = {"role": "assistant", "content": told}
                choice["finish_reason"] = "content_filter"
                choice.pop("logprobs", None)
        return {**answer, "halldetect": self._summed(judged, blocked)}

    async def stream(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        try:
            parts = self._as_it_comes if self.action == "annotate" else self._after_the_verdict
            async for part in parts(chunks):
                yield part
            yield _DONE
        except ServiceError as error:
            yield _data({"error": problems.described(error, self.name)})

    async def _as_it_comes(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        seen: list[Chunk] = []
        async for chunk in chunks:
            seen.append(chunk)
            yield _data(chunk)
        task = asyncio.create_task(self.judge(_joined(seen)))
        async for beat in _beats(task):
            yield beat
        try:
            found = self._summed(task.result(), set())
        except ServiceError as error:
            found = self._unchecked(error)
        yield _data(_last(seen, found))

    async def _after_the_verdict(self, chunks: AsyncIterator[Chunk]) -> AsyncIterator[bytes]:
        task = asyncio.create_task(self._settle(chunks))
        async for beat in _beats(task):
            yield beat
        seen, judged = task.result()
        blocked = self._blocked(judged)
        for chunk in seen:
            choices = chunk.get("choices", [])
            left = [choice for choice in choices if index_of(choice) not in blocked]
            if left or not choices:
                yield _data({**chunk, "choices": left})
        for one in judged:
            if one.index in blocked:
                delta = {"role": "assistant", "content": notice(one)}
                choice = {"index": one.index, "delta": delta, "finish_reason": "content_filter"}
                yield _data({**_frame(seen), "choices": [choice]})
        yield _data(_last(seen, self._summed(judged, blocked)))

    async def _settle(self, chunks: AsyncIterator[Chunk]) -> tuple[list[Chunk], list[Judged]]:
        seen = [chunk async for chunk in chunks]
        judged = await self.judge(_joined(seen))
        while self._again(judged):
            async with self.chat.stream(self.body) as more:
                seen = [chunk async for chunk in more]
            judged = await self.judge(_joined(seen))
        return seen, judged

    async def judge(self, found: dict[int, str]) -> list[Judged]:
        """Every choice of an answer against the sources of the request."""
        if not found:
            return []
        here, chosen = self.here, self.given.chosen
        sources, question = self.given.sources(), self.given.question()
        limit = here.settings.limits.timeout
        ticket = await here.judge.submit(
            choose(here.settings.checking, chosen),
            tuple(Pair(sources, text, question) for text in found.values()),
            min(limit, chosen.timeout_seconds or limit),
        )
        with ticket:
            findings = await collect(here, ticket)
        kept = await keep(here, chosen.store, findings, self.name)
        return [
            Judged(index, text, finding, stored)
            for (index, text), finding, stored in zip(found.items(), findings, kept, strict=True)
        ]

    def _again(self, judged: list[Judged]) -> bool:
        """Whether to ask once more; if so, the request is ready for it."""
        settings = self.chat.settings
        flagged = [one for one in judged if one.flagged(settings)]
        if self.action != "retry" or not flagged or self.attempts > settings.retries:
            return False
        self.attempts += 1
        self.body = asked_again(self.given.forwarded(), flagged)
        return True

    def _blocked(self, judged: list[Judged]) -> set[int]:
        if self.action == "annotate":
            return set()
        return {one.index for one in judged if one.flagged(self.chat.settings)}

    def _summed(self, judged: list[Judged], blocked: set[int]) -> dict[str, Any]:
        found = summed(judged, blocked, self.attempts, self.action)
        for choice in found["choices"]:
            self.here.metrics.guarded.labels(choice["action"]).inc()
        return found

    def _unchecked(self, error: ServiceError) -> dict[str, Any]:
        """A check that failed: told beside the answer, or, where answers may be held back,
        instead of it."""
        if self.action != "annotate":
            raise error
        described = problems.described(error, self.name)
        return {"mode": self.action, "attempts": self.attempts, "choices": [], "error": described}


async def _beats(task: asyncio.Task[Any]) -> AsyncIterator[bytes]:
    """Signs of life until the task is done; it is cancelled if nobody listens any more."""
    try:
        while not (await asyncio.wait({task}, timeout=KEEP_ALIVE))[0]:
            yield b":\n\n"
    finally:
        if not task.done():
            task.cancel()


def _joined(chunks: list[Chunk]) -> dict[int, str]:
    """The text of each choice of a streamed answer."""
    found: dict[int, str] = {}
    for chunk in chunks:
        for choice in chunk.get("choices", []):
            delta = choice.get("delta")
            text = text_of(delta.get("content")) if isinstance(delta, dict) else ""
            found[index_of(choice)] = found.get(index_of(choice), "") + text
    return found


def _frame(chunks: list[Chunk]) -> Chunk:
    first = chunks[0] if chunks else {}
    known: Chunk = {key: first[key] for key in ("id", "created", "model") if key in first}
    return {**known, "object": "chat.completion.chunk"}


def _last(chunks: list[Chunk], found: dict[str, Any]) -> Chunk:
    return {**_frame(chunks), "choices": [], "halldetect": found}


def _data(value: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(value, separators=(',', ':'))}\n\n".encode()
