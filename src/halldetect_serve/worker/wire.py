"""The messages between the HTTP processes and the worker: one JSON object per line.

To the worker    {"submit": ID, "configuration": {...}, "pairs": [...], "deadline": TIME, ...}
                 {"cancel": ID}     {"stats": ID}
From the worker  {"id": ID, "event": NAME, ...}
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from halldetect.config import Configuration
from halldetect.inputs import Pair

# A line may hold a whole report, whose evidence repeats parts of the source.
MAX_LINE_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Job:
    """The pairs of one request.

    id             random, chosen by the HTTP process
    configuration  options of the check; pairs with the same ones are checked together
    pairs          what to check
    deadline       after which nobody waits for the reports, in the time of `time.monotonic`: all
                   processes of a machine share it, and setting the clock does not move it
    watch          whether the caller wants events while the check runs
    repair         whether the responses are to be repaired; else they are checked
    judge_from     where in the response the part begins that is checked; what is before it is
                   only read
    """

    id: str
    configuration: Configuration
    pairs: tuple[Pair, ...]
    deadline: float
    watch: bool = False
    repair: bool = False
    judge_from: int = 0


@dataclass(frozen=True, slots=True)
class FinishedReport:
    """A finished report, or a finished repair, as the worker sends it.

    json      the report or the repair as JSON text, on one line
    overview  what `worker.process.report_overview` returns for it
    """

    json: str
    overview: dict[str, Any]


def encode(message: dict[str, Any]) -> bytes:
    """Return a message as a line."""
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Return the message of a line.

    Raises:
        ValueError: if the line is not a JSON object.
    """
    message = json.loads(line)
    if not isinstance(message, dict):
        raise ValueError("not a message")
    return message


def encode_job(job: Job) -> bytes:
    """Return the line that submits a job."""
    return encode(
        {
            "submit": job.id,
            "configuration": job.configuration.to_dict(),
            "pairs": [[pair.source, pair.response, pair.question] for pair in job.pairs],
            "deadline": job.deadline,
            "watch": job.watch,
            "repair": job.repair,
            "judge_from": job.judge_from,
        }
    )


def decode_job(message: dict[str, Any]) -> Job:
    """Return the job that a message submits."""
    return Job(
        id=message["submit"],
        configuration=Configuration.from_dict(message["configuration"]),
        pairs=tuple(Pair(*pair) for pair in message["pairs"]),
        deadline=message["deadline"],
        watch=message["watch"],
        repair=message["repair"],
        judge_from=message["judge_from"],
    )
