"""Rows to check, from the records of all input files, and what is wrong with each bad one."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from halldetect.batch.formats import BadRecord, Record, RecordFile, open_records
from halldetect.batch.locations import STANDARD_STREAM, file_sizes
from halldetect.config import Configuration
from halldetect.errors import InputError
from halldetect.inputs import Pair, split_names

# How deep the values of carried columns may be nested.
MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """Which column holds what. One that is None has its usual name and may be missing."""

    source: str = "source"
    response: str = "response"
    id: str | None = None
    question: str | None = None

    def __post_init__(self) -> None:
        used = (self.source, self.response, self.id or "id", self.question or "question")
        if len(set(used)) < len(used):
            raise InputError(f"one column cannot be two things: {', '.join(used)}")

    def require(self, file: RecordFile, *, needs_source: bool = True) -> None:
        """Raise InputError if the file has columns, the same for all rows, and lacks one.

        Args:
            file: the open file.
            needs_source: whether every row must have a source.
        """
        if file.column_names is None:
            return
        for role in ("source", "response", "id", "question"):
            if role == "source" and not needs_source:
                continue
            name = getattr(self, role)
            if name is not None and name not in file.column_names:
                raise InputError(
                    f"{file.name} has no column {name!r}, only {', '.join(file.column_names)}: "
                    f"name the right one with --{role}-column"
                )


@dataclass(frozen=True, slots=True)
class Row:
    """One row; exactly one of `pair` and `problem` is set.

    Attributes:
        number: its number in its file, from 1.
        id: its id, or one made from its number.
        pair: what to check.
        problem: why it cannot be checked.
        columns: the other columns, carried through to the result.
        file: the name of its file, where there may be several.
    """

    number: int
    id: str | int
    pair: Pair | None
    problem: str | None
    columns: dict[str, Any] = field(default_factory=dict)
    file: str | None = None

    @property
    def label(self) -> str:
        """How messages name the row."""
        return f"row {self.number}" + ("" if self.file is None else f" of {self.file!r}")

    def fingerprint(self) -> bytes:
        """Bytes that are equal for equal rows, so that a resumed run can compare its input."""
        pair = self.pair and [self.pair.source, self.pair.response, self.pair.question]
        return json.dumps([self.id, pair, self.problem, self.columns]).encode() + b"\n"


class _BadRow(Exception):
    pass


class InputRows:
    """The rows of all files of a run, one file after the other.

    Args:
        files: paths or URLs.
        columns: which column holds what.
        limits: the configuration whose limits on sizes apply.
        label_files: whether rows name their file, because there may be several.
    """

    def __init__(
        self,
        files: Sequence[str],
        columns: ColumnNames,
        limits: Configuration,
        *,
        label_files: bool,
    ) -> None:
        self._files = files
        self._columns = columns
        self._limits = limits
        self._label_files = label_files
        self._sizes = file_sizes(files) if len(files) > 1 else [1]
        self._files_done = 0
        self._open_file: RecordFile | None = None

    @property
    def name(self) -> str:
        """How messages name the input."""
        if len(self._files) > 1:
            return f"the {len(self._files)} files"
        return "standard input" if self._files[0] == STANDARD_STREAM else repr(self._files[0])

    def require_columns(self) -> None:
        """If there are several files, look at each of them before the long work begins."""
        if len(self._files) < 2:
            return
        for file in self._files:
            with open_records(file) as records:
                self._columns.require(records, needs_source=self._limits.knowledge is None)

    def rows(self) -> Generator[Row, None, None]:
        """All rows, in order."""
        for index, file in enumerate(self._files):
            with open_records(file) as records:
                self._files_done, self._open_file = index, records
                label = file if self._label_files else None
                yield from read_rows(records, self._columns, self._limits, label)
            self._files_done, self._open_file = index + 1, None

    def fraction_read(self) -> float | None:
        """How much of the input has been read, None where that is unknown."""
        total = sum(self._sizes)
        done = float(sum(self._sizes[: self._files_done]))
        if self._open_file is not None:
            fraction = self._open_file.fraction_read()
            if fraction is None:
                return None
            done += fraction * self._sizes[self._files_done]
        return done / total if total else None


def read_rows(
    records: RecordFile, columns: ColumnNames, limits: Configuration, file: str | None = None
) -> Iterator[Row]:
    """The rows of one file.

    Args:
        records: the open file.
        columns: which column holds what.
        limits: the configuration whose limits on sizes apply.
        file: the name that the rows give their file, if any.
    """
    columns.require(records, needs_source=limits.knowledge is None)
    for number, record in enumerate(records.records, start=1):
        yield _row(number, record, columns, limits, records.text_only, file)


def _row(
    number: int,
    record: Record,
    columns: ColumnNames,
    limits: Configuration,
    text_only: bool,
    file: str | None,
) -> Row:
    id: str | int = number if file is None else f"{file}:{number}"
    if isinstance(record, BadRecord):
        return Row(number, id, None, record.reason, file=file)
    values = dict(record)
    identity = values.pop(columns.id or "id", None)
    source = values.pop(columns.source, None)
    response = values.pop(columns.response, None)
    question = values.pop(columns.question or "question", None)
    if text_only:  # the format has no nulls: an empty id or question is none
        identity, question, source = identity or None, question or None, _documents(source)
    carried: dict[str, Any] = {}
    try:
        if identity is not None:
            if not isinstance(identity, (str, int)) or isinstance(identity, bool):
                raise _BadRow(f"the id must be text or a whole number, not {_kind(identity)}")
            id = identity
        carried = {name: _plain(value) for name, value in values.items()}
        if limits.knowledge is not None:  # evidence is retrieved
            source = [] if source is None else source
        pair = _pair(source, response, question, columns)
        _refuse_sizes(pair, limits)
    except _BadRow as bad:
        return Row(number, id, None, str(bad), carried, file)
    return Row(number, id, pair, None, carried, file)


def _pair(source: Any, response: Any, question: Any, columns: ColumnNames) -> Pair:
    if source is None:
        raise _BadRow(f"{columns.source!r} is missing")
    if response is None:
        raise _BadRow(f"{columns.response!r} is missing")
    if isinstance(source, (list, dict)):
        try:
            texts, names = split_names(source)
        except InputError as error:
            raise _BadRow(str(error)) from None
        for document in (*texts, *names):
            if not isinstance(document, str):
                raise _BadRow(f"{columns.source!r} must hold texts only, not {_kind(document)}")
    elif not isinstance(source, str):
        raise _BadRow(f"{columns.source!r} must be text or a list of texts, not {_kind(source)}")
    if not isinstance(response, str):
        raise _BadRow(f"{columns.response!r} must be text, not {_kind(response)}")
    if question is not None and not isinstance(question, str):
        raise _BadRow(f"{columns.question or 'question'!r} must be text, not {_kind(question)}")
    return Pair(source, response, question)


def _refuse_sizes(pair: Pair, limits: Configuration) -> None:
    """Refuse large texts here, not in the detector, so that no result holds them."""
    size = sum(len(text) for text in split_names(pair.source)[0] if isinstance(text, str))
    for what, found, most in (
        ("source", size, limits.max_source),
        ("response", len(pair.response), limits.max_response),
    ):
        if found > most:
            raise _BadRow(
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
    texts = isinstance(found, list) and found and all(map(_is_document, found))
    return found if texts else source


def _is_document(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and "text" in value)


def _plain(value: Any, depth: int = 0) -> Any:
    """The value as JSON can hold it; NaN and infinity become null."""
    if depth > MAX_DEPTH:
        raise _BadRow(f"a column is nested more than {MAX_DEPTH} deep")
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
