"""Write results to a file that survives a crash, or to standard output.

Results are appended to OUT.partial. After each block they are on disk, and only then
OUT.partial.state says so: how many rows and bytes are good. What a crash leaves after those
bytes is cut off when the run is resumed. At the end the file gets its real name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from halldetect.batch.counts import RowCounts
from halldetect.batch.resume import (
    HOW_TO_RESUME,
    lock_for_writing,
    partial_file,
    require_same_settings,
    write_whole,
)
from halldetect.errors import CheckError, InputError

FORMAT = 1
# Makes the finished file (second argument) from the file of JSON lines (first argument).
Convert = Callable[[Path, Path], None]


@dataclass(frozen=True, slots=True)
class WriteState:
    """What is safely on disk.

    Attributes:
        settings: what the results were made with.
        bytes: how many bytes are good.
        input_digest: a digest of the input rows whose results they are.
        counts: those rows by outcome.
    """

    settings: dict[str, Any]
    bytes: int = 0
    input_digest: str = ""
    counts: RowCounts = field(default_factory=RowCounts)


class ResultsWriter(Protocol):
    """Takes results block by block."""

    state: WriteState

    def append(self, lines: bytes, input_digest: str, counts: RowCounts) -> None:
        """Write the lines of a block, then record the state after it."""
        ...

    def finish(self) -> None:
        """All blocks are written: give the output its final form."""
        ...

    def close(self) -> None:
        """Free the file; without `finish`, the run can be resumed."""
        ...


class StandardOutputWriter:
    """Writes to standard output, which cannot be resumed."""

    def __init__(self, settings: dict[str, Any]) -> None:
        if sys.stdout is None:
            raise InputError("standard output is closed")
        self.state = WriteState(settings)

    def append(self, lines: bytes, input_digest: str, counts: RowCounts) -> None:
        """Write the lines of a block."""
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(lines)
            sys.stdout.flush()
        except OSError as error:
            # Python would complain again when it closes the stream at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise CheckError(
                f"cannot write to standard output: {error.strerror}, "
                f"after {self.state.counts.rows} rows; write to a file to be able to resume"
            ) from error
        self.state = WriteState(self.state.settings, 0, input_digest, counts)

    def finish(self) -> None:
        """Nothing is left to do."""

    def close(self) -> None:
        """Nothing is left to do."""


class ResultsFile:
    """Writes OUT.partial and its state, and renames it to OUT at the end.

    Args:
        out: the file to make.
        settings: what the results are made with.
        resume: whether to continue an unfinished run.
        convert: makes `out` from the JSON lines; None if it is the JSON lines.
    """

    def __init__(
        self, out: Path, settings: dict[str, Any], *, resume: bool, convert: Convert | None
    ) -> None:
        self._out = out
        self._partial, self._state_file = partial_file(out), _state_file(out)
        self._convert = convert
        try:
            # Without O_TRUNC: another run may be writing to it.
            self._file = os.open(self._partial, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
        except OSError as error:
            raise InputError(f"cannot write {str(self._partial)!r}: {error.strerror}") from error
        try:
            lock_for_writing(self._file, str(out))
            if resume:
                self.state = self._recorded_state(settings)
            else:
                self.state = WriteState(settings)
                self._state_file.unlink(missing_ok=True)
            os.ftruncate(self._file, self.state.bytes)
            os.lseek(self._file, 0, os.SEEK_END)
        except BaseException as error:
            os.close(self._file)
            if isinstance(error, OSError):
                raise InputError(f"cannot write {str(out)!r}: {error.strerror}") from error
            raise

    def _recorded_state(self, settings: dict[str, Any]) -> WriteState:
        try:
            data = json.loads(self._state_file.read_bytes())
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']}")
            recorded = WriteState(
                data["settings"],
                data["bytes"],
                data["input_digest"],
                RowCounts.from_dict(data["counts"]),
            )
            if self._partial.stat().st_size < recorded.bytes:
                raise ValueError("results are missing")
        except FileNotFoundError:
            return WriteState(settings)  # it ended before its first block
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"cannot resume: {str(self._state_file)!r} does not fit ({error}); "
                "--overwrite begins again"
            ) from error
        require_same_settings(recorded.settings, settings)
        return recorded

    def append(self, lines: bytes, input_digest: str, counts: RowCounts) -> None:
        """Write the lines of a block, then record the state after it."""
        state = WriteState(self.state.settings, self.state.bytes + len(lines), input_digest, counts)
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
            self._record(state)
        except OSError as error:
            raise self._failed(error) from error
        self.state = state

    def _record(self, state: WriteState) -> None:
        record = {
            "format": FORMAT,
            "settings": state.settings,
            "bytes": state.bytes,
            "input_digest": state.input_digest,
            "counts": state.counts.to_dict(),
        }
        write_whole(self._state_file, json.dumps(record).encode())

    def finish(self) -> None:
        """Give the file its real name, converted if need be."""
        try:
            if self._convert is None:
                self._release()
                self._partial.replace(self._out)
            else:
                self._convert_lines(self._convert)
                self._release()
                self._partial.unlink()
            self._state_file.unlink(missing_ok=True)
        except OSError as error:
            raise self._failed(error) from error

    def _convert_lines(self, convert: Convert) -> None:
        converted = self._out.with_name(f"{self._out.name}.partial.made")
        try:
            convert(self._partial, converted)
            converted.replace(self._out)
        except OSError:
            with suppress(OSError):  # it may fill the disk
                converted.unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Free the file; what is recorded can be resumed."""
        if self._file < 0:
            return
        self._release()
        if not self.state.counts.rows:  # nothing to resume
            with suppress(OSError):
                self._partial.unlink()
                self._state_file.unlink()

    def _release(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _failed(self, error: OSError) -> CheckError:
        return CheckError(
            f"cannot write {str(self._out)!r}: {error.strerror or error}, after "
            f"{self.state.counts.rows} rows; {HOW_TO_RESUME}"
        )


_BINARY: int = getattr(os, "O_BINARY", 0)


def remove_leftovers(out: Path) -> None:
    """Remove what a run leaves that was killed right after `out` got its name."""
    with suppress(OSError):
        _state_file(out).unlink()


def _state_file(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial.state")
