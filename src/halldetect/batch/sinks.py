"""Where results go: a file that survives a crash half-way, or standard output.

Results are appended to OUT.partial. After each slice they are on disk, and only then
OUT.partial.state says so: how many rows and bytes are good. Whatever a crash leaves behind
them is cut off when the run is resumed. At the end the file gets its real name.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from halldetect.batch.tally import Tally
from halldetect.errors import CheckError, InputError

FORMAT = 1
# Makes the finished file of the second name from the lines of the first.
Convert = Callable[[Path, Path], None]


@dataclass(frozen=True, slots=True)
class State:
    """What is safely written, and what it was made with and from."""

    settings: dict[str, Any]
    bytes: int = 0
    input_digest: str = ""
    tally: Tally = field(default_factory=Tally)


class Sink(Protocol):
    state: State

    def append(self, lines: bytes, input_digest: str, tally: Tally) -> None: ...

    def finish(self) -> None: ...

    def close(self) -> None: ...


class StandardOutput:
    """Nothing to resume: what is written is gone."""

    def __init__(self, settings: dict[str, Any]) -> None:
        if sys.stdout is None:
            raise InputError("standard output is closed")
        self.state = State(settings)

    def append(self, lines: bytes, input_digest: str, tally: Tally) -> None:
        try:
            sys.stdout.flush()
            sys.stdout.buffer.write(lines)
            sys.stdout.flush()
        except OSError as error:
            # Python would complain again when it closes the stream at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise CheckError(
                f"cannot write to standard output: {error.strerror}, after {self.state.tally.rows} "
                "rows; write to a file to be able to resume"
            ) from error
        self.state = State(self.state.settings, 0, input_digest, tally)

    def finish(self) -> None:
        pass

    def close(self) -> None:
        pass


class PartialFile:
    """OUT.partial and its state. `resume` goes on where they end."""

    def __init__(
        self, out: Path, settings: dict[str, Any], *, resume: bool, convert: Convert | None
    ) -> None:
        self._out = out
        self._partial, self._state_file = partial_of(out), _state_of(out)
        self._convert = convert
        try:
            # Without O_TRUNC: another run may be writing to it.
            self._file = os.open(self._partial, os.O_RDWR | os.O_CREAT | _BINARY, 0o666)
        except OSError as error:
            raise InputError(f"cannot write {str(self._partial)!r}: {error.strerror}") from error
        try:
            _lock(self._file, out)
            if resume:
                self.state = self._recorded(settings)
            else:
                self.state = State(settings)
                self._state_file.unlink(missing_ok=True)
            os.ftruncate(self._file, self.state.bytes)
            os.lseek(self._file, 0, os.SEEK_END)
        except BaseException as error:
            os.close(self._file)
            if isinstance(error, OSError):
                raise InputError(f"cannot write {str(out)!r}: {error.strerror}") from error
            raise

    def _recorded(self, settings: dict[str, Any]) -> State:
        try:
            data = json.loads(self._state_file.read_bytes())
            if data["format"] != FORMAT:
                raise ValueError(f"format {data['format']}")
            found = State(
                data["settings"], data["bytes"], data["input_digest"], Tally(**data["tally"])
            )
            if self._partial.stat().st_size < found.bytes:
                raise ValueError("results are missing")
        except FileNotFoundError:
            return State(settings)  # it ended before its first slice
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"cannot resume: {str(self._state_file)!r} does not fit ({error}); "
                "--overwrite begins again"
            ) from error
        now = json.loads(json.dumps(settings))
        if odd := [key for key in now if found.settings.get(key) != now[key]]:
            raise InputError(
                f"cannot resume: the unfinished run had another {' and another '.join(odd)}; "
                "give the same options again, or begin again with --overwrite"
            )
        return found

    def append(self, lines: bytes, input_digest: str, tally: Tally) -> None:
        state = State(self.state.settings, self.state.bytes + len(lines), input_digest, tally)
        try:
            rest = memoryview(lines)
            while rest:
                rest = rest[os.write(self._file, rest) :]
            os.fsync(self._file)
            self._record(state)
        except OSError as error:
            raise self._failed(error) from error
        self.state = state

    def _record(self, state: State) -> None:
        text = json.dumps({"format": FORMAT, **asdict(state)})
        fresh = self._state_file.with_name(f"{self._state_file.name}.new")
        with fresh.open("wb") as file:
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        fresh.replace(self._state_file)

    def finish(self) -> None:
        try:
            if self._convert is None:
                self._leave()
                self._partial.replace(self._out)
            else:
                self._make(self._convert)
                self._leave()
                self._partial.unlink()
            self._state_file.unlink(missing_ok=True)
        except OSError as error:
            raise self._failed(error) from error

    def _make(self, convert: Convert) -> None:
        made = self._out.with_name(f"{self._out.name}.partial.made")
        try:
            convert(self._partial, made)
            made.replace(self._out)
        except OSError:
            with suppress(OSError):  # the room it takes may be what is missing
                made.unlink(missing_ok=True)
            raise

    def close(self) -> None:
        if self._file < 0:
            return
        self._leave()
        if not self.state.tally.rows:  # nothing to go on from
            with suppress(OSError):
                self._partial.unlink()
                self._state_file.unlink()

    def _leave(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _failed(self, error: OSError) -> CheckError:
        return CheckError(
            f"cannot write {str(self._out)!r}: {error.strerror or error}, after "
            f"{self.state.tally.rows} rows; {HOW_TO_RESUME}"
        )


HOW_TO_RESUME = "the same command with --resume (and without --overwrite) goes on from there"
_BINARY: int = getattr(os, "O_BINARY", 0)


def partial_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial")


def parts_of(out: Path) -> Path:
    """Where a run on a cluster collects what becomes OUT."""
    return out.with_name(f"{out.name}.parts")


def tidy(out: Path) -> None:
    """Remove what a run leaves that ended right after its file had got its real name."""
    with suppress(OSError):
        _state_of(out).unlink()


def _state_of(out: Path) -> Path:
    return out.with_name(f"{out.name}.partial.state")


def _lock(file: int, out: Path) -> None:
    """One run at a time; the lock goes with the process, however it ends."""
    with suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise InputError(f"another run is writing {str(out)!r}") from error
