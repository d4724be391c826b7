"""Count the rows of a run by outcome, and test the counts against the conditions of a gate."""

from __future__ import annotations

import operator
import re
from collections import Counter
from dataclasses import dataclass, field
from math import sqrt

from halldetect.report import Verdict

# A row that could not be read, or whose check failed.
BAD = "bad"
# Every outcome of a row, in the order used by all charts and tables.
ROW_KINDS = (*(verdict.value for verdict in Verdict), BAD)
RATE = "rate"
WORSE = "worse"
_Z_95 = 1.959964
_CONDITION = re.compile(r"\s*(\w+)\s*(>=|>)\s*(\d+(?:\.\d+)?)\s*")


@dataclass(slots=True)
class RowCounts:
    """Rows by outcome.

    Attributes:
        by_kind: The number of rows of each of `ROW_KINDS`.
        first_bad: The first row that could not be read, and why.
    """

    by_kind: Counter[str] = field(default_factory=Counter)
    first_bad: str | None = None

    def add(self, label: str, verdict: str, problem: str | None) -> None:
        """Count one row.

        Args:
            label: The row as messages name it.
            verdict: Its verdict.
            problem: Why the row has no report; None if it has one.
        """
        self.by_kind[verdict if problem is None else BAD] += 1
        if problem is not None:
            self.first_bad = self.first_bad or f"{label}: {problem}"

    def update(self, other: RowCounts) -> None:
        """Add the counts of other rows."""
        self.by_kind.update(other.by_kind)
        self.first_bad = self.first_bad or other.first_bad

    @property
    def rows(self) -> int:
        """The number of all rows."""
        return self.by_kind.total()

    @property
    def checked(self) -> int:
        """The number of rows with the verdict faithful or hallucinated."""
        return self.by_kind[Verdict.FAITHFUL] + self.by_kind[Verdict.HALLUCINATED]

    @property
    def rate(self) -> float | None:
        """The share of hallucinated responses among the checked rows."""
        return self.by_kind[Verdict.HALLUCINATED] / self.checked if self.checked else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the rate."""
        return wilson_interval(self.by_kind[Verdict.HALLUCINATED], self.checked)


def wilson_interval(hits: int, total: int) -> tuple[float, float] | None:
    """Return Wilson's 95 % interval of the share `hits / total`; None if `total` is 0."""
    if not total:
        return None
    share, z = hits / total, _Z_95
    scale = 1 + z * z / total
    middle = (share + z * z / (2 * total)) / scale
    reach = z * sqrt(share * (1 - share) / total + z * z / (4 * total * total)) / scale
    return max(0.0, middle - reach), min(1.0, middle + reach)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition under which a run fails, such as "rate>0.05" or "uncheckable>=10".

    Attributes:
        name: `rate`, the share of hallucinated rows among the checked ones; a kind of row; or
            `worse`, the number of rows that got worse since an earlier run.
        comparison: ">" or ">=".
        limit: The number to compare with.
    """

    name: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition; the ValueError for any other text shows the accepted form."""
        match = _CONDITION.fullmatch(text)
        names = (RATE, WORSE, *ROW_KINDS)
        if match is None or match[1] not in names:
            raise ValueError(
                f"{text!r} is not a condition: use a name ({', '.join(names)}), > or >=, and a "
                'number, as in "rate>0.05"'
            )
        return cls(match[1], match[2], float(match[3]))

    def failure(self, counts: RowCounts, worse: int | None) -> str | None:
        """Return a line with the value if the condition is met.

        Args:
            counts: The counts of the run; without a checked row there is no rate.
            worse: The number of rows that got worse; None without an earlier run.
        """
        value = {RATE: counts.rate, WORSE: worse}.get(self.name, counts.by_kind[self.name])
        is_met = operator.gt if self.comparison == ">" else operator.ge
        if value is None or not is_met(value, self.limit):
            return None
        words = {RATE: f"the rate is {value:.4f}", WORSE: f"{value:,} rows got worse"}
        found = words.get(self.name, f"{value:,} rows are {self.name}")
        return f"failed by {self.name}{self.comparison}{self.limit:g}: {found}"
