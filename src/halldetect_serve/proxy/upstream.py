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
from pydantic import ValidationError

from halldetect.errors import ServiceError
from halldetect_serve.error_responses import service_error
from halldetect_serve.schemas import UpstreamModel
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
        """Return one whole answer.

        Raises:
            ServiceError: if the upstream refuses, fails, or sends no chat completion.
        """
        async with self._response(self._post({**body, "stream": False})) as response:
            text = b"".join([part async for part in self._bounded(response)])
        answer = _decode(text)
        _check_choices(answer.get("choices"))
        return answer

    @asynccontextmanager
    async def stream(self, body: dict[str, Any]) -> AsyncIterator[AsyncIterator[Chunk]]:
        """Open a stream and yield its chunks as they arrive.

        Raises:
            ServiceError: if the upstream refuses, fails, or sends no chat completion.
        """
        async with self._response(self._post({**body, "stream": True})) as response:
            yield self._chunks(response)

    async def models(self) -> list[UpstreamModel]:
        """Return the models that the upstream lists.

        Raises:
            ServiceError: if the upstream refuses, fails, or sends no list of models.
        """
        request = self._client.build_request("GET", self.settings.endpoint("models"))
        try:
            async with asyncio.timeout(_LIST_SECONDS), self._response(request) as response:
                text = b"".join([part async for part in self._bounded(response)])
        except TimeoutError:
            message = f"the upstream sent no list of models within {_LIST_SECONDS:.0f} seconds"
            raise service_error("upstream_error", message) from None
        listed = _decode(text).get("data")
        if not isinstance(listed, list):
            raise service_error("upstream_error", "the upstream sent no list of models")
        return [_model(item) for item in listed]

    def _post(self, body: dict[str, Any]) -> httpx.Request:
        url = self.settings.endpoint("chat/completions")
        return self._client.build_request("POST", url, json=body)

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
                chunk = _decode(value)
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
        if status in (400, 422):
            body = b"".join([part async for part in self._bounded(response)])
            text = body.decode("utf-8", "replace")
            if self.settings.key:
                text = text.replace(self.settings.key, "***")
            message = f"the upstream refused it: {text[:_QUOTED_CHARACTERS]}"
            return service_error("invalid_request", message)
        return service_error("upstream_error", f"the upstream answered {status}")


def _decode(text: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        message = "the upstream sent something that is no JSON object"
        raise service_error("upstream_error", message)
    return answer


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _model(item: object) -> UpstreamModel:
    """Return the fields that clients read; a server may send only the id."""
    fields = item if isinstance(item, dict) else {}
    names = ("id", "created", "owned_by")
    known = {name: fields[name] for name in names if fields.get(name) is not None}
    try:
        # As JSON: pydantic accepts lone surrogates, which cannot be sent.
        return UpstreamModel.model_validate_json(json.dumps(known))
    except ValidationError:
        message = "the upstream lists a model whose id, created or owned_by cannot be read"
        raise service_error("upstream_error", message) from None


def _check_choices(choices: object) -> None:
    if not isinstance(choices, list) or not all(isinstance(item, dict) for item in choices):
        raise service_error("upstream_error", "the upstream sent no chat completion")
