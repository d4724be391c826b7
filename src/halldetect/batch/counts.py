"""Count the rows of a run by outcome, and test the counts against the conditions of a gate."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import sqrt
from typing import Any

from halldetect.report import Verdict

# A row that could not be read, or whose check failed.
BAD = "bad"
# Every outcome of a row, in the order used by all charts and tables.
ROW_KINDS = (*(verdict.value for verdict in Verdict), BAD)
# Rows with a part that may assert something and was not judged; their verdict counts as well.
UNCHECKED = "unchecked"
RATE = "rate"
WORSE = "worse"
_Z_95 = 1.959964
_CONDITION = re.compile(r"\s*(\w+)\s*(>=|>)\s*(\d+(?:\.\d+)?)\s*")


@dataclass(slots=True)
class RowCounts:
    """Rows by each of `ROW_KINDS`, and the first row that could not be read, with the reason."""

    by_kind: Counter[str] = field(default_factory=Counter)
    unchecked: int = 0
    first_bad: str | None = None

    def add(self, result: Mapping[str, Any]) -> None:
        """Count the row of a result, once per row even if it has several claims."""
        if result.get("claim") not in (None, 1):
            return
        self.unchecked += bool(result.get("unchecked"))
        self.by_kind[BAD if result["bad_row"] else str(result["verdict"])] += 1
        if result["bad_row"]:
            self.first_bad = self.first_bad or f"row {result['id']}: {result['reason']}"

    def update(self, other: RowCounts) -> None:
        """Add the counts of other rows."""
        self.by_kind.update(other.by_kind)
        self.unchecked += other.unchecked
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


def count_results(results: Iterable[Mapping[str, Any]]) -> RowCounts:
    """Return the rows of results by outcome."""
    counts = RowCounts()
    for result in results:
        counts.add(result)
    return counts


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

    `name` is `rate`, a kind of row, `unchecked`, the rows with an unchecked part, or `worse`, the
    rows that got worse since an earlier run.
    """

    name: str
    comparison: str
    limit: float

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition; the ValueError for any other text shows the accepted form."""
        match = _CONDITION.fullmatch(text)
        names = (RATE, WORSE, UNCHECKED, *ROW_KINDS)
        if match is None or match[1] not in names:
            raise ValueError(
                f"{text!r} is not a condition: use a name ({', '.join(names)}), > or >=, and a "
                'number, as in "rate>0.05"'
            )
        return cls(match[1], match[2], float(match[3]))

    def failure(self, counts: RowCounts, worse: int | None) -> str | None:
        """Return a line with the value if the condition is met; without a value it is not."""
        values = {RATE: counts.rate, WORSE: worse, UNCHECKED: counts.unchecked}
        value = values.get(self.name, counts.by_kind[self.name])
        if value is None or not (
            value > self.limit or (self.comparison == ">=" and value == self.limit)
        ):
            return None
        words = {
            RATE: f"the rate is {value:.4f}",
            WORSE: f"{value:,} rows got worse",
            UNCHECKED: f"{value:,} rows have parts that were not checked",
        }
        found = words.get(self.name, f"{value:,} rows are {self.name}")
        return f"failed by {self.name}{self.comparison}{self.limit:g}: {found}"
