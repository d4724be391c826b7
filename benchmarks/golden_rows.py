"""The fixed rows of `benchmarks.golden`: texts, labels, and the choice of the rows."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.forms.dressings import dressed, statements
from benchmarks.forms.injections import CARRIERS, SOURCE, injections

TESTS = Path(__file__).parents[1] / "tests" / "data"
PER_DATASET = 20
# The datasets of each group, by its name in a recording.
GROUPS = {
    "ragtruth_data2txt": ["ragtruth-selection-data2txt"],
    "ragtruth_qa": ["ragtruth-selection-qa"],
    "ragtruth_summary": ["ragtruth-selection-summary"],
    "clearfacts": ["clearfacts"],
    "memerag": ["memerag-en"],
    "memerag others": [f"memerag-{language}" for language in ("de", "es", "fr", "hi")],
    **{
        name: [name]
        for name in "qags-cnndm summeval xsumfaith summedits faithbench defacto storysumm "
        "dialsummeval wice pubmedqa bump factcg".split()
    },
}
GOOD, WRONG = "supported", "wrong"
_MARKED = re.compile(r"\[\[([TF])\|(.*?)\]\]", re.DOTALL)

Label = tuple[int, int, str]


class Row(NamedTuple):
    """A response to check, whose label is `hallucinated`.

    `labels` has spans of the response with the expected state of a claim there; `wrong` is any
    state but supported. If a claim has several labels, the first unsupported one counts.
    """

    group: str
    source: Any
    response: str
    hallucinated: bool
    labels: Sequence[Label]
    question: str | None = None

    @property
    def id(self) -> str:
        """Return the group and the digest."""
        return f"{self.group}/{self.digest}"

    @property
    def digest(self) -> str:
        """Return an id that depends on the texts alone."""
        texts = json.dumps([self.source, self.response, self.question], ensure_ascii=False)
        return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def whole(group: str, source: Any, response: str, state: str, question: str | None = None) -> Row:
    """Return a row with one label for the whole response."""
    return Row(group, source, response, state != GOOD, [(0, len(response), state)], question)


def by_sentence(
    group: str, source: Any, response: str, parts: Iterable[tuple[str, str]], question: str | None
) -> Row:
    """Return a row whose sentences have labels of their own."""
    labels, at = [], 0
    for text, state in parts:
        start = response.find(text, at)
        if start >= 0:
            at = start + len(text)
            labels.append((start, at, state))
    wrong = any(state != GOOD for *_, state in labels)
    return Row(group, source, response, wrong, labels, question)


def own_rows() -> Iterator[Row]:
    """Return rows of the suites in tests/data and benchmarks.forms."""

    def read(name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (TESTS / name).read_text("utf-8").splitlines()]

    cases = {case["id"]: case for case in read("cases.jsonl")}
    for case in cases.values():
        for field, state in (("true", GOOD), ("contradicted", "contradicted")):
            yield whole("cases", case["source"], " ".join(case[field]), state)
    for case in read("contexts.jsonl")[::2]:
        for field, state in (("true", GOOD), ("false", WRONG)):
            lead = f"{case['lead']} " if case.get("lead") else ""
            parts = [(lead.strip(), GOOD), (case[field], state)]
            yield by_sentence("contexts", case["source"], lead + case[field], parts, None)
    for answer in read("forms/answers.jsonl"):
        marked, source = answer["answer"], cases[answer["case"]]["source"]
        parts = [(m[2], GOOD if m[1] == "T" else WRONG) for m in _MARKED.finditer(marked)]
        yield by_sentence("answers", source, _MARKED.sub(r"\2", marked), parts, None)
    for number, statement in enumerate(statements()[::4]):
        forms = list(dressed(statement))
        state = GOOD if statement.supported else "contradicted"
        yield whole("dressed", statement.source, forms[number % len(forms)][1], state)
    for row in read("hostile.jsonl"):
        yield whole("hostile", row["source"], row["response"], row["expected"])
    for item in injections()[::5]:
        carrier = CARRIERS[item.carrier]("").strip()
        start = item.response.find(carrier)
        label = (start, start + len(carrier), GOOD)
        yield Row("hostile forms", SOURCE, item.response, True, [label])


def dataset_rows(data: Path) -> Iterator[Row]:
    """Return rows of every dataset, chosen by the digest of their texts."""
    from halldetect_bench.registry import load_dataset

    for group, names in GROUPS.items():
        rows = [row for name in names for row in load_dataset(name, data).rows]
        distinct = {row.digest: row for row in (_labelled(group, item) for item in rows)}
        yield from (distinct[key] for key in sorted(distinct)[:PER_DATASET])


def _labelled(group: str, row: Any) -> Row:
    """Return a row of a dataset, with the labels of its spans or sentences if it has any."""
    texts = (row.response, bool(row.hallucinated))
    source = [row.source] if group == "clearfacts" and isinstance(row.source, str) else row.source
    if group.startswith("ragtruth"):
        wrong = [(start, end, WRONG) for start, end in row.spans]
        return Row(group, source, *texts, [*wrong, (0, len(row.response), GOOD)], row.question)
    if row.sentences:
        parts = [(text, WRONG if wrong else GOOD) for text, wrong in row.sentences]
        found = by_sentence(group, source, row.response, parts, row.question)
        return found._replace(hallucinated=bool(row.hallucinated))
    state = WRONG if row.hallucinated else GOOD
    return whole(group, source, row.response, state, row.question)
