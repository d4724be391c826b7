"""The routes of the service. JSON bodies must not repeat a key within an object.

Programs differ in which value of a repeated key they use, so the check and the reader could see
different texts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute


class _StrictRequest(Request):
    """A request whose JSON must not repeat a key."""

    async def json(self) -> Any:
        return json.loads(await self.body(), object_pairs_hook=_unique)


class StrictJsonRoute(APIRoute):
    """A route that reads its body as strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler of a request."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(_StrictRequest(request.scope, request.receive))

        return handle


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key comes twice")
    return values
