"""What the HTTP processes and the worker tell each other: one JSON object a line.

To the worker            {"submit": ID, "options": {...}, "pairs": [...], "until": TIME}
                         {"cancel": ID}     {"stats": ID}
From the worker, with    {"id": ID, "event": NAME, ...}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from halldetect.inputs import Pair

# A line may hold a whole report, whose evidence repeats parts of the source.
LINE_LIMIT = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Options:
    """What a request may choose; pairs that agree in it are checked together."""

    extractor: str
    verifier: str
    scoring: str
    threshold: float
    exact: bool


@dataclass(frozen=True, slots=True)
class Job:
    """The pairs of one request; `until` (seconds since the epoch) is when nobody waits any more."""

    id: str
    options: Options
    pairs: tuple[Pair, ...]
    until: float
    watch: bool = False


def line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def submission(job: Job) -> bytes:
    options = job.options
    return line(
        {
            "submit": job.id,
            "options": {name: getattr(options, name) for name in Options.__slots__},
            "pairs": [[pair.source, pair.response, pair.question] for pair in job.pairs],
            "until": job.until,
            "watch": job.watch,
        }
    )


def submitted(message: dict[str, Any]) -> Job:
    return Job(
        id=message["submit"],
        options=Options(**message["options"]),
        pairs=tuple(Pair(*pair) for pair in message["pairs"]),
        until=message["until"],
        watch=message["watch"],
    )


def decoded(text: bytes) -> dict[str, Any]:
    message = json.loads(text)
    if not isinstance(message, dict):
        raise ValueError("not a message")
    return message
