"""Count the changes by each rule of `halldetect.reading`, without a verifier.

    HALLDETECT_DATA=DIR python -m benchmarks.rules [--rows 300]

Every rule is switched off in turn. The command counts the units and claims of responses, or the
sentences of sources, that change: over rows of each dataset and over the project's own suites. A
rule that changes less than 0.1 % of the units and fewer than two rows of each suite is a candidate
for removal. Writes benchmarks/results/rules.json; a removed rule keeps its last counts.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks import suites
from benchmarks.forms.answers import answers
from benchmarks.forms.dressings import dressed, statements
from benchmarks.forms.injections import SOURCE, injections
from halldetect.errors import InputError
from halldetect.inputs import CleanPair, read_texts
from halldetect.reading import sentences
from halldetect.reading.document import TrackedText
from halldetect.reading.references import readings
from halldetect_bench.registry import load_dataset

RESULTS = Path(__file__).parent / "results" / "rules.json"
DATASETS = (
    "qags-cnndm summeval xsumfaith summedits faithbench defacto storysumm dialsummeval wice "
    "pubmedqa bump factcg ragtruth"
).split()
SUITES = "answers dressings injections checks everyday contexts hostile recombined".split()
NEVER = re.compile(r"(?!)")
SOURCE_RULES = ("source.", "sentences.")
Switch = tuple[str, Any]


def _giving(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


_no, _nothing, _empty = _giving(False), _giving(None), _giving([])


# The patterns of each module, which are replaced by one that matches nothing.
PATTERNS = {
    "citations": "_CITATION _OPENER _STATEMENT_IN_QUESTION",
    "response": "_MARK _BOX _COMMENT _DEFINITION _IRONY _OF_SOURCE",
    "assertions": "_COURTESY _ANNOUNCED _LEADING_QUESTION _CODE_NAME _TAG _LINK",
    "lead_ins": "_OPEN_END _GENERIC_HEADER _PERSON _NEGATION",
    "normalise": "_INVISIBLE _UNUSUAL _ACCENT",
    "references": "_MEANINGLESS_ALONE _EXPLETIVE _QUOTED",
    "sentences": "_WIDE_STOP _FULL_STOP _FOOTNOTE _CITATIONS _MARK_ALONE",
    "markdown": "_ATTRIBUTE",
}
# The names of halldetect.reading to replace, with the replacement, by rule.
RULES: dict[str, list[Switch]] = {
    f"{module}.{name.strip('_').lower()}": [(f"{module}.{name}", NEVER)]
    for module, names in PATTERNS.items()
    for name in names.split()
} | {
    "labels": [("response.label_of", lambda text, strong, item: (None, text))],
    "labels.references": [("response.REFERENCES", NEVER), ("lead_ins.REFERENCES", NEVER)],
    "lead_ins": [("response.needs_lead_in", _no)],
    "lead_ins.denial": [("lead_ins.FALSE", NEVER), ("response.FALSE", NEVER)],
    "assertions.question": [("assertions._is_question", _no)],
    "assertions.code": [("response.is_code", _no)],
    "assertions.topic": [("response.names_topic", _no)],
    "answers.abstention": [("response.abstains", _no)],
    "answers.question": [("response.answering", lambda units, question: units)],
    "citations.named_source": [("response.split_named_source", lambda text, names: (text, ()))],
    "response.unwrapped": [("response._unwrapped", iter)],
    "response.mark_up": [("response._statements_of_mark_up", _empty)],
    "normalise.look_alikes": [("normalise._LOOK_ALIKES", {})],
    "markdown.quotation": [("markdown._is_quotation", _no)],
    "html_page.blocks": [
        ("markdown.html_as_markdown", lambda raw: TrackedText.of(raw, 0, len(raw)))
    ],
    "cells.table_rows": [("response.read_row", _empty)],
    "references.pronoun": [("references._pronoun", _nothing)],
    "source.records": [("sources.read_records", _nothing)],
    "source.tables": [("sources._tables", _empty)],
    "source.speakers": [("sources._speakers", lambda text: {})],
}


# A dataset or suite, and a response with its source.
Row = tuple[str, CleanPair]
Reader = Callable[[list[Row]], list[Counter[Any]]]


def suite_rows() -> Iterator[Row]:
    """Yield the rows of the project's own suites."""
    rows = [("answers", answer.source, answer.response) for answer in answers()]
    rows += [("dressings", item.source, text) for item in statements() for _, text in dressed(item)]
    rows += [("injections", SOURCE, injection.response) for injection in injections()]
    for suite in SUITES[3:]:
        rows += [(suite, str(row.source), row.claim) for row in suites.suite_rows(suite)]
    return ((suite, CleanPair((source,), text, None)) for suite, source, text in rows)


