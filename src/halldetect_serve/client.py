"""Calls a running `halldetect serve` from Python: `Client` waits, `AsyncClient` is for asyncio.

>>> with Client("http://127.0.0.1:8000") as client:
...     checked = client.check("The last boat returns at 21:40.", "It returns at 22:30.")
...     print(checked.report.verdict)

A refusal or failure of the service is a ServiceError with its code. A request that met a full
queue or a starting worker is sent again after the time the service names, `retries` times.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from halldetect.errors import MissingExtra, ServiceError
from halldetect.inputs import Pair, Source
from halldetect.reading.document import Span
from halldetect.repair.outcome import Repair
from halldetect.report import Report, Status

if TYPE_CHECKING:
    import httpx

Result = TypeVar("Result")
# Sent again after the time the service names: the queue was full or the worker was starting.
_RETRIED_STATUS = (429, 503)
_DEFAULT_PAUSE, _MAX_PAUSE = 1.0, 30.0
_STREAM_PATH = "/v1/check/stream"


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """The options of a check; None is the service's own setting.

    Attributes:
        threshold: hallucinated at this score or above, or the name of an operating point.
        verifier: a name of `Client.models`.
        store: whether the service stores the report.
        timeout_seconds: how long the check may take, waiting included; at most the service's own
            limit.
    """

    threshold: float | str | None = None
    verifier: str | None = None
    store: bool = False
    timeout_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check.

    Attributes:
        report: the report.
        stored: its id where it was stored, else None.
        store_error: why it could not be stored, else None.
    """

    report: Report
    stored: str | None
    store_error: str | None


@dataclass(frozen=True, slots=True)
class Accepted:
    """Event: the check is in the queue, behind `queued` pairs."""

    queued: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Event: a part of the work is done.

    Attributes:
        phase: "extract", "verify", "explain" (of failing claims) or "proof" (short passages).
        done: the finished amount: responses or, while claims are judged, tokens.
        of: the probable total.
        seconds_left: probable rest of the phase; None while that is unknown.
    """

    phase: str
    done: int
    of: int
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A claim before it is checked, and its place in the response if that is known."""

    text: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Claims:
    """Event: the claims of the response, in the order of the report."""

    claims: tuple[FoundClaim, ...]


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """Event: a claim has its state; it may come again with more support.

    Attributes:
        place: index of the claim in `Claims` and in the report.
        text: the claim.
        status: its state.
        score: its support, from 0 to 1.
    """

    place: int
    text: str
    status: Status
    score: float | None


