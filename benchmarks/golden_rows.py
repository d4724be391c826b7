"""The fixed rows of `benchmarks.golden`: texts, labels, and the choice of the rows."""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.forms.dressings import dressed, statements
from benchmarks.forms.injections import CARRIERS, SOURCE, injections

TESTS = Path(__file__).parents[1] / "tests" / "data"
PER_DATASET = 20
# Datasets that halldetect_bench reads. `_published` reads the rest.
DATASETS = (
    "qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto", "storysumm",
    "dialsummeval", "wice", "pubmedqa", "bump", "factcg",
)  # fmt: skip
GOOD, WRONG = "supported", "wrong"
_MARKED = re.compile(r"\[\[([TF])\|(.*?)\]\]", re.DOTALL)

Label = tuple[int, int, str]


class Row(NamedTuple):
    """A response to check.

    Attributes:
        hallucinated: the label of the whole response.
        labels: spans of the response with the expected state of a claim there; `wrong` is any state
            but supported. If a claim has several labels, the first unsupported one counts.
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


def _ragtruth(file: Path) -> Iterator[Row]:
    """Return the answers to the sources of the test part: all of data2txt, else the odd half."""
    for line in file.read_text("utf-8").splitlines():
        item = json.loads(line)
        source, question = item["source"], None
        if isinstance(source, dict) and "passages" in source:
            source, question = source["passages"], source["question"]
        if isinstance(source, dict):
            source = json.dumps(source, ensure_ascii=False)
        elif zlib.crc32(source.encode()) % 2 == 0:
            continue
        for answer in item["responses"]:
            text = answer["response"]
            labels = [(span["start"], span["end"], WRONG) for span in answer["labels"]]
            everything = (0, len(text), GOOD)
            yield Row(file.stem, source, text, bool(labels), [*labels, everything], question)


def _memerag(file: Path) -> Iterator[Row]:
    """Return the answers in one language, without those that the annotators could not judge."""
    states = {"Supported": GOOD, "Not Supported": WRONG}
    group = "memerag" if file.stem == "en" else "memerag others"
    for item in map(json.loads, file.read_text("utf-8").splitlines()):
        parts = [(part["sentence"], states.get(part["factuality"])) for part in item["answer"]]
        labelled = [(text, state) for text, state in parts if state is not None]
        if len(labelled) == len(parts):
            source = [passage["text"] for passage in item["context"]]
            answer = " ".join(text for text, _ in parts)
            yield by_sentence(group, source, answer, labelled, item["query"])


def _published(data: Path) -> Iterator[list[Row]]:
    """Return the datasets that halldetect_bench has no loader for."""
    for file in sorted((data / "ragtruth").glob("*.jsonl")):
        yield list(_ragtruth(file))
    rows = map(json.loads, (data / "clearfacts/aggrefact.jsonl").read_text("utf-8").splitlines())
    yield [
        whole("clearfacts", list(row["reference_documents"]), row["statement"],
              GOOD if row["label"] == "S" else WRONG)
        for row in rows
    ]  # fmt: skip
    answers = [row for file in sorted((data / "memerag").glob("*.jsonl")) for row in _memerag(file)]
    for group in ("memerag", "memerag others"):
        yield [row for row in answers if row.group == group]


def dataset_rows(data: Path) -> Iterator[Row]:
    """Return rows of every dataset, chosen by the digest of their texts."""
    from halldetect_bench.registry import load_dataset

    loaded: list[list[Row]] = list(_published(data))
    for name in DATASETS:
        rows = []
        for row in load_dataset(name, data).rows:
            if row.sentences:
                parts = [(text, WRONG if wrong else GOOD) for text, wrong in row.sentences]
                found = by_sentence(name, row.source, row.response, parts, row.question)
                rows.append(found._replace(hallucinated=bool(row.hallucinated)))
            else:
                state = WRONG if row.hallucinated else GOOD
                rows.append(whole(name, row.source, row.response, state, row.question))
        loaded.append(rows)
    for rows in loaded:
        distinct = {row.digest: row for row in rows}
        yield from (distinct[key] for key in sorted(distinct)[:PER_DATASET])
