"""Turn the records of all input files into rows to check, or into problems."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from halldetect.batch.formats import BadRecord, Record, RecordFile, open_records
from halldetect.batch.job import ColumnNames, Job
from halldetect.config import Configuration
from halldetect.errors import InputError
from halldetect.inputs import Pair, clean_pair

# The maximum nesting of carried values.
MAX_DEPTH = 32


@dataclass(frozen=True, slots=True)
class Row:
    """One row; exactly one of `pair` and `problem` is set.

    Attributes:
        label: The row as messages name it.
        number: Its number in its file, from 1.
        id: Its id, or one made from its number.
        pair: The texts to check.
        problem: Why it cannot be checked.
        columns: The other columns, carried through to the result.
    """

    label: str
    number: int
    id: str | int
    pair: Pair | None = None
    problem: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)

    def digest(self) -> str:
        """Return a digest of the row, so that a resumed run can compare rows."""
        pair = self.pair and [self.pair.source, self.pair.response, self.pair.question]
        content = json.dumps([self.id, pair, self.problem, self.columns])
        return blake2b(content.encode(), digest_size=12).hexdigest()


def require_columns(job: Job, limits: Configuration) -> None:
    """Check the columns of each file, if there are several, before the long work."""
    for file in job.files if len(job.files) > 1 else ():
        with open_records(file) as records:
            _require_columns(records, job.columns, limits)


def input_rows(job: Job, limits: Configuration) -> Generator[tuple[Row, float | None], None, None]:
    """Yield each row of all files, and the fraction of the input read so far, None if unknown.

    Args:
        job: The files and their columns.
        limits: The configuration with the size limits.
    """
    files = job.files
    for done, file in enumerate(files):
        with open_records(file) as records:
            for row in read_rows(records, job.columns, limits, file if job.label_files else None):
                inside = records.fraction_read()
                yield row, None if inside is None else (done + inside) / len(files)


def read_rows(
    records: RecordFile, columns: ColumnNames, limits: Configuration, file: str | None = None
) -> Iterator[Row]:
    """Yield the rows of one file; `file` is its name in the rows, if any."""
    _require_columns(records, columns, limits)
    for number, record in enumerate(records.records, start=1):
        yield _row(number, record, columns, limits, records.text_only, file)


def _require_columns(file: RecordFile, columns: ColumnNames, limits: Configuration) -> None:
    """Raise InputError if the file lacks a column."""
    for role in ("source", "response", "id", "question") if file.column_names else ():
        name = getattr(columns, role)
        is_retrieved = role == "source" and limits.knowledge is not None
        if name not in (None, *file.column_names) and not is_retrieved:
            raise InputError(
                f"{file.name} has no column {name!r}, only {', '.join(file.column_names)}: "
                f"name the right one with --{role}-column"
            )


def _row(
    number: int,
    record: Record,
    columns: ColumnNames,
    limits: Configuration,
    text_only: bool,
    file: str | None,
) -> Row:
    id: Any = number if file is None else f"{file}:{number}"
    label = f"row {number}" if file is None else f"row {number} of {file!r}"
    if isinstance(record, BadRecord):
        return Row(label, number, id, problem=record.reason)
    values = dict(record)
    given = values.pop(columns.id or "id", None)
    source = values.pop(columns.source, None)
    response = values.pop(columns.response, None)
    question = values.pop(columns.question or "question", None)
    if text_only:  # no nulls in this format: empty means missing
        given, question, source = given or None, question or None, _documents(source)
    if source is None and limits.knowledge is not None:  # evidence is retrieved
        source = []
    carried: dict[str, Any] = {}
    try:
        if given is not None:
            if not isinstance(given, (str, int)) or isinstance(given, bool):
                kind = type(given).__name__
                raise InputError(f"the id must be text or a whole number, not {kind}")
            id = given
        carried = {name: _plain(value) for name, value in values.items()}
        for name, value in ((columns.source, source), (columns.response, response)):
            if value is None:
                raise InputError(f"{name!r} is missing")
        pair = Pair(source, response, question)
        _require_sizes(pair, limits)
    except InputError as error:
        return Row(label, number, id, problem=str(error), columns=carried)
    return Row(label, number, id, pair, columns=carried)


def _require_sizes(pair: Pair, limits: Configuration) -> None:
    """Reject large texts here, before the detector, so that no result contains them."""
    texts = clean_pair(pair)
    size = sum(map(len, texts.documents))
    for what, found, most in (
        ("source", size, limits.max_source),
        ("response", len(texts.response), limits.max_response),
    ):
        if found > most:
            raise InputError(
                f"the {what} has {found:,} characters, more than the limit of {most:,}; "
                f"--max-{what} raises it"
            )


def _documents(source: Any) -> Any:
    """Return the documents of a text cell with a JSON list of documents, else the text."""
    if not (isinstance(source, str) and source.lstrip().startswith("[")):
        return source
    try:
        found = json.loads(source)
    except (ValueError, RecursionError):
        return source
    is_text = (
        isinstance(item, str) or (isinstance(item, dict) and "text" in item) for item in found
    )
    return found if found and all(is_text) else source


def _plain(value: Any, depth: int = 0) -> Any:
    """Return the value in a form that JSON can hold; NaN and infinity become null."""
    if depth > MAX_DEPTH:
        raise InputError(f"a column is nested more than {MAX_DEPTH} deep")
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, depth + 1) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else str(value)
