"""The chat server behind the proxy: the only address this service ever calls.

It is fixed when the service starts, redirects are not followed, proxies of the environment are
not used, and nothing of a caller's headers is passed on.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from halldetect.errors import ServiceError
from halldetect.serve.error_responses import problem
from halldetect.serve.settings import Upstream

Chunk = dict[str, Any]
_QUOTED = 200


class Chat:
    def __init__(self, upstream: Upstream) -> None:
        self.settings = upstream
        headers = {"Accept-Encoding": "identity"}
        if upstream.key:
            headers["Authorization"] = f"Bearer {upstream.key}"
        self._client = httpx.AsyncClient(
            headers=headers,
            timeout=httpx.Timeout(upstream.timeout, connect=min(10.0, upstream.timeout)),
            follow_redirects=False,
            trust_env=False,
        )

    async def close(self) -> None:
        await self._client.aclose()

    async def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """One whole answer."""
        async with self._asked({**body, "stream": False}) as response:
            text = b"".join([part async for part in self._bounded(response)])
        answer = _decoded(text)
        choices = answer.get("choices")
        if not isinstance(choices, list) or not all(isinstance(one, dict) for one in choices):
            raise problem("upstream_error", "the upstream sent no chat completion")
        return answer

    @asynccontextmanager
    async def stream(self, body: dict[str, Any]) -> AsyncIterator[AsyncIterator[Chunk]]:
        """The chunks of an answer as they come."""
        async with self._asked({**body, "stream": True}) as response:
            yield self._chunks(response)

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
                chunk = _decoded(value)
                choices = chunk.get("choices", [])
                if not isinstance(choices, list) or not all(isinstance(c, dict) for c in choices):
                    raise problem("upstream_error", "the upstream sent no chat completion")
                yield chunk

    @asynccontextmanager
    async def _asked(self, body: dict[str, Any]) -> AsyncIterator[httpx.Response]:
        try:
            async with self._client.stream("POST", self.settings.endpoint, json=body) as response:
                if response.status_code != 200:
                    raise await self._refusal(response)
                yield response
        except httpx.TransportError as error:
            kind = type(error).__name__
            raise problem("upstream_error", f"the upstream does not answer ({kind})") from None

    async def _bounded(self, response: httpx.Response) -> AsyncIterator[bytes]:
        size = 0
        async for part in response.aiter_bytes():
            size += len(part)
            if size > self.settings.max_bytes:
                raise problem("upstream_error", "the upstream's answer is too large")
            yield part

    async def _refusal(self, response: httpx.Response) -> ServiceError:
        """What is the caller's mistake is told to them; the rest is between us and upstream."""
        status = response.status_code
        if status == 429:
            after = response.headers.get("Retry-After", "")
            wait = float(after) if after.isdecimal() else None
            return problem("rate_limited", "the upstream is asked too often", wait)
        if status in (400, 422):
            text = b"".join([part async for part in self._bounded(response)])
            said = text.decode("utf-8", "replace")
            if self.settings.key:
                said = said.replace(self.settings.key, "***")
            return problem("invalid_request", f"the upstream refused it: {said[:_QUOTED]}")
        return problem("upstream_error", f"the upstream answered {status}")


def _decoded(text: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise problem("upstream_error", "the upstream sent something that is no JSON object")
    return answer
