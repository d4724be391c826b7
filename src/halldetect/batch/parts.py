"""Results in parts: a folder, anywhere pyarrow can write, with one file for each run of rows.

A part's name says which rows it holds and what they were: the place of their file, the number
of the first row, and a digest of them. So the names in order are the input in order, a part
that is there need not be made again, and one that is made twice is the same.
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

from halldetect.batch.places import file_system
from halldetect.batch.tally import Tally
from halldetect.errors import CheckError, InputError

RUN_FILE = "_run.json"
DONE_FILE = "_done.json"
_FORMAT = 1
# Stores where a file appears whole or not at all.
_OBJECT_STORES = ("s3", "gcs", "abfs")


def part_name(file: int, first: int, digest: str, ending: str) -> str:
    return f"part-{file:06}-{first:012}-{digest}{ending}"


class Parts:
    """Small and without open files: it travels to the workers."""

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")

    def __reduce__(self) -> tuple[type[Parts], tuple[str]]:
        return Parts, (self.address,)

    @cached_property
    def _place(self) -> tuple[Any, str]:
        return file_system(self.address)

    def names(self) -> list[str]:
        """The finished parts, in the order of the input."""
        return sorted(name for name in self._files() if name.startswith("part-"))

    def _files(self) -> Iterator[str]:
        from pyarrow.fs import FileSelector, FileType

        system, folder = self._place
        for entry in system.get_file_info(FileSelector(folder, allow_not_found=True)):
            if entry.type == FileType.File:
                yield entry.base_name

    def write(self, name: str, data: bytes) -> None:
        """All of it under its name, or nothing."""
        system, folder = self._place
        if system.type_name in _OBJECT_STORES:
            with system.open_output_stream(f"{folder}/{name}") as stream:
                stream.write(data)
            return
        fresh = f"{folder}/.{name}.{uuid.uuid4().hex}"
        try:
            if system.type_name == "local":
                with Path(fresh).open("wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
            else:
                with system.open_output_stream(fresh) as stream:
                    stream.write(data)
            system.move(fresh, f"{folder}/{name}")
        except OSError:
            with suppress(OSError):
                system.delete_file(fresh)
            raise

    def read(self, name: str) -> bytes:
        system, folder = self._place
        with system.open_input_stream(f"{folder}/{name}", compression=None) as stream:
            data: bytes = stream.read()
        return data

    def begin(self, settings: dict[str, Any], *, resume: bool, overwrite: bool) -> None:
        """An empty folder, or that of the same run unfinished."""
        system, folder = self._place
        try:
            found = set(self._files())
            if overwrite or not found:
                if found:
                    system.delete_dir_contents(folder)
                system.create_dir(folder, recursive=True)
                self._record(RUN_FILE, {"format": _FORMAT, "settings": settings})
                return
            if not resume:
                raise InputError(
                    f"{self.address!r} is there already: --resume goes on with an unfinished "
                    "run, --overwrite begins again"
                )
            if RUN_FILE not in found:
                raise InputError(
                    f"cannot resume: {self.address!r} was not made by --engine ray; "
                    "--overwrite begins again"
                )
            self._refuse_other(settings)
        except OSError as error:
            raise InputError(f"cannot write {self.address!r}: {error.strerror or error}") from error

    def _refuse_other(self, settings: dict[str, Any]) -> None:
        try:
            found = json.loads(self.read(RUN_FILE))["settings"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"cannot resume: {RUN_FILE} in {self.address!r} does not fit ({error}); "
                "--overwrite begins again"
            ) from error
        now = json.loads(json.dumps(settings))
        if odd := [key for key in now if found.get(key) != now[key]]:
            raise InputError(
                f"cannot resume: the unfinished run had another {' and another '.join(odd)}; "
                "give the same options again, or begin again with --overwrite"
            )

    def _record(self, name: str, value: dict[str, Any]) -> None:
        self.write(name, json.dumps(value, indent=1).encode())

    @property
    def is_complete(self) -> bool:
        return DONE_FILE in set(self._files())

    def finish(self, names: Iterable[str], summary: dict[str, Any]) -> None:
        """Remove parts of an input that has changed since, and say that this is all."""
        system, folder = self._place
        try:
            for stale in set(self.names()) - set(names):
                system.delete_file(f"{folder}/{stale}")
            self._record(DONE_FILE, summary)
        except OSError as error:
            raise CheckError(f"cannot write {self.address!r}: {error}") from error

    def join(self, target: Path) -> None:
        """One file of all parts, whole and on disk when it gets its name."""
        fresh = target.with_name(f"{target.name}.new")
        with fresh.open("wb") as out:
            for name in self.names():
                out.write(self.read(name))
            out.flush()
            os.fsync(out.fileno())
        fresh.replace(target)

    def remove(self) -> None:
        system, folder = self._place
        system.delete_dir(folder)


def tally_of(data: bytes, ending: str) -> Tally:
    """How the rows of a finished part came out."""
    tally = Tally()
    for result in _results(data, ending):
        if result.get("claim") not in (None, 1):  # a further claim of the same row
            continue
        tally.rows += 1
        if result["bad_row"]:
            tally.bad += 1
            tally.first_bad = tally.first_bad or f"row {result['id']}: {result['reason']}"
        else:
            verdict = result["verdict"]
            setattr(tally, verdict, getattr(tally, verdict) + 1)
    return tally


def _results(data: bytes, ending: str) -> Iterator[dict[str, Any]]:
    if ending != ".parquet":
        yield from map(json.loads, data.splitlines())
        return
    from pyarrow import BufferReader
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(BufferReader(data))
    wanted = ["id", "verdict", "reason", "bad_row", "claim"]
    columns = [name for name in wanted if name in file.schema_arrow.names]
    for batch in file.iter_batches(columns=columns):
        yield from batch.to_pylist()
