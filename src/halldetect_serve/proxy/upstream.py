"""The client of the chat server behind the proxy, the only address that the service calls.

The address is fixed at the start. Redirects are not followed, proxy settings of the environment are
ignored, and headers of the caller are not passed on.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import httpx
from anyio.to_thread import run_sync

from halldetect.errors import ServiceError
from halldetect_serve.error_responses import service_error
from halldetect_serve.settings import UpstreamSettings

Chunk = dict[str, Any]
_QUOTED_CHARACTERS = 200
_CONNECT_SECONDS = 10.0
# Seconds; the page waits for the list of models.
_LIST_SECONDS = 5.0


class UpstreamClient:
    """Sends chat requests to the upstream."""

    def __init__(self, settings: UpstreamSettings) -> None:
        self.settings = settings
        headers = {"Accept-Encoding": "identity"}
        if settings.key:
            headers["Authorization"] = f"Bearer {settings.key}"
        connect = min(_CONNECT_SECONDS, settings.timeout)
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(settings.timeout, connect=connect),
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """Return one whole answer; raise ServiceError if the upstream refuses or fails."""
        async with self._response(self._post({**body, "stream": False})) as response:
            text = b"".join([part async for part in self._bounded(response)])
        answer = await run_sync(_decode, text)
        _check_choices(answer.get("choices"))
        return answer

    @asynccontextmanager
    async def stream(self, body: dict[str, Any]) -> AsyncIterator[AsyncIterator[Chunk]]:
        """Open a stream and yield its chunks as they arrive; raise ServiceError as `complete`."""
        async with self._response(self._post({**body, "stream": True})) as response:
            yield self._chunks(response)

    async def models(self) -> list[dict[str, Any]]:
        """Return the models that the upstream lists; raise ServiceError as `complete`."""
        request = self._client.build_request("GET", self.settings.endpoint("models"))
        try:
            async with asyncio.timeout(_LIST_SECONDS), self._response(request) as response:
                text = b"".join([part async for part in self._bounded(response)])
        except TimeoutError:
            message = f"the upstream sent no list of models within {_LIST_SECONDS:.0f} seconds"
            raise service_error("upstream_error", message) from None
        listed = (await run_sync(_decode, text)).get("data")
        fields: list[Any] = listed if isinstance(listed, list) else [None]
        if not all(isinstance(item, dict) and isinstance(item.get("id"), str) for item in fields):
            raise service_error("upstream_error", "the upstream sent no list of models")
        return [_model(item) for item in fields]

    def _post(self, body: dict[str, Any]) -> httpx.Request:
        # Escaped, because a lone surrogate cannot be written as UTF-8.
        text, kind = json.dumps(body), {"Content-Type": "application/json"}
        url = self.settings.endpoint("chat/completions")
        return self._client.build_request("POST", url, content=text, headers=kind)

    async def _chunks(self, response: httpx.Response) -> AsyncIterator[Chunk]:
        rest = b""
        async for part in self._bounded(response):
            *lines, rest = (rest + part).split(b"\n")
            for line in lines:
                field, _, value = line.strip().partition(b":")
                if field != b"data":
                    continue
                if value.strip() == b"[DONE]":
                    return
                # In a thread, as every reading of what the upstream sent.
                chunk = await run_sync(_decode, value)
                _check_choices(chunk.get("choices", []))
                yield chunk

    @asynccontextmanager
    async def _response(self, request: httpx.Request) -> AsyncIterator[httpx.Response]:
        try:
            async with aclosing(await self._client.send(request, stream=True)) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                yield response
        except httpx.TransportError as error:
            message = f"the upstream does not answer ({type(error).__name__})"
            raise service_error("upstream_error", message) from None

    async def _bounded(self, response: httpx.Response) -> AsyncIterator[bytes]:
        size = 0
        async for part in response.aiter_bytes():
            size += len(part)
            if size > self.settings.max_bytes:
                raise service_error("upstream_error", "the upstream's answer is too large")
            yield part

    async def _refusal(self, response: httpx.Response) -> ServiceError:
        """Return the error for a refusal; the caller sees only messages about its own mistakes."""
        status = response.status_code
        if status == 429:
            after = response.headers.get("Retry-After", "")
            seconds = float(after) if after.isdecimal() else None
            return service_error("rate_limited", "the upstream is asked too often", seconds)
        if status in (400, 422) and self.settings.action == "annotate":
            body = b"".join([part async for part in self._bounded(response)])
            text = body.decode("utf-8", "replace")
            if self.settings.key:
                text = text.replace(self.settings.key, "***")
            message = f"the upstream refused it: {text[:_QUOTED_CHARACTERS]}"
            return service_error("invalid_request", message)
        code = "invalid_request" if status in (400, 422) else "upstream_error"
        return service_error(code, f"the upstream answered {status}")


def _decode(text: bytes) -> dict[str, Any]:
    """Return a JSON object that can be written as UTF-8 again: no NaN, no lone surrogate."""
    try:
        answer = json.loads(text)
        json.dumps(answer, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise service_error("upstream_error", "the upstream did not send a JSON object")
    return answer


def _model(item: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that clients read; a server may send only the id."""
    created, owner = item.get("created"), item.get("owned_by")
    return {
        "id": item["id"],
        "object": "model",
        "created": created if type(created) is int else 0,
        "owned_by": owner if isinstance(owner, str) else "",
    }


def _check_choices(choices: object) -> None:
    if not isinstance(choices, list) or not all(isinstance(item, dict) for item in choices):
        raise service_error("upstream_error", "the upstream sent no chat completion")
