"""What is counted along the way."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from hashlib import blake2b

from halldetect.report import Report, Verdict


@dataclass(slots=True)
class Tally:
    """How the rows came out; `first_bad` names the first row that could not be read."""

    rows: int = 0
    faithful: int = 0
    hallucinated: int = 0
    uncheckable: int = 0
    bad: int = 0
    first_bad: str | None = None

    def add(self, label: str, report: Report | None, problem: str | None) -> None:
        self.rows += 1
        if report is None:
            self.bad += 1
            self.first_bad = self.first_bad or f"{label}: {problem}"
        elif report.verdict is Verdict.FAITHFUL:
            self.faithful += 1
        elif report.verdict is Verdict.HALLUCINATED:
            self.hallucinated += 1
        else:
            self.uncheckable += 1

    def join(self, other: Tally) -> None:
        self.rows += other.rows
        self.faithful += other.faithful
        self.hallucinated += other.hallucinated
        self.uncheckable += other.uncheckable
        self.bad += other.bad
        self.first_bad = self.first_bad or other.first_bad

    @property
    def checked(self) -> int:
        return self.faithful + self.hallucinated

    @property
    def rate(self) -> float | None:
        """The share of hallucinated responses among those with a verdict."""
        return self.hallucinated / self.checked if self.checked else None


class Ids:
    """Counts rows whose id was there before; the ids are kept on disk, memory stays flat."""

    def __init__(self) -> None:
        # An empty name is a temporary file that nobody else sees and that is gone at the end.
        self._seen = sqlite3.connect("", isolation_level=None)
        self._seen.execute("PRAGMA journal_mode = OFF")
        self._seen.execute("CREATE TABLE seen (id BLOB PRIMARY KEY) WITHOUT ROWID")
        self._seen.execute("BEGIN")
        self._full = False
        self._repeated = 0

    def add(self, id: str | int) -> None:
        if self._full:
            return
        key = blake2b(str(id).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        try:
            added = self._seen.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,)).rowcount
        except sqlite3.Error:  # no room for temporary files: go without this count
            self._full = True
        else:
            self._repeated += added == 0

    @property
    def repeated(self) -> int | None:
        """None where they could not be counted."""
        return None if self._full else self._repeated

    def close(self) -> None:
        self._seen.close()
