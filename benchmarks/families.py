"""The families of hand-written rules, and how each is switched off in the running detector.

A family names its code, whose lines are counted, and replaces some functions by ones that do
nothing. A family that leaves the program leaves this table; its last measurement stays in
results/rules.json.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from halldetect.reading import assertions, cells
from halldetect.reading.injections import blank_injections
from halldetect.reading.sources import read_source

READING, FACTS = "halldetect.reading.", "halldetect.faults."
_WITHOUT_LETTERS = ("symbols", "a link")


@dataclass(frozen=True, slots=True)
class Family:
    """A family of rules.

    Attributes:
        name: What it is about.
        code: The names at the top level of each module that only it uses; "*" is the module.
        off: What replaces which function while the family is off.
    """

    name: str
    code: Mapping[str, str]
    off: Mapping[str, Any]

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """Run the detector without the family."""
        _forget()
        with ExitStack() as stack:
            for target, value in self.off.items():
                stack.enter_context(patch(f"halldetect.{target}", value))
            yield
        _forget()

    @property
    def lines(self) -> int:
        """The number of lines of its code."""
        return sum(_lines(f"halldetect.{module}", names) for module, names in self.code.items())


def _forget() -> None:
    """Empty the caches of what was read."""
    for function in (read_source, blank_injections):
        vars(function)["__wrapped__"].cache_clear()


def _lines(module: str, names: str) -> int:
    source = Path(str(importlib.import_module(module).__file__)).read_text(encoding="utf-8")
    if names == "*":
        return source.count("\n")
    wanted, body = set(names.split()), ast.parse(source).body
    nodes: list[Any] = [*body, *(inner for node in body for inner in getattr(node, "body", ()))]
    return sum(
        node.end_lineno - node.lineno + 1
        for node in nodes
        if any(
            getattr(one, "name", getattr(one, "id", None)) in wanted
            for one in getattr(node, "targets", [node])
        )
    )


# What replaces the functions


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _no(*_: Any, **__: Any) -> bool:
    return False


def _empty(*_: Any, **__: Any) -> list[Any]:
    return []


def _same(first: Any, *_: Any, **__: Any) -> Any:
    return first


def _not_asserting(content: str, **options: Any) -> str | None:
    reason = assertions.no_assertion(content, **options)
    return reason if reason in _WITHOUT_LETTERS else None


def _plain_cells(block: Any, *_: Any, **__: Any) -> Iterator[cells.Cell]:
    for line in block.lines:
        if line.text.text.strip():
            yield cells.Cell(line.text.stripped())


FAMILIES: tuple[Family, ...] = (
    Family(
        "courtesies and questions",
        {
            "reading.assertions": "no_assertion _COURTESY _TELLS _MAX_COURTESY _is_courtesy _tells "
            "_announces _ANNOUNCED _LENGTH_OR_READER _is_question _QUESTION_END _WH "
            "_LEADING_QUESTION"
        },
        {
            "reading.response.no_assertion": _not_asserting,
            "reading.cells.no_assertion": _not_asserting,
        },
    ),
    Family(
        "short headings",
        {"reading.assertions": "is_topic MAX_TOPIC _STATES _NUMBERED"},
        {"reading.response.is_topic": _no},
    ),
    Family(
        "leads of list items",
        {"reading.response": "_Lead _needs _LABEL"},
        {"reading.response._needs": _no},
    ),
    Family(
        "denials in the response",
        {"reading.response": "_FALSE _DENIAL"},
        {"reading.response._DENIAL": re.compile(r"(?!)(?P<title>)")},
    ),
    Family(
        "table rows and code cells",
        {"reading.cells": "*"},
        {"reading.response.read_row": _plain_cells, "reading.response.read_code": _plain_cells},
    ),
    Family(
        "citations and openers",
        {
            "reading.citations": "_CITATION _OPENER remove_citations remove_openers _NAMED_OPENER "
            "split_named_source"
        },
        {
            "reading.response.remove_citations": lambda text: (text, ()),
            "reading.cells.remove_citations": lambda text: (text, ()),
            "reading.response.remove_openers": _same,
            "reading.claims.remove_openers": _same,
            "reading.response.split_named_source": lambda text, names: (text, ()),
        },
    ),
    Family(
        "pronouns, second reading",
        {"reading.references": "*"},
        {"reading.claims.readings": lambda texts: [None] * len(texts)},
    ),
    Family(
        "pronouns, windows",
        {"reading.references": "begins_with_pronoun _OPENING _EXPLETIVE"},
        {"verification.windows.begins_with_pronoun": _no},
    ),
    Family(
        "clauses of long sentences",
        {"reading.claims": "clauses _is_clause _BORDER _DEPENDENT"},
        {"reading.claims.clauses": lambda sentence: [sentence]},
    ),
    Family(
        "abstentions",
        {
            "reading.answers": "abstains _ABSTENTION _SORRY _FURTHER _PRESUPPOSED _THE_SOURCE "
            "_IN_SOURCE"
        },
        {"reading.response.abstains": _no},
    ),
    Family(
        "bare answers",
        {"reading.answers": "answering _after _POLAR _ASSENT _ASKS_YES_OR_NO _NEEDS_QUESTION"},
        {"reading.response.answering": _same},
    ),
    Family(
        "look-alikes and disguises",
        {"reading.normalise": "*"},
        {
            f"reading.{module}.normalised": _same
            for module in ("response", "cells", "sentences", "sources")
        }
        | {"reading.response.unreadable": _nothing},
    ),
    Family(
        "records and tables of the source",
        {"reading.structured": "*"},
        {
            "reading.sources.read_records": _nothing,
            "reading.sources._tables": _empty,
            "faults.numbers.read_records": _nothing,
        },
    ),
    Family(
        "speakers of the source",
        {"reading.sources": "_speakers _SPEAKER MIN_TURNS"},
        {"reading.sources._speakers": lambda text: {}},
    ),
    Family(
        "hidden and denied source text",
        {
            "reading.sources": "_hidden _denied _without _HIDING _NOT_SHOWN _DENIAL _FALSE_LABEL "
            "_PARAGRAPH"
        },
        {"reading.sources._hidden": _empty, "reading.sources._denied": _empty},
    ),
    Family(
        "injections in the source",
        {"reading.injections": "*"},
        {"reading.reader.blank_injections": lambda text: (text, 0)},
    ),
    Family("copies", {"reading.copies": "*"}, {"verification.windows.Copies.find": _nothing}),
    Family(
        "computed numbers are spared",
        {"facts.computations": "*", "faults.numbers": "_may_compute _computed _compared"},
        {"faults.numbers._Source._may_compute": _no},
    ),
    Family(
        "numbers: an unknown one lowers",
        {"faults.numbers": "*"},
        {"faults.numbers.UnknownNumbers.faults": _empty},
    ),
    Family(
        "identifiers",
        {"faults.identifiers": "*"},
        {"faults.identifiers.InventedIdentifiers.faults": _empty},
    ),
)
