"""Conditions on the counts of a run under which the command fails, for use in CI."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from dataclasses import dataclass

from halldetect.batch.counts import ROW_KINDS, RowCounts

RATE = "rate"
_OPERATORS = {">": operator.gt, ">=": operator.ge}
_CONDITION = re.compile(r"\s*(\w+)\s*(>=|>)\s*(\d+(?:\.\d+)?)\s*")


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition, such as "rate>0.05" or "uncheckable>=10".

    Attributes:
        name: `rate`, the share of hallucinated rows among the checked ones, or a kind of row.
        comparison: ">" or ">=".
        limit: the number that is compared with.
    """

    name: str
    comparison: str
    limit: float

    def __str__(self) -> str:
        return f"{self.name}{self.comparison}{self.limit:g}"

    def is_met(self, counts: RowCounts) -> bool:
        """Whether a run with these counts fails; without a checked row there is no rate."""
        value = counts.rate if self.name == RATE else counts.by_kind[self.name]
        return value is not None and bool(_OPERATORS[self.comparison](value, self.limit))


def parse_condition(text: str) -> Condition:
    """The condition that a text stands for; ValueError says what is wrong with it."""
    match = _CONDITION.fullmatch(text)
    names = (RATE, *ROW_KINDS)
    if match is None or match[1] not in names:
        raise ValueError(
            f"{text!r} is no condition: use a name ({', '.join(names)}), > or >=, and a number, "
            'as in "rate>0.05"'
        )
    return Condition(match[1], match[2], float(match[3]))


def failed_conditions(conditions: Sequence[Condition], counts: RowCounts) -> list[str]:
    """Those that are met, each as a line with the value.

    Args:
        conditions: of the command line.
        counts: of the run.
    """
    lines = []
    for condition in conditions:
        if condition.is_met(counts):
            rate = f"the rate is {counts.rate:.4f}" if counts.rate is not None else ""
            kind = f"{counts.by_kind[condition.name]:,} rows are {condition.name}"
            lines.append(f"failed by {condition}: {rate if condition.name == RATE else kind}")
    return lines
