"""Conditions on the counts of a run under which the command fails, for use in CI."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.batch.counts import ROW_KINDS, RowCounts

RATE = "rate"
WORSE = "worse"
_OPERATORS = {">": operator.gt, ">=": operator.ge}
_CONDITION = re.compile(r"\s*(\w+)\s*(>=|>)\s*(\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, such as "rate>0.05" or "uncheckable>=10".

    Attributes:
        name: `rate`, the share of hallucinated rows among the checked ones, a kind of row, or
            `worse`, the rows that got worse since an earlier run.
        comparison: ">" or ">=".
        limit: the number that is compared with.
    """

    name: str
    comparison: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{self.limit:g}"

    def is_met(self, counts: RowCounts, worse: int | None = None) -> bool:
        """Whether a run fails; without a checked row there is no rate.

        Args:
            counts: of the run.
            worse: how many rows got worse; None without an earlier run.
        """
        value = self._value(counts, worse)
        return value is not None and bool(_OPERATORS[self.comparison](value, self.limit))

    def _value(self, counts: RowCounts, worse: int | None) -> float | None:
        if self.name == WORSE:
            return worse
        return counts.rate if self.name == RATE else counts.by_kind[self.name]


def parse_condition(text: str) -> Condition:
    """The condition that a text stands for; ValueError says what is wrong with it."""
    match = _CONDITION.fullmatch(text)
    names = (RATE, WORSE, *ROW_KINDS)
    if match is None or match[1] not in names:
        raise ValueError(
            f"{text!r} is no condition: use a name ({', '.join(names)}), > or >=, and a number, "
            'as in "rate>0.05"'
        )
    return Condition(match[1], match[2], float(match[3]))


def failed_conditions(
    conditions: Sequence[Condition], counts: RowCounts, worse: int | None = None
) -> list[str]:
    """Those that are met, each as a line with the value.

    Args:
        conditions: of the command line.
        counts: of the run.
        worse: how many rows got worse; None without an earlier run.
    """
    lines = []
    for condition in conditions:
        if condition.is_met(counts, worse):
            if condition.name == RATE:
                found = f"the rate is {counts.rate:.4f}"
            elif condition.name == WORSE:
                found = f"{worse:,} rows got worse"
            else:
                found = f"{counts.by_kind[condition.name]:,} rows are {condition.name}"
            lines.append(f"failed by {condition}: {found}")
    return lines
