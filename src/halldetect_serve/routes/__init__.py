"""The routes of the service. JSON bodies have finite numbers and no key twice in an object.

Programs differ in which value of a repeated key they use, so the check and the reader could see
different texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Coroutine
from typing import Any

from anyio.to_thread import run_sync
from fastapi import Request, Response
from fastapi.routing import APIRoute

from halldetect_serve.schemas import unique_keys

# Keys in all objects of a body: to list the errors of unknown keys takes time.
MAX_KEYS = 30_000


class _StrictRequest(Request):
    """A request whose body is strict JSON."""

    async def json(self) -> Any:
        # In a thread: a body may be megabytes of JSON.
        return await run_sync(_parse, await self.body())


class StrictJsonRoute(APIRoute):
    """A route that reads its body as strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle


def _parse(body: bytes) -> Any:
    keys = 0

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal keys
        keys += len(pairs)
        if keys > MAX_KEYS:
            raise ValueError("too many keys")
        return unique_keys(pairs)

    return json.loads(
        body, object_pairs_hook=read_object, parse_float=_finite, parse_constant=_finite
    )


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number
