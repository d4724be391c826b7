"""What the service is sent and what it answers, as Python values; nothing here uses the network."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Unpack

from halldetect.config import Overrides, options
from halldetect.errors import ServiceError
from halldetect.inputs import Pair, Source
from halldetect.reading.document import Span
from halldetect.report import Report, Status


@dataclass(frozen=True, init=False)
class Choices:
    """What a check may choose; an option that is left out is the service's own setting.

    Args:
        store: whether the service stores the report.
        timeout_seconds: how long the check may take, waiting included; at most the service's own
            limit.
        options: options of `halldetect.config.Configuration` that a request may set: those that
            are marked `per_request`, such as threshold, scoring and extractor.

    Raises:
        TypeError: for an option that a request may not set.
    """

    store: bool
    timeout_seconds: float | None
    options: dict[str, Any]

    def __init__(
        self,
        *,
        store: bool = False,
        timeout_seconds: float | None = None,
        **chosen: Unpack[Overrides],
    ) -> None:
        known = {option.name for option in options() if option.per_request}
        if unknown := sorted(set(chosen) - known):
            raise TypeError(f"a request cannot set {', '.join(unknown)}: {sorted(known)}")
        given = {name: value for name, value in chosen.items() if value is not None}
        object.__setattr__(self, "store", store)
        object.__setattr__(self, "timeout_seconds", timeout_seconds)
        object.__setattr__(self, "options", given)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields of the request."""
        return {**self.options, "store": self.store, "timeout_seconds": self.timeout_seconds}


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
    """Event: the check is in the queue.

    Attributes:
        queued: number of pairs that wait before it.
    """

    queued: int


@dataclass(frozen=True, slots=True)
class Progress:
    """Event: a part of the work is done.

    Attributes:
        phase: "extract", "verify", "explain" (of failing claims) or "proof" (short passages).
        done: how much of it is done: responses or, while claims are judged, tokens.
        of: how much there probably is.
        seconds_left: how long the phase will probably still take; None while that is unknown.
    """

    phase: str
    done: int
    of: int
    seconds_left: float | None = None


@dataclass(frozen=True, slots=True)
class FoundClaim:
    """A claim before it is checked.

    Attributes:
        text: the claim.
        span: its place in the response, if it is known.
    """

    text: str
    span: Span | None


@dataclass(frozen=True, slots=True)
class Claims:
    """Event: the claims of the response are extracted.

    Attributes:
        claims: all of them, in the order of the report.
    """

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
        """Check that the stream has come to its end.

        Raises:
            ServiceError: `cut_off` if there was no report.
        """
        if not self._finished:
            raise ServiceError("cut_off", "the service ended the stream without a report")


def _parse_event(name: str, data: dict[str, Any]) -> Event | None:
    if name == "error":
        raise parse_error(data, 0, None)
    if name == "accepted":
        return Accepted(data["queued"])
    if name == "progress":
        left = data.get("seconds_left")
        return Progress(data["phase"], data["done"], data["of"], left)
    if name == "claims":
        return Claims(tuple(_parse_claim(claim) for claim in data["claims"]))
    if name == "verdict":
        claim = data["claim"]
        status = Status(claim["status"])
        return ClaimVerdict(data["place"], claim["text"], status, claim["support"])
    return parse_checked(data) if name == "report" else None


def _parse_claim(claim: dict[str, Any]) -> FoundClaim:
    span = claim["span"]
    return FoundClaim(claim["text"], None if span is None else Span(**span))


def check_body(
    source: Source, response: str, question: str | None, choices: Choices | None
) -> dict[str, Any]:
    """Return the body of a request that checks one response."""
    return {**_item(Pair(source, response, question)), **(choices or Choices()).to_dict()}


def batch_body(pairs: Iterable[Pair], choices: Choices | None) -> dict[str, Any]:
    """Return the body of a request that checks many responses."""
    return {"items": [_item(pair) for pair in pairs], **(choices or Choices()).to_dict()}


def _item(pair: Pair) -> dict[str, Any]:
    source = pair.source
    if isinstance(source, Sequence) and not isinstance(source, str):
        source = list(source)
    return {"source": source, "response": pair.response, "question": pair.question}


def parse_checked(answer: dict[str, Any]) -> Checked:
    """Return the result of a check from its JSON form."""
    stored, error = answer["stored"], answer["store_error"]
    return Checked(
        report=Report.from_dict(answer["report"]),
        stored=None if stored is None else stored["id"],
        store_error=None if error is None else error["message"],
    )


def parse_error(data: Any, status: int, retry_after: float | None) -> ServiceError:
    """Return the error of an error body; a body of another form is not from this service.

    Args:
        data: the parsed body, or None.
        status: HTTP status of the answer.
        retry_after: seconds of the header Retry-After, if it was there.
    """
    try:
        error = data["error"]
        code, message, request_id = map(str, (error["code"], error["message"], error["request_id"]))
    except (KeyError, TypeError):
        code, message, request_id = "unknown", f"the server answered {status}", ""
    return ServiceError(
        code, message, status=status, request_id=request_id or None, retry_after=retry_after
    )
