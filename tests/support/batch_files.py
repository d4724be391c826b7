"""Rows, files of rows and results, and a small detector, for the tests of batches."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from halldetect import Detector
from tests.support.fakes import OverlapVerifier

SOURCE = "The mill was built in 1790. Today it is a museum."
GOOD = "It is a museum today."
WRONG = "The mill was built in 1850."
# Four rows of four kinds, and their verdicts.
ROWS: list[dict[str, Any]] = [
    {"id": "a", "source": SOURCE, "response": GOOD, "lang": "en"},
    {"id": "b", "source": SOURCE, "response": f"{GOOD} {WRONG}", "lang": "de"},
    {"id": "c", "source": ["Rye bread rests.", SOURCE], "response": GOOD, "lang": "fr"},
    {"id": "d", "source": SOURCE, "response": "", "lang": ""},
]
VERDICTS = ["faithful", "hallucinated", "faithful", "uncheckable"]


def detector(**options: Any) -> Detector:
    """A detector that costs next to nothing."""
    return Detector(OverlapVerifier(), **options)


class Stopped(Exception):
    """Ends a run early, as a crash would."""


def stop_after(parts: int) -> Callable[..., None]:
    """Return a progress callback that ends a run after some parts."""
    left = iter(range(parts - 1))

    def progress(*_: object) -> None:
        if next(left, None) is None:
            raise Stopped

    return progress


def write_jsonl(path: Path, rows: Iterable[Any]) -> Path:
    """Write rows as JSON lines."""
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    return path


def results(path: Path) -> list[dict[str, Any]]:
    """The results of a file of JSON lines."""
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def without_seconds(data: bytes) -> bytes:
    """The bytes of a results file apart from timings."""
    return re.sub(rb'"seconds":\{[^}]*\}', b'"seconds":{}', data)


def untimed(path: Path) -> bytes:
    """A results file apart from timings."""
    return without_seconds(path.read_bytes())


def rows(count: int, responses: Sequence[str] = (GOOD, WRONG)) -> list[dict[str, Any]]:
    """Rows with ids, a column `kind` with three values, and the responses in turn."""
    return [
        {"id": n, "source": SOURCE, "response": responses[n % len(responses)], "kind": n % 3}
        for n in range(count)
    ]


def rows_of_all_kinds(count: int) -> list[Any]:
    """Faithful, hallucinated, uncheckable and bad rows in turn, each different from the others."""
    kinds: list[Any] = [
        {"response": GOOD},
        {"response": WRONG},
        {"response": ""},
        {"oops": 1},
        {"response": f"{GOOD} {WRONG}", "source": ["Rye bread rests.", SOURCE]},
    ]
    return [{"source": SOURCE, "n": n, **kinds[n % len(kinds)]} for n in range(count)]