def dataset_rows(count: int) -> Iterator[Row]:
    """Yield rows drawn from every available dataset, always the same ones."""
    for name in DATASETS:
        try:
            rows = load_dataset(name).rows
        except (InputError, OSError):
            continue
        for row in random.Random(0).sample(rows, min(count, len(rows))):
            source = (row.source,) if isinstance(row.source, str) else row.source
            yield name, CleanPair(source, row.response, row.question)


def read_responses(rows: list[Row]) -> list[Counter[Any]]:
    """Return for each row the units of the response, and its claims with references resolved."""
    found = []
    for _, pair in rows:
        units = read_texts(CleanPair((), pair.response, pair.question)).response.units
        said = [unit.text for unit in units if unit.asserts]
        claims = zip(said, readings(said), strict=True)
        judged: Counter[Any] = Counter(text if item is None else item.text for text, item in claims)
        judged.update((u.span, u.text, u.asserts, u.abstains, u.problem) for u in units)
        found.append(judged)
    return found


def read_sources(rows: list[Row]) -> list[Counter[Any]]:
    """Return for each row the sentences of the source as the verifier reads them."""
    known: dict[tuple[str, ...], Counter[Any]] = {}
    for _, pair in rows:
        if pair.documents not in known:
            counts: Counter[Any] = Counter()
            for document in read_texts(CleanPair(pair.documents, "", None)).documents:
                texts = document.readings or (None,) * len(document.sentences)
                counts.update(zip(document.sentences, texts, strict=True))
            known[pair.documents] = counts
    return [known[pair.documents] for _, pair in rows]


def measure(
    rows: list[Row], switches: list[Switch], read: Reader, before: list[Counter[Any]]
) -> dict[str, Any]:
    """Return the rows that change without a rule, by dataset and suite, and the share of units."""
    with ExitStack() as stack:
        for name, value in switches:
            stack.enter_context(patch(f"halldetect.reading.{name}", value))
        after = read(rows)
    both = list(zip(rows, before, after, strict=True))
    changed = Counter(group for (group, _), old, new in both if old != new)
    units = sum((old - new).total() for (group, _), old, new in both if group in DATASETS)
    total = sum(old.total() for (group, _), old, _ in both if group in DATASETS)
    return {
        "share_of_units": round(units / max(total, 1), 5),
        "dataset_rows": {group: changed[group] for group in DATASETS if changed[group]},
        "suite_rows": {group: changed[group] for group in SUITES if changed[group]},
    }


def main() -> None:
    """Measure the rules and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=300, help="rows drawn from each dataset")
    options = parser.parse_args()
    rows = [*suite_rows(), *dataset_rows(options.rows)]
    found = json.loads(RESULTS.read_text())["rules"] if RESULTS.exists() else {}
    readers: dict[str, Reader] = {"responses": read_responses, "sources": read_sources}
    splitter = sentences._splitter()
    # The cache splits each line once for all rules.
    with patch.object(splitter, "span_tokenize", cache(splitter.span_tokenize)):
        before = {what: read(rows) for what, read in readers.items()}
        for name, switches in RULES.items():
            what = "sources" if name.startswith(SOURCE_RULES) else "responses"
            found[name] = measure(rows, switches, readers[what], before[what])
            print(name, found[name], flush=True)
    for name in found:
        found[name]["removed"] = name not in RULES
    results = {"rows": Counter(group for group, _ in rows), "rules": found}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
