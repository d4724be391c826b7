"""The two clients: one that waits and one for asyncio. Each method is one request."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from halldetect.errors import MissingExtra, ServiceError
from halldetect.inputs import Pair, Source
from halldetect.repair.outcome import Repair
from halldetect.report import Report
from halldetect_serve.client.payloads import (
    Checked,
    Choices,
    Event,
    EventParser,
    batch_body,
    check_body,
    parse_checked,
    parse_error,
)

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")
# Sent again after the time the service names: the queue was full or the worker was starting.
_RETRIED_STATUS = (429, 503)
_DEFAULT_PAUSE = 1.0
_MAX_PAUSE = 30.0
_STREAM_PATH = "/v1/check/stream"


@dataclass(frozen=True, slots=True)
class _Call(Generic[Result]):
    """One request, and how its answer is read."""

    method: str
    path: str
    parse: Callable[[httpx.Response], Result]
    body: Any = None
    params: dict[str, Any] | None = None


def _check(
    source: Source, response: str, question: str | None, choices: Choices | None
) -> _Call[Checked]:
    body = check_body(source, response, question, choices)
    return _Call("POST", "/v1/check", lambda answer: parse_checked(answer.json()), body)


def _repair(
    source: Source, response: str, question: str | None, choices: Choices | None
) -> _Call[Repair]:
    body = check_body(source, response, question, choices)
    return _Call(
        "POST", "/v1/repair", lambda answer: Repair.from_dict(answer.json()["repair"]), body
    )


def _check_many(pairs: Iterable[Pair], choices: Choices | None) -> _Call[list[Checked]]:
    def parse(answer: httpx.Response) -> list[Checked]:
        return [parse_checked(result) for result in answer.json()["results"]]

    return _Call("POST", "/v1/check/batch", parse, batch_body(pairs, choices))


def _report(id: str) -> _Call[Report]:
    return _Call("GET", f"/v1/reports/{id}", lambda answer: Report.from_json(answer.text))


def _reports(limit: int, before: str | None) -> _Call[dict[str, Any]]:
    params = {"limit": limit} | ({} if before is None else {"before": before})
    return _Call("GET", "/v1/reports", _json_object, params=params)


def _summary(days: int) -> _Call[dict[str, Any]]:
    return _Call("GET", "/v1/reports/summary", _json_object, params={"days": days})


def _delete(id: str) -> _Call[None]:
    return _Call("DELETE", f"/v1/reports/{id}", lambda answer: None)


def _models() -> _Call[dict[str, Any]]:
    return _Call("GET", "/v1/models", _json_object)


class Client:
    """A connection to a running service. Close it, or use it as a context manager.

    Every method raises ServiceError, with the code of the service, if the service refuses the
    request, fails on it or cannot be reached.

    Args:
        base_url: address of the service, such as http://127.0.0.1:8000.
        token: access token, where the service needs one.
        timeout: seconds to wait for an answer.
        retries: how often a request is sent again that met a full queue or a starting worker.

    Raises:
        MissingExtra: if httpx is not installed.
    """

    def __init__(
        self, base_url: str, *, token: str | None = None, timeout: float = 150.0, retries: int = 2
    ) -> None:
        options = _http_options(base_url, token, timeout)
        self._http: httpx.Client = _httpx().Client(**options)
        self._retries = retries

    def __enter__(self) -> Client:
        """Return the client itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connection."""
        self.close()

    def close(self) -> None:
        """Close the connection."""
        self._http.close()

    def check(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Checked:
        """Check one response against its source.

        Args:
            source: the source, or several documents.
            response: the text to check.
            question: recorded in the report, not judged.
            choices: options of the check.
        """
        return self._send(_check(source, response, question, choices))

    def repair(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Repair:
        """Repair one response; see `Detector.repair`.

        Args:
            source: the source, or several documents.
            response: the text to repair.
            question: recorded in the reports, not judged.
            choices: options of the checks; a repair cannot be stored.
        """
        return self._send(_repair(source, response, question, choices))

    def check_many(self, pairs: Iterable[Pair], *, choices: Choices | None = None) -> list[Checked]:
        """Check many responses in one request; the service limits how many.

        Args:
            pairs: sources and responses.
            choices: options of all checks.

        Returns:
            The results, in the order of the pairs.
        """
        return self._send(_check_many(pairs, choices))

    def stream(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Iterator[Event]:
        """Check one response and yield events while it is checked; the last one is a Checked.

        The arguments are those of `check`. The request is not sent again.
        """
        body = check_body(source, response, question, choices)
        parser = EventParser()
        with _transport_errors(), self._http.stream("POST", _STREAM_PATH, json=body) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            for line in answer.iter_lines():
                yield from parser.feed(line)
        parser.close()

    def report(self, id: str) -> Report:
        """Return a stored report."""
        return self._send(_report(id))

    def reports(self, *, limit: int = 50, before: str | None = None) -> dict[str, Any]:
        """Return a part of the list of stored reports, the newest first.

        Args:
            limit: number of reports at most.
            before: the cursor `next` of the part before this one.

        Returns:
            The `reports`, and under `next` the cursor of the next part or None.
        """
        return self._send(_reports(limit, before))

    def summary(self, days: int = 30) -> dict[str, Any]:
        """Return counts, rates and durations over the reports of the last `days` days."""
        return self._send(_summary(days))

    def delete(self, id: str) -> None:
        """Delete a stored report for good."""
        self._send(_delete(id))

    def models(self) -> dict[str, Any]:
        """Return the extractors and verifiers that a request may name, and the defaults."""
        return self._send(_models())

    def _send(self, call: _Call[Result]) -> Result:
        for attempt in range(self._retries + 1):
            with _transport_errors():
                answer = self._http.request(
                    call.method, call.path, json=call.body, params=call.params
                )
            if answer.is_success:
                return call.parse(answer)
            error = _refusal(answer)
            if answer.status_code not in _RETRIED_STATUS or attempt == self._retries:
                raise error
            time.sleep(_pause(error))
        raise AssertionError("unreachable")


class AsyncClient:
    """The same as `Client` for asyncio; use it as an async context manager.

    The arguments of the class and of every method are those of `Client`.
    """

    def __init__(
        self, base_url: str, *, token: str | None = None, timeout: float = 150.0, retries: int = 2
    ) -> None:
        options = _http_options(base_url, token, timeout)
        self._http: httpx.AsyncClient = _httpx().AsyncClient(**options)
        self._retries = retries

    async def __aenter__(self) -> AsyncClient:
        """Return the client itself."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection."""
        await self.close()

    async def close(self) -> None:
        """Close the connection."""
        await self._http.aclose()

    async def check(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Checked:
        """Check one response against its source."""
        return await self._send(_check(source, response, question, choices))

    async def repair(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Repair:
        """Repair one response; see `Detector.repair`."""
        return await self._send(_repair(source, response, question, choices))

    async def check_many(
        self, pairs: Iterable[Pair], *, choices: Choices | None = None
    ) -> list[Checked]:
        """Check many responses in one request."""
        return await self._send(_check_many(pairs, choices))

    async def stream(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> AsyncIterator[Event]:
        """Check one response and yield events while it is checked; the last one is a Checked."""
        body = check_body(source, response, question, choices)
        parser = EventParser()
        with _transport_errors():
            async with self._http.stream("POST", _STREAM_PATH, json=body) as answer:
                if answer.status_code != 200:
                    await answer.aread()
                    raise _refusal(answer)
                async for line in answer.aiter_lines():
                    for event in parser.feed(line):
                        yield event
        parser.close()

    async def report(self, id: str) -> Report:
        """Return a stored report."""
        return await self._send(_report(id))

    async def reports(self, *, limit: int = 50, before: str | None = None) -> dict[str, Any]:
        """Return a part of the list of stored reports, the newest first."""
        return await self._send(_reports(limit, before))

    async def summary(self, days: int = 30) -> dict[str, Any]:
        """Return counts, rates and durations over the reports of the last `days` days."""
        return await self._send(_summary(days))

    async def delete(self, id: str) -> None:
        """Delete a stored report for good."""
        await self._send(_delete(id))

    async def models(self) -> dict[str, Any]:
        """Return the extractors and verifiers that a request may name, and the defaults."""
        return await self._send(_models())

    async def _send(self, call: _Call[Result]) -> Result:
        for attempt in range(self._retries + 1):
            with _transport_errors():
                answer = await self._http.request(
                    call.method, call.path, json=call.body, params=call.params
                )
            if answer.is_success:
                return call.parse(answer)
            error = _refusal(answer)
            if answer.status_code not in _RETRIED_STATUS or attempt == self._retries:
                raise error
            await asyncio.sleep(_pause(error))
        raise AssertionError("unreachable")


def _httpx() -> ModuleType:
    try:
        import httpx
    except ModuleNotFoundError as error:
        raise MissingExtra("halldetect_serve.client", "serve") from error
    return httpx


def _http_options(base_url: str, token: str | None, timeout: float) -> dict[str, Any]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return {"base_url": base_url, "headers": headers, "timeout": timeout}


@contextmanager
def _transport_errors() -> Iterator[None]:
    """Turn a service that cannot be reached into a ServiceError."""
    try:
        yield
    except _httpx().TransportError as error:
        message = f"the service does not answer ({type(error).__name__})"
        raise ServiceError("unreachable", message) from None


def _refusal(answer: httpx.Response) -> ServiceError:
    after = answer.headers.get("Retry-After", "")
    try:
        data = answer.json()
    except ValueError:
        data = None
    return parse_error(data, answer.status_code, float(after) if after.isdecimal() else None)


def _pause(error: ServiceError) -> float:
    return min(_MAX_PAUSE, error.retry_after or _DEFAULT_PAUSE)


def _json_object(answer: httpx.Response) -> dict[str, Any]:
    value = answer.json()
    if not isinstance(value, dict):
        raise ServiceError("no_object", "the service answered with no JSON object")
    return value
