"""Keep results without loss in a crash: a folder of parts, each written whole.

The parts of a file OUT are in OUT.parts and become OUT at the end. A part is named by its key (see
`job.Part`) and a digest of its content. A resumed run keeps the intact parts of unchanged rows,
checks the other rows again, and deletes the other parts.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import sys
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from typing import Any

from halldetect.batch import results as result_files
from halldetect.batch.formats import file_system, is_url, open_bytes, write_standard_output
from halldetect.batch.job import HOW_TO_RESUME, RUN_FILE, Job, already_exists, digest
from halldetect.batch.results import RowCounts
from halldetect.errors import CheckError, InputError, import_extra
from halldetect.machine.locks import lock_for_writing

_DONE_FILE, _LOCK_FILE, _JOINED_FILE = "_done.json", "_lock", "_joined"
# A folder may have other files, which are not deleted.
_OURS = ("part-", ".part-", RUN_FILE, f".{RUN_FILE}", _DONE_FILE)
# In these stores, writes are atomic.
_OBJECT_STORES = ("s3", "gcs", "abfs")


def require_same_settings(recorded: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise InputError if an earlier run, as read from JSON, had different settings."""
    current = json.loads(json.dumps(settings))
    if changed := [name for name in current if recorded.get(name) != current[name]]:
        raise InputError(
            f"cannot resume: the earlier run had another {' and another '.join(changed)}; "
            "give the same options again, or begin again with --overwrite"
        )


