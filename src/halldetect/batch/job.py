"""Describe a batch run, and turn the records of its input into rows to check, or into problems."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from itertools import islice
from pathlib import Path, PurePath
from typing import Any

from halldetect.batch.formats import (
    JSONL_SUFFIXES,
    STANDARD_STREAM,
    BadRecord,
    Record,
    RecordFile,
    expand_inputs,
    is_pattern,
    is_url,
    open_records,
)
from halldetect.config import Configuration
from halldetect.errors import InputError
from halldetect.inputs import Conversation, Pair, clean_pair

HOW_TO_RESUME = "the same command with --resume (and without --overwrite) continues from there"
# Holds the settings of an unfinished run, in its folder of parts.
RUN_FILE = "_run.json"
# The column of a conversation, in place of response and source.
MESSAGES = "messages"


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns of a row. None selects the default name, and the column may be missing."""

    source: str = "source"
    response: str = "response"
    id: str | None = None
    question: str | None = None

    def __post_init__(self) -> None:
        used = (self.source, self.response, self.id or "id", self.question or "question")
        if len(set(used)) < len(used):
            raise InputError(f"one column cannot be two things: {', '.join(used)}")


DEFAULT_COLUMNS = ColumnNames()


def already_exists(name: str) -> InputError:
    """Return the error for output that exists before a new run."""
    return InputError(
        f"{name!r} exists: --resume continues an unfinished run, --overwrite begins again"
    )


@dataclass(frozen=True, slots=True)
class InputFile:
    """An input file: its index, its location, its share of the input, its name in ids, if any."""

    index: int
    location: str
    share: float = 1.0
    label: str | None = None


@dataclass(frozen=True, slots=True)
class Job:
    """One run over the rows of files: paths, URLs or patterns.

    A target with a scheme or a final slash is a folder of parts. `in_parts` is True for the Ray
    engine, which cannot use standard streams. `cache` is the folder of a report cache (None:
    temporary).
    """

    source: str | tuple[str, ...]
    target: str
    columns: ColumnNames = DEFAULT_COLUMNS
    resume: bool = False
    overwrite: bool = False
    batch_size: int = 32
    in_parts: bool = False
    cache: str | None = None

    def __post_init__(self) -> None:
        files = [file.location for file in self.files]
        if self.in_parts and STANDARD_STREAM in (self.target, *files):
            raise InputError("--engine ray reads and writes files, not standard input or output")
        if self.target == STANDARD_STREAM:
            if self.resume or self.overwrite:
                raise InputError("standard output can be neither resumed nor overwritten")
            return
        kinds = (*JSONL_SUFFIXES, ".parquet", *(() if self.is_folder else (".csv",)))
        if self.suffix not in kinds:
            raise InputError(
                f"cannot tell the format of {self.target!r} by its ending: use {', '.join(kinds)}"
                + (" for a folder of parts" if self.is_folder else ", or - for standard output")
            )
        try:
            if not self.is_folder:
                self._require_usable_file(files)
        except OSError as error:
            raise InputError(f"cannot write {self.target!r}: {error.strerror}") from error

    def _require_usable_file(self, files: list[str]) -> None:
        out = self.out
        if out.exists() and not out.is_file():
            raise InputError(f"{self.target!r} is not a file; - is standard output")
        if not out.parent.is_dir():
            raise InputError(f"there is no folder {str(out.parent)!r} for {self.target!r}")
        if any(file != STANDARD_STREAM and Path(os.path.realpath(file)) == out for file in files):
            raise InputError(f"{self.target!r} is the input; name another output")
        for path in () if self.resume or self.overwrite else (out, self.parts):
            if path.exists():
                raise already_exists(str(path))

    @property
    def suffix(self) -> str:
        """The ending of the target's name, in lower case."""
        return PurePath(self.target.rstrip("/")).suffix.lower()

    @property
    def is_folder(self) -> bool:
        """True if the target is a folder of parts."""
        return is_url(self.target) or self.target.endswith("/")

    @property
    def files(self) -> list[InputFile]:
        """The input files; rows have the name of theirs if the run may have several."""
        given = (self.source,) if isinstance(self.source, str) else self.source
        names, label = expand_inputs(given), len(given) > 1 or is_pattern(given[0])
        share = 1 / len(names)
        return [
            InputFile(at, name, share, name if label else None) for at, name in enumerate(names)
        ]

    @property
    def out(self) -> Path:
        """The target file with links resolved, because the new file would replace a link."""
        return Path(os.path.realpath(self.target))

    @property
    def parts(self) -> Path:
        """The folder of parts: the target, or the folder that collects the parts of `out`."""
        return self.out if self.is_folder else self.out.with_name(f"{self.out.name}.parts")

    @property
    def is_complete(self) -> bool:
        """True if the run to resume has already written its file."""
        is_unfinished = (self.parts / RUN_FILE).exists()
        return self.resume and not self.is_folder and self.out.exists() and not is_unfinished


