"""Describe a batch run: its input, its output, and its settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath

from halldetect.batch.formats import JSONL_SUFFIXES
from halldetect.batch.locations import STANDARD_STREAM, expand_inputs, is_pattern, is_url
from halldetect.errors import InputError

HOW_TO_RESUME = "the same command with --resume (and without --overwrite) continues from there"


class Level(StrEnum):
    """The unit of one result."""

    RESPONSE = "response"
    CLAIM = "claim"


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


def partial_file(out: Path) -> Path:
    """Return the file that collects the lines of `out`."""
    return out.with_name(f"{out.name}.partial")


def parts_folder(out: Path) -> Path:
    """Return the folder where the Ray engine collects the parts of `out`."""
    return out.with_name(f"{out.name}.parts")


def already_exists(name: str) -> InputError:
    """Return the error for output that exists before a new run."""
    return InputError(
        f"{name!r} exists: --resume continues an unfinished run, --overwrite begins again"
    )


@dataclass(frozen=True, slots=True)
class Job:
    """One run over the rows of files.

    Attributes:
        source: A path, a URL, a pattern, or several of them.
        target: The file to write; with a scheme or a final slash, a folder of parts.
        columns: The names of the columns.
        level: One result per response or one per claim.
        strict: True to stop at the first bad row.
        resume: True to continue an unfinished run.
        overwrite: True to replace existing results.
        batch_size: Rows checked and written together; a crash loses no more than these.
        in_parts: True if the engine writes parts (Ray).
    """

    source: str | tuple[str, ...]
    target: str
    columns: ColumnNames = DEFAULT_COLUMNS
    level: Level = Level.RESPONSE
    strict: bool = False
    resume: bool = False
    overwrite: bool = False
    batch_size: int = 32
    in_parts: bool = False

    def __post_init__(self) -> None:
        files = self.files
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
        if not self.is_folder:
            try:
                self._require_usable_file(self.out, files)
            except OSError as error:
                raise InputError(f"cannot write {self.target!r}: {error.strerror}") from error
        elif not self.in_parts:
            raise InputError(f"only --engine ray makes a folder of parts such as {self.target!r}")

    def _require_usable_file(self, out: Path, files: tuple[str, ...]) -> None:
        if out.exists() and not out.is_file():
            raise InputError(f"{self.target!r} is not a file; - is standard output")
        if not out.parent.is_dir():
            raise InputError(f"there is no folder {str(out.parent)!r} for {self.target!r}")
        if any(file != STANDARD_STREAM and Path(os.path.realpath(file)) == out for file in files):
            raise InputError(f"{self.target!r} is the input")
        other = partial_file(out) if self.in_parts else parts_folder(out)
        if self.resume and other.exists():
            raise InputError(
                f"cannot resume: the unfinished run had another --engine ({str(other)!r} exists)"
            )
        for path in () if self.resume or self.overwrite else (out, partial_file(out), other):
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
    def files(self) -> tuple[str, ...]:
        """The input files."""
        return expand_inputs((self.source,) if isinstance(self.source, str) else self.source)

    @property
    def label_files(self) -> bool:
        """True if rows include the name of their file, because the run may have several."""
        sources = (self.source,) if isinstance(self.source, str) else self.source
        return len(sources) > 1 or is_pattern(sources[0])

    @property
    def out(self) -> Path:
        """The target file with links resolved, because the new file would replace a link."""
        return Path(os.path.realpath(self.target))

    @property
    def is_complete(self) -> bool:
        """True if the run to resume has already written its file."""
        if self.is_folder or not self.resume:
            return False
        unfinished = partial_file(self.out).exists() or parts_folder(self.out).exists()
        return self.out.exists() and not unfinished
