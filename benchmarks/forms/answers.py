"""150 realistic answers with markdown, tables, lists, citations and quotes; half are faithful.

30 were written by hand (`tests/data/forms/answers.jsonl`); 120 put statements of
`tests/data/cases.jsonl` into the layouts below. `[[T|...]]` marks supported and `[[F|...]]`
unsupported statements; the rest makes no statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.forms.dressings import topics
from benchmarks.store import entries
from halldetect.reading.document import Span

_MARKED = re.compile(r"\[\[([^|\]]+)\|(.*?)\]\]", re.DOTALL)

Layout = Callable[[Sequence[str], Sequence[str]], str]


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with the span of each statement, and True if the source supports it."""

    id: str
    source: str
    response: str
    statements: tuple[tuple[Span, bool], ...]

    @property
    def faithful(self) -> bool:
        """True if every statement is supported."""
        return all(true for _, true in self.statements)


def _bare(marked: str) -> str:
    """Return a marked sentence without its full stop."""
    return re.sub(r"\.\]\]$", "]]", marked)


LAYOUTS: dict[str, Layout] = {
    "labelled bullets": lambda s, t: "\n".join(
        f"- **{topic}:** {_bare(text)} [1]." for text, topic in zip(s, t, strict=False)
    ),
    "numbered list": lambda s, t: (
        "Here are the main points:\n\n"
        + "\n".join(f"{number}. {text}" for number, text in enumerate(s, 1))
    ),
    "attribution": lambda s, t: (
        f"According to the document, {s[0]} {_bare(s[1])} [1]. As stated in the text, {s[2]}"
    ),
    "sections": lambda s, t: (
        f"# Summary\n\n## {t[0]}\n\n{s[0]} {s[1]}\n\n## {t[1]}\n\n{' '.join(s[2:])}"
    ),
    "quote": lambda s, t: (
        f"**Summary**\n\n{s[0]} {s[1]}\n\n> {s[2]}\n\n**Sources:** [1] Document 1, page 2"
    ),
    "friendly": lambda s, t: (
        "Sure! Here is what I found:\n\n"
        + "\n".join(f"* {text}" for text in s)
        + "\n\nLet me know if you have any other questions!"
    ),
    "table": lambda s, t: (
        "| Topic | Finding |\n|---|---|\n"
        + "\n".join(f"| {topic} | {text} |" for text, topic in zip(s, t, strict=False))
    ),
    "details": lambda s, t: (
        f"Based on the information provided, {s[0]}\n\n**Details:**\n\n- {s[1]}\n- {s[2]}\n\n"
        "*Source: document 1*"
    ),
}


def read_marked(marked: str) -> tuple[str, tuple[tuple[Span, bool], ...]]:
    """Return the answer without its marks, and the marked statements."""
    parts: list[str] = []
    statements: list[tuple[Span, bool]] = []
    at = length = 0
    for match in _MARKED.finditer(marked):
        parts += [marked[at : match.start()], match[2]]
        length += match.start() - at
        statements.append((Span(length, length + len(match[2])), match[1] == "T"))
        length += len(match[2])
        at = match.end()
    return "".join([*parts, marked[at:]]), tuple(statements)


def answers() -> list[Answer]:
    """Return the written answers, then the assembled ones."""
    cases = {case["id"]: case for case in entries("cases")}
    found = [
        Answer(row["id"], cases[row["case"]]["source"], *read_marked(row["answer"]))
        for row in entries("forms/answers")
    ]
    labels = topics()
    names = list(LAYOUTS)
    for index, case in enumerate(cases.values()):
        for turn in range(3):
            name = names[(index + 3 * turn) % len(names)]
            true = [f"[[T|{text}]]" for text in case["true"]]
            chosen = [true[turn], true[turn + 1], true[(turn + 3) % 5]]
            if (index + turn) % 2:
                chosen[(index + turn) // 2 % 3] = f"[[F|{case['contradicted'][turn + 2]}]]"
            response, statements = read_marked(LAYOUTS[name](chosen, labels[case["id"]]))
            found.append(Answer(f"{name} {case['id']}", case["source"], response, statements))
    return found
