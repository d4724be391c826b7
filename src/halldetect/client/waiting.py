"""The client that waits."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
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


class Client:
    """A connection to the service; close it, or use it in a `with`."""

    def __init__(
        self, base_url: str, *, token: str | None = None, timeout: float = 150.0, retries: int = 2
    ) -> None:
        self._http: httpx.Client = library().Client(**settings(base_url, token, timeout))
        self._retries = retries

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def check(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Checked:
        body = one(source, response, question, choices)
        return checked(self._send("POST", "/v1/check", body).json())

    def check_many(self, pairs: Iterable[Pair], *, choices: Choices | None = None) -> list[Checked]:
        """The pairs in one request; the service says how many those may be."""
        answer = self._send("POST", "/v1/check/batch", many(pairs, choices)).json()
        return [checked(one) for one in answer["results"]]

    def stream(
        self,
        source: Source,
        response: str,
        *,
        question: str | None = None,
        choices: Choices | None = None,
    ) -> Iterator[Event]:
        """What happens, as it happens; the last event is a Checked."""
        body = one(source, response, question, choices)
        events = Events()
        with reaching(), self._http.stream("POST", "/v1/check/stream", json=body) as answer:
            if answer.status_code != 200:
                answer.read()
                raise refusal(answer)
            for line in answer.iter_lines():
                yield from events.take(line)
        events.finish()

    def report(self, name: str) -> Report:
        return Report.from_json(self._send("GET", f"/v1/reports/{name}").text)

    def reports(self, *, limit: int = 50, before: str | None = None) -> dict[str, Any]:
        """A page of the list of kept reports, newest first, and the cursor of the `next`."""
        return json_object(self._send("GET", "/v1/reports", params=page(limit, before)).json())

    def summary(self, days: int = 30) -> dict[str, Any]:
        return json_object(self._send("GET", "/v1/reports/summary", params={"days": days}).json())

    def delete(self, name: str) -> None:
        self._send("DELETE", f"/v1/reports/{name}")

    def models(self) -> dict[str, Any]:
        return json_object(self._send("GET", "/v1/models").json())

    def _send(
        self, method: str, path: str, body: Any = None, params: dict[str, Any] | None = None
    ) -> httpx.Response:
        for attempt in range(self._retries + 1):
            with reaching():
                answer = self._http.request(method, path, json=body, params=params)
            if answer.is_success:
                return answer
            error = refusal(answer)
            if answer.status_code not in AGAIN or attempt == self._retries:
                raise error
            time.sleep(pause(error))
        raise AssertionError("unreachable")
