"""The rows of all files of a run, one file after the other."""

from __future__ import annotations

from collections.abc import Generator, Sequence

from halldetect.batch.formats import Input, open_input
from halldetect.batch.places import STANDARD, sizes_of
from halldetect.batch.rows import Columns, Row, read_rows
from halldetect.config import Configuration


class Inputs:
    """Where a run may have several files, rows name theirs: `label` is then true."""

    def __init__(
        self, files: Sequence[str], columns: Columns, limits: Configuration, *, label: bool
    ) -> None:
        self._files = files
        self._columns = columns
        self._limits = limits
        self._label = label
        self._sizes = sizes_of(files) if len(files) > 1 else [1]
        self._at = 0
        self._given: Input | None = None

    @property
    def name(self) -> str:
        if len(self._files) > 1:
            return f"the {len(self._files)} files"
        return "standard input" if self._files[0] == STANDARD else repr(self._files[0])

    def require_columns(self) -> None:
        """Of several files, look at each before the long work begins."""
        if len(self._files) < 2:
            return
        for file in self._files:
            with open_input(file) as given:
                self._columns.require(given)

    def rows(self) -> Generator[Row, None, None]:
        for at, file in enumerate(self._files):
            with open_input(file) as given:
                self._at, self._given = at, given
                yield from read_rows(
                    given, self._columns, self._limits, file if self._label else None
                )
            self._at, self._given = at + 1, None

    def fraction(self) -> float | None:
        """How much has been read, None where it is unknown."""
        total = sum(self._sizes)
        done = float(sum(self._sizes[: self._at]))
        if self._given is not None:
            here = self._given.fraction()
            if here is None:
                return None
            done += here * self._sizes[self._at]
        return done / total if total else None
