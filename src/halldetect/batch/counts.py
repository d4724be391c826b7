"""What a run counts: rows by outcome, with the rate and its interval, and repeated ids."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from math import sqrt
from typing import Any

from halldetect.report import Report, Verdict

# A row that could not be read, or whose check failed.
BAD = "bad"
# Every outcome of a row, in the order of every chart and table.
ROW_KINDS = (*(verdict.value for verdict in Verdict), BAD)
_Z_95 = 1.959964


@dataclass(slots=True)
class RowCounts:
    """Rows by outcome.

    Attributes:
        by_kind: how many rows had each of `ROW_KINDS`.
        first_bad: the first row that could not be read, and why.
    """

    by_kind: Counter[str] = field(default_factory=Counter)
    first_bad: str | None = None

    def add(self, label: str, report: Report | None, problem: str | None) -> None:
        """Count one row.

        Args:
            label: how messages name the row.
            report: its report, None for a bad row.
            problem: why there is no report.
        """
        if report is None:
            self.by_kind[BAD] += 1
            self.first_bad = self.first_bad or f"{label}: {problem}"
        else:
            self.by_kind[report.verdict.value] += 1

    def update(self, other: RowCounts) -> None:
        """Add the counts of other rows."""
        self.by_kind.update(other.by_kind)
        self.first_bad = self.first_bad or other.first_bad

    def copy(self) -> RowCounts:
        """The same counts, to be changed on their own."""
        return RowCounts(Counter(self.by_kind), self.first_bad)

    @property
    def rows(self) -> int:
        """All rows."""
        return self.by_kind.total()

    @property
    def checked(self) -> int:
        """Rows that have a verdict of faithful or hallucinated."""
        return self.by_kind[Verdict.FAITHFUL] + self.by_kind[Verdict.HALLUCINATED]

    @property
    def rate(self) -> float | None:
        """The share of hallucinated responses among the checked rows."""
        return self.by_kind[Verdict.HALLUCINATED] / self.checked if self.checked else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the rate."""
        return wilson_interval(self.by_kind[Verdict.HALLUCINATED], self.checked)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        kinds = {kind: self.by_kind[kind] for kind in ROW_KINDS}
        return {"rows": self.rows, **kinds, "first_bad": self.first_bad}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RowCounts:
        """The counts that `to_dict` wrote."""
        return cls(
            Counter({kind: int(values.get(kind, 0)) for kind in ROW_KINDS}), values["first_bad"]
        )


def wilson_interval(hits: int, total: int, z: float = _Z_95) -> tuple[float, float] | None:
    """Wilson's interval of the share `hits / total`, None if `total` is 0.

    Args:
        hits: how many of the total count.
        total: how many there are.
        z: the quantile of the normal distribution; the default gives 95 %.
    """
    if not total:
        return None
    share = hits / total
    scale = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    reach = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    return max(0.0, middle - reach), min(1.0, middle + reach)


class RepeatedIds:
    """Counts rows whose id occurred before; the ids are kept on disk, so memory stays flat."""

    def __init__(self) -> None:
        # An empty name is a temporary file that nobody else sees and that SQLite removes.
        self._seen = sqlite3.connect("", isolation_level=None)
        self._seen.execute("PRAGMA journal_mode = OFF")
        self._seen.execute("CREATE TABLE seen (id BLOB PRIMARY KEY) WITHOUT ROWID")
        self._seen.execute("BEGIN")
        self._disk_full = False
        self._count = 0

    def add(self, id: str | int) -> None:
        """Count the id if it occurred before."""
        if self._disk_full:
            return
        key = blake2b(str(id).encode("utf-8", "surrogatepass"), digest_size=16).digest()
        try:
            added = self._seen.execute("INSERT OR IGNORE INTO seen VALUES (?)", (key,)).rowcount
        except sqlite3.Error:  # no room for temporary files: do without this count
            self._disk_full = True
        else:
            self._count += added == 0

    @property
    def count(self) -> int | None:
        """How many ids were repeated, None if they could not be counted."""
        return None if self._disk_full else self._count

    def close(self) -> None:
        """Free the temporary file."""
        self._seen.close()