@dataclass(frozen=True, slots=True)
class Row:
    """One row: the texts to check, or the problem why they cannot be checked.

    `number` counts the rows of its file from 1, and is the id of a row without one; `columns` are
    carried through to the result.
    """

    number: int
    id: str | int
    pair: Pair | None = None
    problem: str | None = None
    columns: dict[str, Any] = field(default_factory=dict)

    def digest(self) -> str:
        """Return a digest of the row, so that a resumed run can compare rows."""
        pair = self.pair and [self.pair.source, self.pair.response, self.pair.question]
        return digest(json.dumps([self.id, pair, self.problem, self.columns]).encode())


def digest(content: bytes) -> str:
    """Return a short digest of bytes."""
    return blake2b(content, digest_size=12).hexdigest()


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive rows of a file, and their share of the whole input, 0 if it is not known.

    The key holds the index of the file, the number of the first row, and a digest of all rows, so
    that sorted keys follow the order of the input.
    """

    key: str
    rows: list[Row]
    share: float = 0.0


def input_parts(job: Job, limits: Configuration, size: int) -> Iterator[Part]:
    """Yield the rows of all files, `size` at a time; first check the columns of each file."""
    files = job.files
    for file in files[1:]:
        with open_records(file.location) as records:
            _require_columns(records, job.columns, limits)
    for file in files:
        yield from read_parts(file, job.columns, limits, size)


def read_parts(
    file: InputFile, columns: ColumnNames, limits: Configuration, size: int
) -> Iterator[Part]:
    """Yield the rows of a file, `size` at a time."""
    read = 0.0
    with open_records(file.location) as records:
        _require_columns(records, columns, limits)
        numbered = enumerate(records.records, start=1)
        while taken := list(islice(numbered, size)):
            rows = [_row(*item, columns, limits, records.text_only, file.label) for item in taken]
            rows_digest = digest("".join(row.digest() for row in rows).encode())
            key = f"part-{file.index:06}-{rows[0].number:012}-{rows_digest}"
            before, read = read, records.fraction_read()
            yield Part(key, rows, file.share * (read - before))


def _require_columns(file: RecordFile, columns: ColumnNames, limits: Configuration) -> None:
    for role in ("source", "response", "id", "question") if file.column_names else ():
        name = getattr(columns, role)
        is_retrieved = role == "source" and limits.knowledge is not None
        is_retrieved |= role in ("source", "response") and MESSAGES in file.column_names
        if name not in (None, *file.column_names) and not is_retrieved:
            raise InputError(
                f"{file.name} has no column {name!r}, only {', '.join(file.column_names)}: "
                f"rename one, or name it with --{role}-column of batch"
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
    if isinstance(record, BadRecord):
        return Row(number, id, problem=record.reason)
    values = dict(record)
    given = values.pop(columns.id or "id", None)
    source = values.pop(columns.source, None)
    response = values.pop(columns.response, None)
    question = values.pop(columns.question or "question", None)
    messages = values.pop(MESSAGES, None) if response is None else None
    if text_only:  # no nulls in this format: empty means missing
        given, question, source = given or None, question or None, _documents(source)
    if source is None and limits.knowledge is not None:  # evidence is retrieved
        source = []
    carried: dict[str, Any] = {}
    try:
        if isinstance(given, bool) or not isinstance(given, (str, int, type(None))):
            kind = type(given).__name__
            raise InputError(f"the id must be text or a whole number, not {kind}")
        id = id if given is None else given
        carried = {name: _plain(value) for name, value in values.items()}
        if messages is not None:
            text = messages if isinstance(messages, str) else json.dumps(_plain(messages))
            source, response = source or [], text
        for name, value in ((columns.source, source), (columns.response, response)):
            if value is None:
                raise InputError(f"{name!r} is missing")
        pair = (Pair if messages is None else Conversation)(source, response, question)
        _require_sizes(pair, limits)
    except InputError as error:
        return Row(number, id, problem=str(error), columns=carried)
    return Row(number, id, pair, columns=carried)


def _require_sizes(pair: Pair, limits: Configuration) -> None:
    """Reject large texts here, before the detector, so that no result contains them."""
    texts = clean_pair(pair)
    for name, given in (("source", texts.documents), ("response", (texts.response,))):
        found, most = sum(map(len, given)), getattr(limits, f"max_{name}")
        if found > most:
            raise InputError(
                f"the {name} has {found:,} characters, more than the limit of {most:,}; "
                f"--max-{name} raises it"
            )


def _documents(source: Any) -> Any:
    """Return the documents of a text cell with a JSON list of documents, else the text."""
    try:
        found = json.loads(source) if source.lstrip().startswith("[") else None
    except (AttributeError, ValueError, RecursionError):
        return source
    is_text = (
        isinstance(item, str) or (isinstance(item, dict) and "text" in item) for item in found or ()
    )
    return found if found and all(is_text) else source


def _plain(value: Any) -> Any:
    """Return the value in a form that JSON can hold; NaN and infinity become null."""
    from pydantic_core import to_jsonable_python

    try:
        return to_jsonable_python(value, inf_nan_mode="null", bytes_mode="base64", fallback=str)
    except ValueError as error:
        raise InputError(f"a column cannot be written as JSON: {error}") from None
