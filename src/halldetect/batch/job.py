"""What a batch run is to do: which rows, to where, and how."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from halldetect.batch.formats import JSONL_SUFFIXES
from halldetect.batch.locations import STANDARD_STREAM, expand_inputs, is_pattern, is_url
from halldetect.batch.ray.parts import PartsFolder
from halldetect.batch.results import Level
from halldetect.batch.resume import already_exists, partial_file, parts_folder
from halldetect.batch.rows import ColumnNames
from halldetect.errors import InputError

DEFAULT_COLUMNS = ColumnNames()


@dataclass(frozen=True, slots=True)
class Job:
    """One run over the rows of files.

    Attributes:
        source: a path, a URL, a pattern, or several of them.
        target: the file to write; with a scheme or a final slash, a folder of parts.
        columns: which column holds what.
        level: one result per response or one per claim.
        strict: whether to stop at the first bad row.
        resume: whether to continue an unfinished run.
        overwrite: whether to replace results that exist.
        batch_size: how many rows are checked together.
        in_parts: whether the engine writes parts (Ray) or one file.
    """

    source: str | tuple[str, ...]
    target: str
    columns: ColumnNames = DEFAULT_COLUMNS
    level: Level = Level.RESPONSE
    strict: bool = False
    resume: bool = False
    overwrite: bool = False
    batch_size: int | None = None
    in_parts: bool = False

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"--batch-size must be 1 or more, not {self.batch_size}")
        files = self.files
        if self.in_parts and STANDARD_STREAM in (self.target, *files):
            raise InputError("--engine ray reads and writes files, not standard input or output")
        if self.is_folder:
            self._require_known_suffix()
            if not self.in_parts:
                raise InputError(
                    f"{self.target!r} names a folder of parts: only --engine ray makes one"
                )
            return
        if self.target == STANDARD_STREAM:
            if self.resume or self.overwrite:
                raise InputError("standard output can be neither resumed nor overwritten")
            return
        try:
            self._require_usable_target(self.out, files)
        except OSError as error:
            raise InputError(f"cannot write {self.target!r}: {error.strerror}") from error

    def _require_usable_target(self, out: Path, files: tuple[str, ...]) -> None:
        self._require_known_suffix()
        if out.exists() and not out.is_file():
            raise InputError(f"{self.target!r} is not a file; - is standard output")
        if not out.parent.is_dir():
            raise InputError(
                f"cannot write {self.target!r}: there is no folder {str(out.parent)!r}"
            )
        if any(file != STANDARD_STREAM and Path(os.path.realpath(file)) == out for file in files):
            raise InputError(f"{self.target!r} is the input")
        other_engine = partial_file(out) if self.in_parts else parts_folder(out)
        if self.resume and other_engine.exists():
            raise InputError(
                "cannot resume: the unfinished run had another --engine "
                f"({str(other_engine)!r} is there)"
            )
        if self.resume or self.overwrite:
            return
        for path in (out, partial_file(out), parts_folder(out)):
            if path.exists():
                raise already_exists(str(path))

    def _require_known_suffix(self) -> None:
        if self.suffix == ".csv" and self.is_folder:
            raise InputError(
                f"{self.target!r} names a folder of parts: these are .jsonl or .parquet"
            )
        if self.suffix not in (*JSONL_SUFFIXES, ".csv", ".parquet"):
            raise InputError(
                f"cannot tell the format of {self.target!r} by its ending: use .jsonl, .csv, "
                ".parquet, or - for JSON lines on standard output"
            )

    @property
    def suffix(self) -> str:
        """The ending of the target's name, in lower case."""
        return PurePath(self.target.rstrip("/")).suffix.lower()

    @property
    def is_folder(self) -> bool:
        """Whether the target is a folder of parts."""
        return is_url(self.target) or self.target.endswith("/")

    @property
    def sources(self) -> tuple[str, ...]:
        """The input arguments, always several."""
        return (self.source,) if isinstance(self.source, str) else self.source

    @property
    def files(self) -> tuple[str, ...]:
        """The input files."""
        return expand_inputs(self.sources)

    @property
    def label_files(self) -> bool:
        """Whether rows name their file: there may be several, however many there are today."""
        return len(self.sources) > 1 or is_pattern(self.sources[0])

    @property
    def out(self) -> Path:
        """The target file, links resolved: a link would be replaced by the new file."""
        return Path(os.path.realpath(self.target))

    @property
    def is_complete(self) -> bool:
        """Whether a run that is to be resumed has already come to its end."""
        if self.is_folder:
            return self.resume and PartsFolder(self.target).is_complete
        unfinished = partial_file(self.out).exists() or parts_folder(self.out).exists()
        return self.resume and self.out.exists() and not unfinished