Event = Accepted | Progress | Claims | ClaimVerdict | Checked
_OWN = Choices()


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
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> Checked:
        """Check one response against its source.

        Args:
            source: the source, or several documents.
            response: the text to check.
            question: the question that the response answers; a short answer is judged with it.
            choices: options of the check.
        """
        return self._send(_check(Pair(source, response, question), choices))

    def repair(
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> Repair:
        """Repair one response; see `Detector.repair`. A repair cannot be stored."""
        return self._send(_repair(Pair(source, response, question), choices))

    def check_many(self, pairs: Iterable[Pair], *, choices: Choices = _OWN) -> list[Checked]:
        """Check many responses in one request, and return the results in their order."""
        return self._send(_check_many(pairs, choices))

    def stream(
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> Iterator[Event]:
        """Check one response and yield events while it is checked; the last one is a Checked.

        The arguments are those of `check`. The request is not sent again.
        """
        body = _body(Pair(source, response, question), choices)
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
        """Return counts and the hallucination rate over the reports of the last `days` days."""
        return self._send(_Call("GET", "/v1/reports/summary", _json, params={"days": days}))

    def delete(self, id: str) -> None:
        """Delete a stored report permanently."""
        self._send(_Call("DELETE", f"/v1/reports/{id}", lambda answer: None))

    def models(self) -> dict[str, Any]:
        """Return the verifiers that a request may name, and the defaults."""
        return self._send(_Call("GET", "/v1/models", _json))

    def _send(self, call: _Call[Result]) -> Result:
        for attempt in range(self._retries + 1):
            with _transport_errors():
                answer = self._http.request(
                    call.method, call.path, json=call.body, params=call.params
                )
            if answer.is_success:
                return call.parse(answer)
            time.sleep(call.pause(answer, is_last=attempt == self._retries))
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
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> Checked:
        """Check one response against its source."""
        return await self._send(_check(Pair(source, response, question), choices))

    async def repair(
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> Repair:
        """Repair one response; see `Detector.repair`."""
        return await self._send(_repair(Pair(source, response, question), choices))

    async def check_many(self, pairs: Iterable[Pair], *, choices: Choices = _OWN) -> list[Checked]:
        """Check many responses in one request."""
        return await self._send(_check_many(pairs, choices))

    async def stream(
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> AsyncIterator[Event]:
        """Check one response and yield events while it is checked; the last one is a Checked."""
        body = _body(Pair(source, response, question), choices)
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
        """Return counts and the hallucination rate over the reports of the last `days` days."""
        return await self._send(_Call("GET", "/v1/reports/summary", _json, params={"days": days}))

    async def delete(self, id: str) -> None:
        """Delete a stored report permanently."""
        await self._send(_Call("DELETE", f"/v1/reports/{id}", lambda answer: None))

    async def models(self) -> dict[str, Any]:
        """Return the verifiers that a request may name, and the defaults."""
        return await self._send(_Call("GET", "/v1/models", _json))

    async def _send(self, call: _Call[Result]) -> Result:
        for attempt in range(self._retries + 1):
            with _transport_errors():
                answer = await self._http.request(
                    call.method, call.path, json=call.body, params=call.params
                )
            if answer.is_success:
                return call.parse(answer)
            await asyncio.sleep(call.pause(answer, is_last=attempt == self._retries))
        raise AssertionError("unreachable")


@dataclass(frozen=True, slots=True)
class _Call(Generic[Result]):
    """One request, and how its answer is read."""

    method: str
    path: str
    parse: Callable[[httpx.Response], Result]
    body: Any = None
    params: dict[str, Any] | None = None

    def pause(self, answer: httpx.Response, *, is_last: bool) -> float:
        """Return the seconds after which a refused request is sent again, or raise its error."""
        error = _refusal(answer)
        if answer.status_code not in _RETRIED_STATUS or is_last:
            raise error
        return min(_MAX_PAUSE, error.retry_after or _DEFAULT_PAUSE)


def _body(pair: Pair, choices: Choices) -> dict[str, Any]:
    return {**_item(pair), **asdict(choices)}


def _item(pair: Pair) -> dict[str, Any]:
    source = pair.source
    if isinstance(source, Sequence) and not isinstance(source, str):
        source = list(source)
    return {"source": source, "response": pair.response, "question": pair.question}


def _check(pair: Pair, choices: Choices) -> _Call[Checked]:
    return _Call("POST", "/v1/check", lambda it: _checked(it.json()), _body(pair, choices))


def _repair(pair: Pair, choices: Choices) -> _Call[Repair]:
    def parse(answer: httpx.Response) -> Repair:
        return Repair.from_dict(answer.json()["repair"])

    return _Call("POST", "/v1/repair", parse, _body(pair, choices))


def _check_many(pairs: Iterable[Pair], choices: Choices) -> _Call[list[Checked]]:
    def parse(answer: httpx.Response) -> list[Checked]:
        return [_checked(result) for result in answer.json()["results"]]

    body = {"items": [_item(pair) for pair in pairs], **asdict(choices)}
    return _Call("POST", "/v1/check/batch", parse, body)


def _report(id: str) -> _Call[Report]:
    return _Call("GET", f"/v1/reports/{id}", lambda answer: Report.from_json(answer.text))


def _reports(limit: int, before: str | None) -> _Call[dict[str, Any]]:
    params = {"limit": limit} | ({} if before is None else {"before": before})
    return _Call("GET", "/v1/reports", _json, params=params)


def _json(answer: httpx.Response) -> dict[str, Any]:
    value: dict[str, Any] = answer.json()
    return value


def _checked(answer: dict[str, Any]) -> Checked:
    stored, error = answer["stored"], answer["store_error"]
    return Checked(
        report=Report.from_dict(answer["report"]),
        stored=None if stored is None else stored["id"],
        store_error=None if error is None else error["message"],
    )


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
    return _error(data, answer.status_code, float(after) if after.isdecimal() else None)


def _error(data: Any, status: int, retry_after: float | None) -> ServiceError:
    """Return the error of an error body; a body of another form is not from this service."""
    try:
        error = data["error"]
        code, message, request_id = map(str, (error["code"], error["message"], error["request_id"]))
    except (KeyError, TypeError):
        code, message, request_id = "unknown", f"the server answered {status}", ""
    return ServiceError(
        code, message, status=status, request_id=request_id or None, retry_after=retry_after
    )


@dataclass(slots=True)
class EventParser:
    """Parses server-sent events, line by line."""

    _name: str = ""
    _data: list[str] = field(default_factory=list)
    _finished: bool = False

    def feed(self, line: str) -> Iterator[Event]:
        """Take one line and yield the event that it completes, if any.

        Raises:
            ServiceError: the error that the service sent instead of a report.
        """
        name, _, value = line.partition(":")
        if name == "event":
            self._name = value.strip()
        elif name == "data":
            self._data.append(value.removeprefix(" "))
        elif not line and self._data:
            data, self._data = json.loads("\n".join(self._data)), []
            event = _parse_event(self._name, data)
            if event is not None:
                self._finished = isinstance(event, Checked)
                yield event

    def close(self) -> None:
        """Raise ServiceError `cut_off` if the stream ended without a report."""
        if not self._finished:
            raise ServiceError("cut_off", "the service ended the stream without a report")


def _parse_event(name: str, data: dict[str, Any]) -> Event | None:
    if name == "error":
        raise _error(data, 0, None)
    if name == "accepted":
        return Accepted(data["queued"])
    if name == "progress":
        return Progress(data["phase"], data["done"], data["of"], data.get("seconds_left"))
    if name == "claims":
        spans = [(claim["text"], claim["span"]) for claim in data["claims"]]
        return Claims(tuple(FoundClaim(text, span and Span(**span)) for text, span in spans))
    if name == "verdict":
        claim = data["claim"]
        return ClaimVerdict(data["place"], claim["text"], Status(claim["status"]), claim["support"])
    return _checked(data) if name == "report" else None
