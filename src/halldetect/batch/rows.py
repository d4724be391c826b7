"""Rows to check, from records: which column holds what, and what is wrong with a row."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from halldetect.batch.formats import Input, Malformed, Record
from halldetect.config import Configuration
from halldetect.errors import InputError
from halldetect.inputs import Pair

# Columns that are carried through may be nested; no deeper than this.
DEEPEST = 32


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns. One that is None has its usual name and may be missing."""

    source: str = "source"
    response: str = "response"
    id: str | None = None
    question: str | None = None

    def __post_init__(self) -> None:
        used = (self.source, self.response, self.id or "id", self.question or "question")
        if len(set(used)) < len(used):
            raise InputError(f"one column cannot be two things: {', '.join(used)}")

    def require(self, given: Input) -> None:
        """In a file where all rows have the same columns a missing one is a usage mistake."""
        if given.names is None:
            return
        for role in ("source", "response", "id", "question"):
            name = getattr(self, role)
            if name is not None and name not in given.names:
                raise InputError(
                    f"{given.name} has no column {name!r}, only {', '.join(given.names)}: "
                    f"name the right one with --{role}-column"
                )


@dataclass(frozen=True, slots=True)
class Row:
    """One row, counted from 1 in its file; exactly one of `pair` and `problem` is there.

    `file` is named where there may be several.
    """

    number: int
    id: str | int
    pair: Pair | None
    problem: str | None
    columns: dict[str, Any] = field(default_factory=dict)
    file: str | None = None

    @property
    def label(self) -> str:
        return f"row {self.number}" + ("" if self.file is None else f" of {self.file!r}")

    def fingerprint(self) -> bytes:
        """Equal for equal rows, so that a resumed run knows its input again."""
        pair = self.pair and [self.pair.source, self.pair.response, self.pair.question]
        return json.dumps([self.id, pair, self.problem, self.columns]).encode() + b"\n"


class _Bad(Exception):
    pass


def read_rows(
    given: Input, columns: Columns, limits: Configuration, file: str | None = None
) -> Iterator[Row]:
    columns.require(given)
    for number, record in enumerate(given.records, start=1):
        yield _row(number, record, columns, limits, given.texts_only, file)


def _row(
    number: int,
    record: Record,
    columns: Columns,
    limits: Configuration,
    texts_only: bool,
    file: str | None,
) -> Row:
    id: str | int = number if file is None else f"{file}:{number}"
    if isinstance(record, Malformed):
        return Row(number, id, None, record.reason, file=file)
    values = dict(record)
    identity = values.pop(columns.id or "id", None)
    source = values.pop(columns.source, None)
    response = values.pop(columns.response, None)
    question = values.pop(columns.question or "question", None)
    if texts_only:  # without nulls, an id or a question of no characters is none
        identity, question, source = identity or None, question or None, _documents(source)
    carried: dict[str, Any] = {}
    try:
        if identity is not None:
            if not isinstance(identity, (str, int)) or isinstance(identity, bool):
                raise _Bad(f"the id must be text or a whole number, not {_kind(identity)}")
            id = identity
        carried = {name: _plain(value) for name, value in values.items()}
        pair = _pair(source, response, question, columns)
        _refuse_sizes(pair, limits)
    except _Bad as bad:
        return Row(number, id, None, str(bad), carried, file)
    return Row(number, id, pair, None, carried, file)


def _pair(source: Any, response: Any, question: Any, columns: Columns) -> Pair:
    if source is None:
        raise _Bad(f"{columns.source!r} is missing")
    if response is None:
        raise _Bad(f"{columns.response!r} is missing")
    if isinstance(source, list):
        for document in source:
            if not isinstance(document, str):
                raise _Bad(f"{columns.source!r} must hold texts only, not {_kind(document)}")
    elif not isinstance(source, str):
        raise _Bad(f"{columns.source!r} must be text or a list of texts, not {_kind(source)}")
    if not isinstance(response, str):
        raise _Bad(f"{columns.response!r} must be text, not {_kind(response)}")
    if question is not None and not isinstance(question, str):
        raise _Bad(f"{columns.question or 'question'!r} must be text, not {_kind(question)}")
    return Pair(source, response, question)


def _refuse_sizes(pair: Pair, limits: Configuration) -> None:
    """Here and not by the detector, so that the output need not hold what is too large."""
    source = pair.source
    size = len(source) if isinstance(source, str) else sum(map(len, source))
    for what, found, most in (
        ("source", size, limits.max_source),
        ("response", len(pair.response), limits.max_response),
    ):
        if found > most:
            raise _Bad(
                f"the {what} has {found:,} characters, more than the limit of {most:,}; "
                f"--max-{what} raises it"
            )


def _documents(source: Any) -> Any:
    """A JSON list of texts in a text cell is several documents; anything else is the text."""
    if not (isinstance(source, str) and source.lstrip().startswith("[")):
        return source
    try:
        found = json.loads(source)
    except (ValueError, RecursionError):
        return source
    texts = isinstance(found, list) and found and all(isinstance(item, str) for item in found)
    return found if texts else source


def _plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON can hold it; numbers that are none (NaN, infinity) become null."""
    if depth > DEEPEST:
        raise _Bad(f"a column is nested more than {DEEPEST} deep")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return str(value)


def _kind(value: object) -> str:
    return type(value).__name__
