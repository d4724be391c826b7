"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from halldetect.client.answers import (
    Checked,
    Choices,
    Event,
    Events,
    checked,
    json_object,
    many,
    one,
    page,
    pause,
    refusal,
)
from halldetect.client.connection import AGAIN, library, reaching, settings
from halldetect.inputs import Pair, Source
from halldetect.report import Report

if TYPE_CHECKING:
    import httpx


class AsyncClient:
    """The same for asyncio; use it in an `async with`."""

    def __init__(
        self, base_url: str, *, token: str | None = None, timeout: float = 150.0, retries: int = 2
    ) -> None:
        self._http: httpx.AsyncClient = library().AsyncClient(**settings(base_url, token, timeout))
        self._retries = retries

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()

    async def check(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Checked:
        body = one(source, response, question, choices)
        return checked((await self._send("POST", "/v1/check", body)).json())

    async def check_many(
        self, pairs: Iterable[Pair], *, choices: Choices | None = None
    ) -> list[Checked]:
        answer = await self._send("POST", "/v1/check/batch", many(pairs, choices))
        return [checked(one) for one in answer.json()["results"]]

    async def stream(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> AsyncIterator[Event]:
        body = one(source, response, question, choices)
        events = Events()
        with reaching():
            async with self._http.stream("POST", "/v1/check/stream", json=body) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    raise refusal(answer)
                async for line in answer.aiter_lines():
                    for event in events.take(line):
                        yield event
        events.finish()

    async def report(self, name: str) -> Report:
        return Report.from_json((await self._send("GET", f"/v1/reports/{name}")).text)

    async def reports(self, *, limit: int = 50, before: str | None = None) -> dict[str, Any]:
        answer = await self._send("GET", "/v1/reports", params=page(limit, before))
        return json_object(answer.json())

    async def summary(self, days: int = 30) -> dict[str, Any]:
        answer = await self._send("GET", "/v1/reports/summary", params={"days": days})
        return json_object(answer.json())

    async def delete(self, name: str) -> None:
        await self._send("DELETE", f"/v1/reports/{name}")

    async def models(self) -> dict[str, Any]:
        return json_object((await self._send("GET", "/v1/models")).json())

    async def _send(
        self, method: str, path: str, body: Any = None, params: dict[str, Any] | None = None
    ) -> httpx.Response:
        for attempt in range(self._retries + 1):
            with reaching():
                answer = await self._http.request(method, path, json=body, params=params)
            if answer.is_success:
                return answer
            error = refusal(answer)
            if answer.status_code not in AGAIN or attempt == self._retries:
                raise error
            await asyncio.sleep(pause(error))
        raise AssertionError("unreachable")
