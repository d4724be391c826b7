"""Describe a batch run: its input, its output, and its settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath

from halldetect.batch.formats import (
    JSONL_SUFFIXES,
    STANDARD_STREAM,
    expand_inputs,
    is_pattern,
    is_url,
)
from halldetect.errors import InputError

HOW_TO_RESUME = "the same command with --resume (and without --overwrite) continues from there"
# Holds the settings of an unfinished run, in its folder of parts.
RUN_FILE = "_run.json"


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
        batch_size: Rows checked together.
        in_parts: True for the Ray engine, which cannot use standard streams.
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
        try:
            if not self.is_folder:
                self._require_usable_file(files)
        except OSError as error:
            raise InputError(f"cannot write {self.target!r}: {error.strerror}") from error

    def _require_usable_file(self, files: tuple[str, ...]) -> None:
        out = self.out
        if out.exists() and not out.is_file():
            raise InputError(f"{self.target!r} is not a file; - is standard output")
        if not out.parent.is_dir():
            raise InputError(f"there is no folder {str(out.parent)!r} for {self.target!r}")
        if any(file != STANDARD_STREAM and Path(os.path.realpath(file)) == out for file in files):
            raise InputError(f"{self.target!r} is the input")
        for path in () if self.resume or self.overwrite else (out, self.parts):
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
    def parts(self) -> Path:
        """The folder of parts: the target, or the folder that collects the parts of `out`."""
        return self.out if self.is_folder else self.out.with_name(f"{self.out.name}.parts")

    @property
    def is_complete(self) -> bool:
        """True if the run to resume has already written its file."""
        is_unfinished = (self.parts / RUN_FILE).exists()
        return self.resume and not self.is_folder and self.out.exists() and not is_unfinished
