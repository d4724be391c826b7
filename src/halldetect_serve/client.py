"""Calls a running `halldetect serve` from Python; in asyncio use `asyncio.to_thread`.

>>> with Client("http://127.0.0.1:8000") as client:
...     checked = client.check("The last boat returns at 21:40.", "It returns at 22:30.")
...     print(checked.report.verdict)

A refusal or failure of the service is a ServiceError with its code. A request that meets a full
queue or a starting worker is retried after the time the service names, up to `retries` times.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from halldetect.errors import MissingExtra, ServiceError
from halldetect.inputs import Pair, Source, split_documents
from halldetect.repair.outcome import Repair
from halldetect.report import Report
from halldetect_serve.schemas import CheckOptions as Choices

try:
    import httpx
except ModuleNotFoundError as error:
    raise MissingExtra("halldetect_serve.client", "serve") from error

_RETRIED_STATUS = (429, 503)  # the queue was full, or the worker was starting
_DEFAULT_PAUSE, _MAX_PAUSE = 1.0, 30.0
_STREAM_PATH = "/v1/check/stream"
__all__ = ["Checked", "Choices", "Client", "Event"]


@dataclass(frozen=True, slots=True)
class Checked:
    """The result of a check: the report, and its id if it was stored, or why it was not."""

    report: Report
    stored: str | None
    store_error: str | None


@dataclass(frozen=True, slots=True)
class Event:
    """An event while a check runs, such as "progress"; docs/serve.md describes them."""

    name: str
    data: dict[str, Any]


_OWN = Choices()


class Client:
    """A connection to a running service. Close it, or use it as a context manager.

    Every method raises ServiceError, with the code of the service, if the service refuses the
    request, fails on it or cannot be reached.

    Args:
        base_url: address of the service, such as http://127.0.0.1:8000.
        token: access token, if the service requires one.
        timeout: seconds to wait for an answer.
        retries: how often a request is retried if the queue is full or the worker is starting.
    """

    def __init__(
        self, base_url: str, *, token: str | None = None, timeout: float = 150.0, retries: int = 2
    ) -> None:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._http = httpx.Client(base_url=base_url, headers=headers, timeout=timeout)
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
        """Check one response against its source; a short answer is judged with its question."""
        return _checked(self._send("POST", "/v1/check", _body(source, response, question, choices)))

    def repair(
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> Repair:
        """Repair one response; see `Detector.repair`. A repair cannot be stored."""
        body = _body(source, response, question, choices)
        return Repair.from_dict(self._send("POST", "/v1/repair", body)["repair"])

    def check_many(self, pairs: Iterable[Pair], *, choices: Choices = _OWN) -> list[Checked]:
        """Check many responses in one request, and return the results in their order."""
        items = [_item(pair.source, pair.response, pair.question) for pair in pairs]
        body = {"items": items, **choices.model_dump()}
        return list(map(_checked, self._send("POST", "/v1/check/batch", body)["results"]))

    def stream(
        self, source: Source, response: str, *, question: str | None = None, choices: Choices = _OWN
    ) -> Iterator[Event | Checked]:
        """Check one response and yield events while it is checked, then the result; no retry."""
        event, body = "", _body(source, response, question, choices)
        with _transport_errors(), self._http.stream("POST", _STREAM_PATH, json=body) as answer:
            if answer.status_code != 200:
                answer.read()
                raise _refusal(answer)
            for line in answer.iter_lines():
                name, _, value = line.partition(": ")
                if name == "event":
                    event = value
                elif name == "data":
                    data = json.loads(value)
                    if event == "error":
                        raise _error(data, 0, None)
                    yield _checked(data) if event == "report" else Event(event, data)
        if event != "report":
            raise ServiceError("cut_off", "the service ended the stream without a report")

    def report(self, id: str) -> Report:
        """Return a stored report."""
        return Report.from_dict(self._send("GET", f"/v1/reports/{id}"))

    def reports(self, *, limit: int = 50, before: str | None = None) -> dict[str, Any]:
        """Return up to `limit` stored `reports`, newest first; `next` is `before` of more."""
        params = {"limit": limit} | ({} if before is None else {"before": before})
        return self._send("GET", "/v1/reports", params=params)

    def summary(self, days: int = 30) -> dict[str, Any]:
        """Return counts and the hallucination rate over the reports of the last `days` days."""
        return self._send("GET", "/v1/reports/summary", params={"days": days})

    def delete(self, id: str) -> None:
        """Delete a stored report permanently."""
        self._send("DELETE", f"/v1/reports/{id}")

    def models(self) -> dict[str, Any]:
        """Return the verifiers that a request may name, and the defaults."""
        return self._send("GET", "/v1/models")

    def _send(
        self, method: str, path: str, body: Any = None, params: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Send a request, with retries if the service is busy, and return the answer."""
        for attempt in range(self._retries + 1):
            with _transport_errors():
                answer = self._http.request(method, path, json=body, params=params)
            if answer.is_success:
                found: dict[str, Any] = answer.json() if answer.content else {}
                return found
            error = _refusal(answer)
            if answer.status_code not in _RETRIED_STATUS or attempt == self._retries:
                raise error
            time.sleep(min(_MAX_PAUSE, error.retry_after or _DEFAULT_PAUSE))
        raise AssertionError("unreachable")


def _item(source: Source, response: str, question: str | None) -> dict[str, Any]:
    texts, names, _ = split_documents(source)
    pairs = zip(names, texts, strict=True) if names else ()
    documents = [{"id": name, "text": text} for name, text in pairs] or texts
    return {
        "source": source if isinstance(source, str) else documents,
        "response": response,
        "question": question,
    }


def _body(source: Source, response: str, question: str | None, choices: Choices) -> dict[str, Any]:
    return {**_item(source, response, question), **choices.model_dump()}


def _checked(answer: dict[str, Any]) -> Checked:
    stored, error = answer["stored"], answer["store_error"]
    return Checked(
        report=Report.from_dict(answer["report"]),
        stored=None if stored is None else stored["id"],
        store_error=None if error is None else error["message"],
    )


@contextmanager
def _transport_errors() -> Iterator[None]:
    """Turn a service that cannot be reached into a ServiceError."""
    try:
        yield
    except httpx.TransportError as error:
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
    """Return the error of an error body; any other body does not come from this service."""
    try:
        error = data["error"]
        code, message, request_id = map(str, (error["code"], error["message"], error["request_id"]))
    except (KeyError, TypeError):
        code, message, request_id = "unknown", f"the server answered {status}", ""
    return ServiceError(
        code, message, status=status, request_id=request_id or None, retry_after=retry_after
    )
