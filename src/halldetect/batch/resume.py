"""Write results without loss in a crash: one writer, whole files, the same settings.

Results are appended to OUT.partial and are on disk after each block; OUT.partial.state holds the
settings of the run. A resumed run compares the results with the rows of its input and cuts off
invalid ones. At the end, the file is renamed to OUT.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from halldetect.batch.formats import JSONL_SUFFIXES
from halldetect.batch.job import HOW_TO_RESUME, Job, Level, partial_file
from halldetect.batch.results import convert, require_writable
from halldetect.errors import CheckError, InputError

_BINARY: int = getattr(os, "O_BINARY", 0)


def remove_leftovers(out: Path) -> None:
    """Remove the files of a run that was killed right after `out` was renamed."""
    for path in (partial_file(out), _state_file(out)):
        with suppress(OSError):
            path.unlink()


def _state_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial.state")


def require_same_settings(recorded: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
    """Raise InputError if an earlier run had different settings.

    Args:
        recorded: The settings of the earlier run, as read from JSON.
        settings: The settings of this run.
    """
    current = json.loads(json.dumps(settings))
    if changed := [name for name in current if recorded.get(name) != current[name]]:
        raise InputError(
            f"cannot resume: the earlier run had another {' and another '.join(changed)}; "
            "give the same options again, or begin again with --overwrite"
        )


def lock_for_writing(descriptor: int, name: str) -> None:
    """Make this process the only writer; the system releases the lock when the process ends.

    Args:
        descriptor: An open file.
        name: The output, as shown in the InputError if another process has the lock.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise InputError(f"another run is writing {name!r}; wait for it") from error


def write_to_standard_output(lines: bytes, rows: int) -> None:
    """Write the lines of a block after `rows` earlier rows; this cannot be resumed."""
    if sys.stdout is None:
        raise InputError("standard output is closed")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(lines)
        sys.stdout.flush()
    except OSError as error:
        # Otherwise Python would raise again when it closes the stream at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise CheckError(
            f"cannot write to standard output: {error.strerror}, "
            f"after {rows} rows; write to a file to be able to resume"
        ) from error


class ResultsFile:
    """Writes OUT.partial, and renames it at the end.

    Args:
        job: The run; the ending of its target gives the format.
        settings: Everything but the input that the results depend on.
    """

    def __init__(self, job: Job, settings: dict[str, Any]) -> None:
        require_writable(job.suffix)
        self._job = job
        self._partial, self._state = partial_file(job.out), _state_file(job.out)
        try:
            # Do not truncate: another run may be writing to it.
            self._file = os.open(self._partial, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
        except OSError as error:
            raise InputError(f"cannot write {str(self._partial)!r}: {error.strerror}") from error
        try:
            lock_for_writing(self._file, str(job.out))
            self._begin(settings)
        except BaseException as error:
            os.close(self._file)
            if isinstance(error, (OSError, ValueError, TypeError)):
                raise InputError(f"cannot write or resume {job.target!r}: {error}") from error
            raise

    def _begin(self, settings: dict[str, Any]) -> None:
        """Compare the settings with those of an unfinished run, or record them."""
        if self._job.resume and os.fstat(self._file).st_size:
            require_same_settings(dict(json.loads(self._state.read_bytes())), settings)
            return
        self.cut(0)
        draft = self._state.with_name(f"{self._state.name}.new")
        with draft.open("wb") as file:
            file.write(json.dumps(settings).encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._state)

    def existing(self) -> Iterator[tuple[dict[str, Any], int]]:
        """Yield the first result of each complete row of an unfinished run, and its end offset.

        The last results of a row may be missing, so a row is complete only once the next row
        begins.
        """
        row, end = None, 0
        with self._partial.open("rb") as lines:
            for line in lines:
                try:
                    result = json.loads(line) if line.endswith(b"\n") else None
                except ValueError:
                    result = None
                if not isinstance(result, dict):  # a crash cut it off
                    break
                if row is not None and result.get("claim") in (None, 1):
                    yield row, end
                    row = None
                row, end = row or result, end + len(line)
        if row is not None and self._job.level is Level.RESPONSE:
            yield row, end

    def cut(self, end: int) -> None:
        """Remove everything after the first `end` bytes."""
        os.ftruncate(self._file, end)
        os.lseek(self._file, 0, os.SEEK_END)

    def append(self, lines: bytes, rows: int) -> None:
        """Write the lines of a block to disk, after `rows` earlier rows."""
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
        except OSError as error:
            raise self._failed(error, rows) from error

    def finish(self, rows: int) -> None:
        """Rename the file to its final name, converted if needed; it has `rows` rows."""
        try:
            if self._job.suffix in JSONL_SUFFIXES:  # Windows cannot rename an open file
                self._release()
            convert(self._partial, self._job.out, self._job.suffix, self._job.level)
            self._release()
            self._partial.unlink(missing_ok=True)
            self._state.unlink(missing_ok=True)
        except OSError as error:
            raise self._failed(error, rows) from error

    def close(self) -> None:
        """Close the file; a later run can resume the results."""
        is_empty = self._file >= 0 and os.fstat(self._file).st_size == 0
        self._release()
        if is_empty:
            remove_leftovers(self._job.out)

    def _release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _failed(self, error: OSError, rows: int) -> CheckError:
        why = f"cannot write {self._job.target!r}: {error.strerror or error}, after {rows} rows"
        return CheckError(f"{why}; {HOW_TO_RESUME}")
