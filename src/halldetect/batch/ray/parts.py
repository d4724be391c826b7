"""Results in parts: a folder, anywhere pyarrow can write, with one file per group of rows.

A part's name says which rows it holds: the index of their input file, the number of the first
row, and a digest of all of them. So the names in order are the input in order, a part that
exists need not be made again, and one that is made twice is the same.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

from halldetect.batch.counts import BAD, RowCounts
from halldetect.batch.locations import file_system
from halldetect.batch.resume import already_exists, require_same_settings
from halldetect.errors import CheckError, InputError

RUN_FILE = "_run.json"
DONE_FILE = "_done.json"
_FORMAT = 1
# In these stores a file appears whole or not at all.
_OBJECT_STORES = ("s3", "gcs", "abfs")


def part_name(file: int, first_row: int, digest: str, suffix: str) -> str:
    """The name of a part.

    Args:
        file: the index of the input file.
        first_row: the number of its first row in that file.
        digest: a digest of its rows.
        suffix: .jsonl or .parquet.
    """
    return f"part-{file:06}-{first_row:012}-{digest}{suffix}"


class PartsFolder:
    """A folder of parts; it has no open files, so that it can be sent to workers.

    Args:
        location: the path or URL of the folder.
    """

    def __init__(self, location: str) -> None:
        self.location = location.rstrip("/")

    def __reduce__(self) -> tuple[type[PartsFolder], tuple[str]]:
        return PartsFolder, (self.location,)

    @cached_property
    def _folder(self) -> tuple[Any, str]:
        return file_system(self.location)

    def names(self) -> list[str]:
        """The finished parts, in the order of the input."""
        return sorted(name for name in self._files() if name.startswith("part-"))

    def _files(self) -> Iterator[str]:
        from pyarrow.fs import FileSelector, FileType

        system, folder = self._folder
        for entry in system.get_file_info(FileSelector(folder, allow_not_found=True)):
            if entry.type == FileType.File:
                yield entry.base_name

    def write(self, name: str, data: bytes) -> None:
        """Write a part so that it exists as a whole or not at all."""
        system, folder = self._folder
        if system.type_name in _OBJECT_STORES:
            with system.open_output_stream(f"{folder}/{name}") as stream:
                stream.write(data)
            return
        draft = f"{folder}/.{name}.{uuid.uuid4().hex}"
        try:
            if system.type_name == "local":
                with Path(draft).open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            else:
                with system.open_output_stream(draft) as stream:
                    stream.write(data)
            system.move(draft, f"{folder}/{name}")
        except OSError:
            with suppress(OSError):
                system.delete_file(draft)
            raise

    def read(self, name: str) -> bytes:
        """The content of a part."""
        system, folder = self._folder
        with system.open_input_stream(f"{folder}/{name}", compression=None) as stream:
            data: bytes = stream.read()
        return data

    def begin(self, settings: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
        """Make the folder empty, or make sure that it holds the same run, unfinished.

        Args:
            settings: everything that the results depend on.
            resume: whether to continue an unfinished run.
            overwrite: whether to delete parts that exist.
        """
        system, folder = self._folder
        try:
            found = set(self._files())
            if overwrite or not found:
                if found:
                    system.delete_dir_contents(folder)
                system.create_dir(folder, recursive=True)
                self._record(RUN_FILE, {"format": _FORMAT, "settings": settings})
                return
            if not resume:
                raise already_exists(self.location)
            if RUN_FILE not in found:
                raise InputError(
                    f"cannot resume: {self.location!r} was not made by --engine ray; "
                    "--overwrite begins again"
                )
            self._require_same_run(settings)
        except OSError as error:
            raise InputError(
                f"cannot write {self.location!r}: {error.strerror or error}"
            ) from error

    def _require_same_run(self, settings: dict[str, Any]) -> None:
        try:
            recorded = dict(json.loads(self.read(RUN_FILE))["settings"])
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"cannot resume: {RUN_FILE} in {self.location!r} does not fit ({error}); "
                "--overwrite begins again"
            ) from error
        require_same_settings(recorded, settings)

    def _record(self, name: str, value: dict[str, Any]) -> None:
        self.write(name, json.dumps(value, indent=1).encode())

    @property
    def is_complete(self) -> bool:
        """Whether all parts are written."""
        return DONE_FILE in set(self._files())

    def finish(self, names: Iterable[str], summary: dict[str, Any]) -> None:
        """Remove parts of rows that have changed since, and record that all parts are written.

        Args:
            names: the parts of the input as it is now.
            summary: what to record.
        """
        system, folder = self._folder
        try:
            for stale in set(self.names()) - set(names):
                system.delete_file(f"{folder}/{stale}")
            self._record(DONE_FILE, summary)
        except OSError as error:
            raise CheckError(f"cannot write {self.location!r}: {error}") from error

    def join(self, target: Path) -> None:
        """Join all parts to one file, which is on disk as a whole when it gets its name."""
        draft = target.with_name(f"{target.name}.new")
        with draft.open("wb") as out:
            for name in self.names():
                out.write(self.read(name))
            out.flush()
            os.fsync(out.fileno())
        draft.replace(target)

    def remove(self) -> None:
        """Delete the folder and all parts."""
        system, folder = self._folder
        system.delete_dir(folder)


def count_rows(data: bytes, suffix: str) -> RowCounts:
    """The rows of a finished part, by outcome.

    Args:
        data: the content of the part.
        suffix: .jsonl or .parquet.
    """
    counts = RowCounts()
    for result in _results(data, suffix):
        if result.get("claim") not in (None, 1):  # another claim of the same row
            continue
        if result["bad_row"]:
            counts.by_kind[BAD] += 1
            counts.first_bad = counts.first_bad or f"row {result['id']}: {result['reason']}"
        else:
            counts.by_kind[result["verdict"]] += 1
    return counts


def _results(data: bytes, suffix: str) -> Iterator[dict[str, Any]]:
    if suffix != ".parquet":
        yield from map(json.loads, data.splitlines())
        return
    from pyarrow import BufferReader
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(BufferReader(data))
    wanted = ["id", "verdict", "reason", "bad_row", "claim"]
    columns = [name for name in wanted if name in file.schema_arrow.names]
    for batch in file.iter_batches(columns=columns):
        yield from batch.to_pylist()
