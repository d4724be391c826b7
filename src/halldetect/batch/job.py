"""What a run is to do: from where to where, and how."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path, PurePath

from halldetect.batch.formats import JSONL
from halldetect.batch.parts import Parts
from halldetect.batch.places import STANDARD, files_of, is_address, is_pattern
from halldetect.batch.results import Level
from halldetect.batch.rows import Columns
from halldetect.batch.sinks import partial_of, parts_of
from halldetect.errors import InputError

DEFAULT_COLUMNS = Columns()


@dataclass(frozen=True, slots=True)
class Job:
    """`source` is a file, an address, a pattern, or several of them. `strict` stops at the
    first bad row. So many rows as `batch_size` are checked together.

    A `target` with a scheme or a slash at its end is a folder of parts; `parted` says that the
    run makes parts in any case."""

    source: str | tuple[str, ...]
    target: str
    columns: Columns = DEFAULT_COLUMNS
    level: Level = Level.RESPONSE
    strict: bool = False
    resume: bool = False
    overwrite: bool = False
    batch_size: int | None = None
    parted: bool = False

    def __post_init__(self) -> None:
        if self.batch_size is not None and self.batch_size < 1:
            raise InputError(f"--batch-size must be 1 or more, not {self.batch_size}")
        files = self.files
        if self.parted and STANDARD in (self.target, *files):
            raise InputError("--engine ray reads and writes files, not standard input or output")
        if self.is_folder:
            self._refuse_ending()
            if not self.parted:
                raise InputError(
                    f"{self.target!r} names a folder of parts: only --engine ray makes one"
                )
            return
        if self.target == STANDARD:
            if self.resume or self.overwrite:
                raise InputError("standard output can be neither resumed nor overwritten")
            return
        try:
            self._refuse_target(self.out, files)
        except OSError as error:
            raise InputError(f"cannot write {self.target!r}: {error.strerror}") from error

    def _refuse_target(self, out: Path, files: tuple[str, ...]) -> None:
        self._refuse_ending()
        if out.exists() and not out.is_file():
            raise InputError(f"{self.target!r} is not a file; - is standard output")
        if not out.parent.is_dir():
            raise InputError(
                f"cannot write {self.target!r}: there is no folder {str(out.parent)!r}"
            )
        if any(file != STANDARD and Path(os.path.realpath(file)) == out for file in files):
            raise InputError(f"{self.target!r} is the input")
        other = partial_of(out) if self.parted else parts_of(out)
        if self.resume and other.exists():
            raise InputError(
                f"cannot resume: the unfinished run had another --engine ({str(other)!r} is there)"
            )
        if self.resume or self.overwrite:
            return
        for path in (out, partial_of(out), parts_of(out)):
            if path.exists():
                raise InputError(
                    f"{str(path)!r} is there already: --resume goes on with an unfinished run, "
                    "--overwrite begins again"
                )

    def _refuse_ending(self) -> None:
        if self.ending not in (*JSONL, ".parquet"):
            raise InputError(
                f"cannot tell the format of {self.target!r} by its ending: use .jsonl, .parquet, "
                "or - for JSON lines on standard output"
            )

    @property
    def ending(self) -> str:
        return PurePath(self.target.rstrip("/")).suffix.lower()

    @property
    def is_folder(self) -> bool:
        return is_address(self.target) or self.target.endswith("/")

    @property
    def sources(self) -> tuple[str, ...]:
        return (self.source,) if isinstance(self.source, str) else self.source

    @property
    def files(self) -> tuple[str, ...]:
        return files_of(self.sources)

    @property
    def may_be_many(self) -> bool:
        """Whether rows must say which file they are from, however many there are today."""
        return len(self.sources) > 1 or is_pattern(self.sources[0])

    @property
    def out(self) -> Path:
        """The file itself: a link to it would be replaced."""
        return Path(os.path.realpath(self.target))

    @property
    def is_complete(self) -> bool:
        """Whether there is nothing to resume, because the run came to its end."""
        if self.is_folder:
            return self.resume and Parts(self.target).is_complete
        unfinished = partial_of(self.out).exists() or parts_of(self.out).exists()
        return self.resume and self.out.exists() and not unfinished
