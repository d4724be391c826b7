"""Readers of the publishers' files: JSON, JSON lines, CSV and Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from halldetect.errors import InputError, MissingExtra
from halldetect_bench.datasets.labelled_rows import Loaded, Row, collect


def locate(path: Path, *names: str, hint: str) -> Path:
    """Return the first existing file of these names in a folder.

    The `hint` says where to get the file, for the error message.
    """
    for name in names:
        if (path / name).is_file():
            return path / name
    raise InputError(f"{path / names[0]} does not exist: put {' or '.join(names)} there ({hint})")


class Loader(Protocol):
    """Loads a dataset, or a named part of one, from the folder of the publisher's release."""

    def __call__(self, path: Path, part: str = "") -> Loaded:
        """Return the rows of the folder `path`."""


def from_file(*names: str, hint: str) -> Callable[[Callable[..., Iterable[Row]]], Loader]:
    """Turn a function of a record into a loader of the first existing file.

    The function gets the position of a record, from 1, and the record. If the file names have a
    place for the part of the dataset, `{}`, the part comes first.
    """

    def loader(parse: Callable[..., Iterable[Row]]) -> Loader:
        def load(path: Path, part: str = "") -> Loaded:
            file = locate(path, *(name.format(part) for name in names), hint=hint)
            return collect(read_table_file(file), partial(parse, part) if part else parse)

        return load

    return loader


def read_json(path: Path) -> Any:
    """Return the content of a JSON file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise InputError(f"{path} is not a readable JSON file: {error}") from error


def read_jsonl(path: Path) -> list[Any]:
    """Return the records of a file with one JSON value per line."""
    records = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    try:
                        records.append(json.loads(line))
                    except ValueError as error:
                        raise InputError(f"{path}, line {number}: not JSON: {error}") from error
    except (UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    return records


def read_csv(path: Path) -> list[dict[str, str]]:
    """Return the records of a CSV file with a header line."""
    # Some documents are longer than the csv module's default field limit.
    csv.field_size_limit(1 << 30)
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            return list(csv.DictReader(lines))
    except (csv.Error, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} is not a readable CSV file: {error}") from error


def read_parquet(path: Path) -> list[dict[str, Any]]:
    """Return the records of a Parquet file."""
    try:
        from pyarrow import ArrowException
        from pyarrow.parquet import read_table
    except ImportError as error:
        raise MissingExtra("reading Parquet", "bench") from error
    try:
        records: list[dict[str, Any]] = read_table(path).to_pylist()
    except (ArrowException, OSError) as error:
        raise InputError(f"{path} is not a readable Parquet file: {error}") from error
    return records


def read_table_file(path: Path) -> list[Any]:
    """Return the records of a CSV, Parquet, JSON-lines or JSON-array file.

    Publishers use .json for JSON lines as well, so the first character decides between the two.
    """
    suffix = path.suffix.lower()
    if suffix == ".csv":
        return read_csv(path)
    if suffix == ".parquet":
        return read_parquet(path)
    try:
        with path.open(encoding="utf-8") as text:
            opening = text.read(1024).lstrip()[:1]
    except (UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    if opening == "[":
        records: list[Any] = read_json(path)
        return records
    return read_jsonl(path)
