"""The same statement in twelve forms, which must not change the verdict.

60 supported and 60 contradicted statements are taken from `tests/data/cases.jsonl`. A new form is
one line of `DRESSINGS`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from benchmarks.store import DATA, entries

PER_LABEL = 60


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence about a source, which supports it or not, and a label for its topic."""

    source: str
    sentence: str
    supported: bool
    topic: str


def _lowered(sentence: str) -> str:
    """Return the sentence in the form that follows an opener."""
    first = sentence.split()[0]
    return sentence if first not in _LOWERED else sentence[0].lower() + sentence[1:]


_LOWERED = frozenset(
    "The A An In By It One No More After At On For New Female Pupils People Tickets Employees "
    "There All Frost Lifts Revenue Sales Both Since Most Only Every If Each Medical".split()
)

DRESSINGS: dict[str, Callable[[Statement], str]] = {
    "citation": lambda s: s.sentence[:-1] + " [1].",
    "label": lambda s: f"**{s.topic}.** {s.sentence[:-1]} [1].",
    "bullet": lambda s: f"- {s.sentence}",
    "attribution": lambda s: f"According to the document, {_lowered(s.sentence)}",
    "bold": lambda s: f"**{s.sentence}**",
    "link": lambda s: f"[{s.sentence}](https://example.org/doc/17)",
    "quote": lambda s: f"> {s.sentence}",
    "table row": lambda s: f"| Topic | Finding |\n|---|---|\n| {s.topic} | {s.sentence} |",
    "heading above": lambda s: f"## {s.topic}\n\n{s.sentence}",
    "numbering": lambda s: f"1. {s.sentence}",
    "source line": lambda s: f"{s.sentence}\n\nSource: document 1, page 2",
    "greeting": lambda s: f"Hello! {s.sentence} I hope this helps!",
}


def topics() -> dict[str, list[str]]:
    """Return labels that only name a topic, by the id of the case."""
    content: dict[str, list[str]] = json.loads((DATA / "forms" / "topics.json").read_text())
    return content


def statements() -> list[Statement]:
    """Return the statements, supported ones first."""
    labels = topics()
    cases = entries("cases")
    chosen: list[Statement] = []
    for field, supported in (("true", True), ("contradicted", False)):
        taken = [
            Statement(case["source"], case[field][number], supported, labels[case["id"]][0])
            for number in (0, 1)
            for case in cases
        ]
        chosen += taken[:PER_LABEL]
    return chosen


def dressed(statement: Statement) -> Iterator[tuple[str, str]]:
    """Yield the name of each form and the response in it; the plain sentence comes first."""
    yield "plain", statement.sentence
    for name, dress in DRESSINGS.items():
        yield name, dress(statement)
