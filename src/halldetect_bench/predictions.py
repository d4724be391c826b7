"""Result files: one per dataset, method and configuration, one line per row, append-only.

The first line is the `Header`, every other line a `Prediction`. Each line is written in one call,
so a killed process can leave only the last line incomplete. Opening a file for writing removes such
a line, reading skips it.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from halldetect import __version__
from halldetect.errors import InputError
from halldetect.machine.locks import lock_for_writing
from halldetect.reading.sentences import sentences
from halldetect.report import DECIMALS
from halldetect_bench.code_digest import code_digest
from halldetect_bench.datasets.labelled_rows import Row, trained_on
from halldetect_bench.methods.method import Scored, documents

FORMAT = 1
_DIGITS = 12
# Prefix of folders with rows that were scored one at a time.
LATENCY = "latency"
# Names of methods in stored results, and their names now. They are on our verifier in the way of
# others; the published methods with their own weights have names of their own.
RENAMED = {
    name: f"{name}-style" for name in ("minicheck", "alignscore", "summac-zs", "summac-conv")
}


@dataclass(frozen=True, slots=True)
class Header:
    """The origin of a file of predictions.

    `method` has the settings, models and digests of weights. `code` is the digest of the code that
    can change a score. `sample` has the number of `rows` drawn, the number they were drawn from
    (`of`) and the `seed`. `trained_on` names the training data of the packaged verifiers that
    belongs to this dataset or is close to it, or None.
    """

    dataset: str
    method: dict[str, Any]
    version: str = __version__
    format: int = FORMAT
    code: str = ""
    command: str = ""
    sample: dict[str, int] = field(default_factory=dict)
    trained_on: str | None = None

    @classmethod
    def from_stored(cls, content: dict[str, Any]) -> Header:
        """Return the header of a file, with the name that its method has now."""
        header = cls(**content)
        name = header.method["name"]
        return replace(header, method={**header.method, "name": RENAMED.get(name, name)})

    @property
    def digest(self) -> str:
        """The digest of method, settings, weights and code, without the rows."""
        identity = json.dumps([self.version, self.code, self.method], sort_keys=True)
        return hashlib.sha256(identity.encode()).hexdigest()[:_DIGITS]

    @property
    def path(self) -> Path:
        """The path of the file in a folder of results."""
        return Path(slug(self.dataset)) / f"{slug(self.method['name'])}-{self.digest}.jsonl"


@dataclass(frozen=True, slots=True)
class Prediction:
    """A method's answer for one row, with the gold label.

    `row` is a digest of the whole row, to detect changed data. `gold` is True if the response is
    hallucinated; `gold_score` is in the publisher's direction; `gold_claims` are the publisher's
    sentences with their labels. `resources` is the measurement of `Meter`.
    """

    id: str
    row: str
    document: str
    kind: str | None
    gold: bool | None
    gold_score: float | None
    score: float | None
    reason: str | None
    claims: list[list[Any]] = field(default_factory=list)
    cost: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    resources: dict[str, Any] = field(default_factory=dict)
    gold_claims: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Results:
    """The content of one file."""

    header: Header
    predictions: tuple[Prediction, ...]


Record = TypeVar("Record")


def header_of(
    dataset: str,
    description: dict[str, Any],
    *,
    command: str = "",
    sample: dict[str, int] | None = None,
) -> Header:
    """Return the header of a method's predictions for a dataset, without paths of this machine."""
    name = _dataset_name(dataset)
    return Header(
        name,
        portable(description),
        code=code_digest(),
        command=command,
        sample=sample or {},
        trained_on=trained_on(name),
    )


def prediction_of(row: Row, scored: Scored, resources: dict[str, Any] | None = None) -> Prediction:
    """Return the prediction of a row from the method's answer, with energy and memory used."""

    def rounded(value: float | None) -> float | None:
        return None if value is None else round(value, DECIMALS)

    return Prediction(
        id=row.id,
        row=row_digest(row),
        document=row.document,
        kind=row.kind,
        gold=row.hallucinated,
        gold_score=row.score,
        score=rounded(scored.score),
        reason=scored.reason,
        claims=[[text, rounded(score)] for text, score in scored.claims],
        cost=asdict(scored.cost),
        details={**sizes(row), **scored.details},
        resources=resources or {},
        gold_claims=[[text, wrong] for text, wrong in row.sentences],
    )