class PartsFolder:
    """The parts of a run; it holds no open files, so that it can be sent to workers.

    Once it is opened, `part_rows` is the number of rows per part, and `done` has the names of the
    parts of earlier runs by key. A target with a scheme is written through pyarrow.
    """

    def __init__(self, job: Job) -> None:
        if job.suffix == ".parquet":  # before the long work
            import_extra("pyarrow.parquet", "writing Parquet", "parquet")
        self.job, self._path = job, job.parts
        self.part_rows, self.done = 0, dict[str, str]()
        self._suffix = ".parquet" if job.is_folder and job.suffix == ".parquet" else ".jsonl"
        self._folder, self._system = str(self._path), None
        if is_url(job.target):
            from pyarrow.fs import SubTreeFileSystem

            self._folder = job.target.rstrip("/")
            system, path = file_system(self._folder)
            self._system = SubTreeFileSystem(path, system)

    @contextmanager
    def opened(self, settings: dict[str, Any], part_rows: int) -> Iterator[None]:
        """Create the folder, or verify that it holds the run to resume; be its only writer.

        `settings` is all but the texts that reports depend on. A resumed run keeps its `part_rows`.
        """
        with ExitStack() as stack:
            try:
                if self._system is None:
                    self._path.mkdir(parents=True, exist_ok=True)
                    stack.callback(self._remove_if_empty)  # Windows cannot remove an open file
                    lock = os.open(self._path / _LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o666)
                    stack.callback(os.close, lock)
                    lock_for_writing(lock, self.job.target)
                self._begin(settings, part_rows)
            except (OSError, ValueError, TypeError, KeyError) as error:
                raise InputError(f"cannot write or resume {self.job.target!r}: {error}") from error
            yield

    def _begin(self, settings: dict[str, Any], part_rows: int) -> None:
        job, found = self.job, self.names("")
        settings = {
            **settings,
            "columns": asdict(job.columns),
            # Part names contain the index of their file, which depends on the list of files.
            "list of input files": digest(
                json.dumps([file.location for file in job.files]).encode()
            ),
        }
        self.part_rows = part_rows
        if {*found} - {_LOCK_FILE} and not (job.resume or job.overwrite):
            raise already_exists(job.target)
        if RUN_FILE in found and job.resume:
            recorded = json.loads(self.read(RUN_FILE))
            require_same_settings(recorded["settings"], settings)
            self.part_rows = int(recorded["part_rows"])
            self.done = {name.rpartition("-")[0]: name for name in self.names()}
            self.delete({_DONE_FILE}.intersection(found))
            return
        self.delete(name for name in found if name.startswith(_OURS))
        if self._system is not None:
            self._system.base_fs.create_dir(self._system.base_path, recursive=True)
        run = {"part_rows": part_rows, "settings": settings}
        self.write(RUN_FILE, json.dumps(run, indent=1).encode())

    def _remove_if_empty(self) -> None:
        is_ours = self.part_rows > 0  # not locked by another run
        if is_ours and not self.job.is_folder and not self.names():
            remove_parts(self.job)

    def names(self, prefix: str = "part-") -> list[str]:
        """Return the files with a prefix, in the order of the input."""
        if self._system is None:
            found = [path.name for path in self._path.glob("*")]
        else:
            from pyarrow.fs import FileSelector

            entries = self._system.get_file_info(FileSelector("", allow_not_found=True))
            found = [entry.base_name for entry in entries]
        return sorted(name for name in found if name.startswith(prefix))

    def read(self, name: str) -> bytes:
        """Return the content of a file."""
        with open_bytes(f"{self._folder}/{name}") as (stream, _):
            return stream.read()

    def write(self, name: str, data: bytes) -> None:
        """Write a file atomically."""
        draft = f".{name}.{uuid.uuid4().hex}"
        if self._system is None:
            with (self._path / draft).open("wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            (self._path / draft).replace(self._path / name)
            return
        draft = name if self._system.base_fs.type_name in _OBJECT_STORES else draft
        with self._system.open_output_stream(draft) as stream:
            stream.write(data)
        if draft != name:
            self._system.move(draft, name)

    def delete(self, names: Iterable[str]) -> None:
        """Delete files."""
        for name in names:
            if self._system is None:
                (self._path / name).unlink()
            else:
                self._system.delete_file(name)

    def write_part(self, key: str, results: list[dict[str, Any]]) -> str:
        """Write the results of a part, and return its name."""
        data = result_files.json_lines(results)
        if self._suffix == ".parquet":
            result_files.write_parquet(data.splitlines(), buffer := io.BytesIO())
            data = buffer.getvalue()
        name = f"{key}-{digest(data)}{self._suffix}"
        self.write(name, data)
        return name

    def results(self, name: str) -> list[dict[str, Any]] | None:
        """Return the results of a part; None if it is damaged."""
        if digest(self.read(name)) != name.removesuffix(self._suffix).rpartition("-")[2]:
            return None
        return list(result_files.read_results(f"{self._folder}/{name}"))

    def finish(self, names: Collection[str], counts: RowCounts) -> None:
        """Delete all other parts, and join these ones if the target is a file."""
        job, joined = self.job, self._path / _JOINED_FILE
        try:
            self.delete({*self.names("part-"), *self.names(".part-")} - {*names})
            if job.is_folder:
                done = {"rows": counts.rows, **counts.by_kind}
                self.write(_DONE_FILE, json.dumps(done, indent=1).encode())
                return
            lines = (line for name in sorted(names) for line in self.read(name).splitlines(True))
            result_files.write_lines(lines, joined, job.suffix)
            joined.replace(job.out)
            (self._path / RUN_FILE).unlink()  # the run is complete
            remove_parts(job)
        except OSError as error:
            raise write_failed(job, error) from error


class StandardOutput(PartsFolder):
    """Standard output in place of a folder; such a run cannot be resumed."""

    @contextmanager
    def opened(self, settings: dict[str, Any], part_rows: int) -> Iterator[None]:
        """Set the number of rows per part."""
        self.part_rows = part_rows
        yield

    def write_part(self, key: str, results: list[dict[str, Any]]) -> str:
        """Write the results of a part."""
        if sys.stdout is None:
            raise InputError("standard output is closed")
        try:
            write_standard_output(result_files.json_lines(results))
        except OSError as error:
            why = f"cannot write to standard output: {error.strerror}"
            raise CheckError(f"{why}; write to a file to be able to resume") from error
        return key

    def finish(self, names: Collection[str], counts: RowCounts) -> None:
        """Do nothing: all parts are written."""


def remove_parts(job: Job) -> None:
    """Remove the parts of a finished file, also those of a run killed at its very end."""
    shutil.rmtree(job.parts, ignore_errors=True)


def write_failed(job: Job, error: OSError) -> CheckError:
    """Return the error of a run that could not write its results."""
    return CheckError(f"cannot write {job.target!r}: {error.strerror or error}; {HOW_TO_RESUME}")
