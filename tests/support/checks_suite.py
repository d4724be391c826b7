"""The checks suite: minimal pairs by phenomenon, and how many of them a verifier gets right."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache

from halldetect.protocols import Verifier
from halldetect.report import Probabilities
from tests.support.paths import DATA

SUITE = DATA / "checks.jsonl"
LABELS = ("entailment", "neutral", "contradiction")


@dataclass(frozen=True, slots=True)
class Check:
    """One premise and hypothesis; `pair` names the group of rows that differ by little."""

    id: str
    phenomenon: str
    premise: str
    hypothesis: str
    label: str
    pair: str


@cache
def load_checks() -> tuple[Check, ...]:
    """Every row of the suite, in the order of the file."""
    lines = SUITE.read_text(encoding="utf-8").splitlines()
    return tuple(Check(**json.loads(line)) for line in lines)


def is_right(probabilities: Probabilities, label: str) -> bool:
    """Whether the likeliest class is the label.

    A two-way verifier cannot tell neutral from contradiction: for it, both are "not entailed".
    """
    p = probabilities
    if p.contradiction is None:
        return (p.entailment > p.neutral) == (label == "entailment")
    values = dict(zip(LABELS, (p.entailment, p.neutral, p.contradiction), strict=True))
    return max(LABELS, key=values.__getitem__) == label


def accuracy_by_phenomenon(verifier: Verifier) -> dict[str, tuple[int, int]]:
    """Rows right and rows in all, for each phenomenon in the order of the file."""
    checks = load_checks()
    answers = verifier.judge([(check.premise, check.hypothesis) for check in checks])
    counts: dict[str, tuple[int, int]] = {}
    for check, answer in zip(checks, answers, strict=True):
        right, total = counts.get(check.phenomenon, (0, 0))
        counts[check.phenomenon] = (right + is_right(answer, check.label), total + 1)
    return counts
