"""Readers of the publishers' files: JSON, JSON lines, CSV and Parquet."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from halldetect.errors import InputError, MissingExtra


def locate(path: Path, *names: str, hint: str) -> Path:
    """Return the file of a dataset.

    Args:
        path: the file itself, or the folder that holds it.
        names: possible names; the first existing file is used.
        hint: where to get the file, for the error message.
    """
    if path.is_file():
        return path
    for name in names:
        if (path / name).is_file():
            return path / name
    wanted = " or ".join(names)
    raise InputError(f"{path / names[0]} does not exist: put {wanted} there ({hint})")


def folder(path: Path) -> Path:
    """Return the folder of a dataset of several files, given the folder or one of the files."""
    return path.parent if path.is_file() else path


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
