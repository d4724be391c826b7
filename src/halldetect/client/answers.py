"""What the service is asked and what it answers, as Python values; no connection here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from halldetect.errors import ServiceError
from halldetect.inputs import Pair, Source
from halldetect.report import Report, Status
from halldetect.text.document import Span

if TYPE_CHECKING:
    import httpx

_LONGEST_PAUSE = 30.0


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be chosen for a check; None is the service's own setting."""

    threshold: float | None = None
    scoring: str | None = None
    exact: bool | None = None
    extractor: str | None = None
    verifier: str | None = None
    store: bool = False
    timeout_seconds: float | None = None

    def body(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in Choices.__slots__}


@dataclass(frozen=True, slots=True)
class Checked:
    """A report; `stored` is its id where it was kept, `store_error` why it was not."""

    report: Report
    stored: str | None
    store_error: str | None


@dataclass(frozen=True, slots=True)
class Accepted:
    queued: int


@dataclass(frozen=True, slots=True)
class Progress:
    phase: str
    done: int
    of: int


@dataclass(frozen=True, slots=True)
class FoundClaim:
    text: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Claims:
    claims: tuple[FoundClaim, ...]


@dataclass(frozen=True, slots=True)
class ClaimVerdict:
    """`place` is the claim's place in `Claims` and in the report."""

    place: int
    text: str
    status: Status
    score: float | None


Event = Accepted | Progress | Claims | ClaimVerdict | Checked


@dataclass(slots=True)
class Events:
    """Server-sent events, line by line."""

    _kind: str = ""
    _data: list[str] = field(default_factory=list)
    _finished: bool = False

    def take(self, line: str) -> Iterator[Event]:
        name, _, value = line.partition(":")
        if name == "event":
            self._kind = value.strip()
        elif name == "data":
            self._data.append(value.removeprefix(" "))
        elif not line and self._data:
            data, self._data = json.loads("\n".join(self._data)), []
            event = _event(self._kind, data)
            if event is not None:
                self._finished = isinstance(event, Checked)
                yield event

    def finish(self) -> None:
        if not self._finished:
            raise ServiceError("cut_off", "the service ended the stream without a report")


def _event(kind: str, data: dict[str, Any]) -> Event | None:
    if kind == "error":
        raise _told(data, 0, None)
    if kind == "accepted":
        return Accepted(data["queued"])
    if kind == "progress":
        return Progress(data["phase"], data["done"], data["of"])
    if kind == "claims":
        return Claims(
            tuple(
                FoundClaim(claim["text"], None if claim["span"] is None else Span(**claim["span"]))
                for claim in data["claims"]
            )
        )
    if kind == "verdict":
        claim = data["claim"]
        status = Status(claim["status"])
        return ClaimVerdict(data["place"], claim["text"], status, claim["score"])
    return checked(data) if kind == "report" else None


def one(
    source: Source, response: str, question: str | None, choices: Choices | None
) -> dict[str, Any]:
    return {**_item(Pair(source, response, question)), **(choices or Choices()).body()}


def many(pairs: Iterable[Pair], choices: Choices | None) -> dict[str, Any]:
    return {"items": [_item(pair) for pair in pairs], **(choices or Choices()).body()}


def _item(pair: Pair) -> dict[str, Any]:
    source = pair.source if isinstance(pair.source, str) else list(pair.source)
    return {"source": source, "response": pair.response, "question": pair.question}


def page(limit: int, before: str | None) -> dict[str, Any]:
    return {"limit": limit} | ({} if before is None else {"before": before})


def checked(answer: dict[str, Any]) -> Checked:
    stored, error = answer["stored"], answer["store_error"]
    return Checked(
        report=Report.from_json(json.dumps(answer["report"])),
        stored=None if stored is None else stored["id"],
        store_error=None if error is None else error["message"],
    )


def json_object(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise ServiceError("no_object", "the service answered with no JSON object")
    return value


def refusal(answer: httpx.Response) -> ServiceError:
    after = answer.headers.get("Retry-After", "")
    try:
        data = answer.json()
    except ValueError:
        data = None
    return _told(data, answer.status_code, float(after) if after.isdecimal() else None)


def _told(data: Any, status: int, retry_after: float | None) -> ServiceError:
    """The error shape as an error; what has another shape is not from our service."""
    try:
        told = data["error"]
        code, message, name = str(told["code"]), str(told["message"]), str(told["request_id"])
    except (KeyError, TypeError):
        code, message, name = "unknown", f"the server answered {status}", ""
    return ServiceError(
        code, message, status=status, request_id=name or None, retry_after=retry_after
    )


def pause(error: ServiceError) -> float:
    return min(_LONGEST_PAUSE, error.retry_after or 1.0)