def sizes(row: Row) -> dict[str, int]:
    """Measure the texts of a row: accuracy and cost may depend on their length."""
    return {
        "source_words": sum(len(text.split()) for text in documents(row)),
        "response_sentences": len(sentences(row.response)),
    }


def row_digest(row: Row) -> str:
    """Return a digest of everything in a row."""
    text = json.dumps(asdict(row), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


class PredictionsWriter:
    """A file of predictions, opened unbuffered for appending.

    `done` maps the ids in it to their row digests.
    """

    def __init__(self, file: Any, done: dict[str, str]) -> None:
        self._file = file
        self.done = done

    def append(self, prediction: Prediction) -> None:
        """Append the prediction of a new row."""
        _write(self._file, asdict(prediction))
        self.done[prediction.id] = prediction.row


@contextmanager
def open_predictions(folder: Path, header: Header) -> Iterator[PredictionsWriter]:
    """Open the file of a header in a folder of results for writing, by one process at a time."""
    path = folder / header.path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # The lock is a separate file; the system releases it when the process is killed.
        lock = os.open(path.with_name(f".{path.stem}.lock"), os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    try:
        lock_for_writing(lock, str(path))
        if path.exists():
            _drop_incomplete_line(path)
        # Unbuffered: a line reaches the system in one call or not at all.
        with path.open("ab", buffering=0) as file:
            if file.tell() == 0:
                _write(file, asdict(header))
            yield PredictionsWriter(file, {item.id: item.row for item in read(path).predictions})
    finally:
        os.close(lock)


def read(path: Path) -> Results:
    """Read a file of predictions; an incomplete last line is skipped."""
    try:
        data = path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1].decode("utf-8")
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    lines = whole.split("\n")[:-1]
    if not lines:
        raise InputError(f"{path} holds no results: delete it")
    header = _parsed(path, 1, lines[0], Header.from_stored)
    if header.format != FORMAT:
        raise InputError(f"{path} has format {header.format}, this version reads {FORMAT}")
    return Results(
        header,
        tuple(_parsed(path, at, line, _prediction) for at, line in enumerate(lines[1:], start=2)),
    )


def latency_folders(folder: Path) -> list[Path]:
    """Return the subfolders of results with rows that were scored one at a time."""
    return [inner for inner in sorted(folder.glob(f"{LATENCY}*")) if inner.is_dir()]


def _prediction(content: dict[str, Any]) -> Prediction:
    return Prediction(**content)


def _parsed(path: Path, at: int, line: str, make: Callable[[dict[str, Any]], Record]) -> Record:
    try:
        return make(json.loads(line))
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}, line {at}: not a line of results: {error}") from error


def _drop_incomplete_line(path: Path) -> None:
    with path.open("rb+") as file:
        whole = file.read().rfind(b"\n") + 1
        file.truncate(whole)


def _write(file: Any, record: dict[str, Any]) -> None:
    # ASCII only: Unicode line separators and lone surrogates stay escaped.
    line = json.dumps(record).encode("ascii") + b"\n"
    try:
        if file.write(line) != len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    except OSError as error:
        raise InputError(f"cannot write {file.name}: {error.strerror}") from error


def slug(name: str) -> str:
    """Return a name in a form that fits into a file name."""
    return re.sub(r"[^\w.-]+", "-", name).strip("-.") or "unnamed"


def portable_command(program: str, words: Sequence[str]) -> str:
    """Return the command line of a program and its arguments without folders of this machine."""
    return " ".join([program, *(str(portable(word)) for word in words)])


def _dataset_name(name: str) -> str:
    """Return the name without folders: results do not depend on the place of the data."""
    head, mark, path = name.rpartition("jsonl:")
    return f"{head}{mark}{Path(path).stem}" if mark else name


def portable(value: Any) -> Any:
    """Return a description without folders of this machine; digests identify the models."""
    if isinstance(value, dict):
        return {key: portable(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [portable(item) for item in value]
    if isinstance(value, str) and os.sep in value:
        head, mark, path = value.rpartition(":")
        if head != "hf" and (Path(path).is_absolute() or Path(path).exists()):
            return f"{head}{mark}{Path(path).name}"
    return value
