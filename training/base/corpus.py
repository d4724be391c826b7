"""The documents and labelled pairs that training may use, and the texts it must never see."""

from __future__ import annotations

import csv
import json
import lzma
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect.text.sentences import sentences

csv.field_size_limit(sys.maxsize)

# Human-labelled pairs whose licence allows training, with how often a row is seen in one pass.
# Sets with no stated licence (LingNLI, MPE, Climate-FEVER, CovidFact, Citation-Integrity, NLI4CT,
# HealthVer, ConTRoL) and research-only ones (RTE, MCTest, ANLI) stay out.
PAIR_FILES: dict[str, tuple[float, str]] = {
    "snli_part.train": (0.6, "CC BY-SA 4.0"),
    "mnli_part.train": (3.0, "OANC and others, free use"),
    "fever_train_part.train": (1.0, "CC BY-SA 3.0"),
    "fever_val_pairs.eval": (1.0, "CC BY-SA 3.0"),
    "fever_dev_rte.eval": (0.7, "CC BY-SA 3.0"),
    "docnli_fever_bin.eval": (0.7, "CC BY-SA 3.0"),
    "fm2.eval": (2.0, "CC BY-SA 3.0"),
    "infotabs.train": (1.0, "Apache-2.0"),
    "conjnli.train": (1.0, "MIT"),
    "scitail_part.train": (1.0, "Apache-2.0"),
    "counterfactual_nli.train": (1.5, "Apache-2.0, CC BY-SA 4.0"),
    "paws_part.train": (2.0, "free use (Google)"),
    "scone.train": (0.5, "CC0"),
    "equate.eval": (0.4, "MIT"),
    "factcg_cg2c.train": (4.0, "MIT"),
    "wice.train": (1.0, "MIT"),
}

# Evaluation material: no training text may share long word sequences with any of it.
HELD_OUT_FOLDERS = (
    "qags",
    "summeval",
    "xsumfaith",
    "summedits",
    "faithbench",
    "storysumm",
    "dialsummeval",
    "wice",
    "tofueval",
)
HELD_OUT_FILES = ("defacto/test.jsonl", "bump/task2_dataset.json")
HELD_OUT_PAIRS = (
    "mnli_dev.eval", "vitaminc_test_bigbench.eval", "hans.eval", "negation_nli.eval",
    "snli_devtest.eval", "fever_symmetric.eval", "scitail_devtest.eval", "breaking_nli.eval",
    "anli.eval", "wice.eval",
)  # fmt: skip
SHINGLE = 8


@dataclass(frozen=True, slots=True)
class Document:
    """A text for training as sentences, and where it comes from."""

    source: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """A labelled pair, and where it comes from."""

    premise: str
    hypothesis: str
    label: str  # entailment, neutral, contradiction, not_entailment
    source: str


def words(text: str) -> list[str]:
    """The words of a text in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


def shingles(text: str) -> set[int]:
    """Hashes of all runs of SHINGLE words of a text."""
    tokens = words(text)
    return {hash(tuple(tokens[i : i + SHINGLE])) for i in range(len(tokens) - SHINGLE + 1)}


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _strings(item)
    elif isinstance(value, list):
        # A document kept as a list of sentences is one text.
        if value and all(isinstance(item, str) for item in value):
            yield " ".join(value)
        else:
            for item in value:
                yield from _strings(item)


def read(path: Path) -> Iterator[Any]:
    """The records of a JSON, JSON lines, CSV or xz-compressed JSON lines file."""
    if path.suffix == ".csv":
        with path.open(encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)
    elif path.suffix == ".xz":
        with lzma.open(path, "rt", encoding="utf-8") as file:
            yield from map(json.loads, file)
    else:
        text = path.read_text(encoding="utf-8")
        try:
            data = json.loads(text)
            yield from data if isinstance(data, list) else data.values()
        except json.JSONDecodeError:
            yield from map(json.loads, filter(None, text.splitlines()))


class HeldOut:
    """Answers whether a text belongs to something we evaluate on."""

    def __init__(self, shared: Path) -> None:
        datasets = shared / "datasets"
        self.seen: set[int] = set()
        paths = [p for name in HELD_OUT_FOLDERS for p in sorted((datasets / name).iterdir())]
        for path in paths + [datasets / name for name in HELD_OUT_FILES]:
            if path.suffix in {".json", ".jsonl", ".csv"}:
                for text in _strings(list(read(path))):
                    self.seen |= shingles(text)
        contexts = json.loads((datasets / "pubmedqa/ori_pqal.json").read_text())
        for key in json.loads((datasets / "pubmedqa/test_ground_truth.json").read_text()):
            self.seen |= shingles(" ".join(contexts[key]["CONTEXTS"]))
        self.claims: set[str] = set()
        for name in HELD_OUT_PAIRS:
            for row in read(shared / "nli" / f"{name}.jsonl.xz"):
                self.claims.add(" ".join(words(row["premise"] + " # " + row["hypothesis"])))
                # Claims of VitaminC and FEVER-symmetric recur in FEVER with other evidence.
                if "vitaminc" in name or "fever" in name:
                    self.claims.add(" ".join(words(row["hypothesis"])))

    def holds(self, text: str) -> bool:
        """Whether a text shares enough with the evaluation sets to be left out."""
        found = shingles(text)
        shared = len(found & self.seen)
        return shared >= 5 or (shared > 0 and shared > 0.05 * len(found))

    def holds_pair(self, premise: str, hypothesis: str) -> bool:
        """Whether a pair or its hypothesis is in the evaluation sets."""
        return (
            " ".join(words(premise + " # " + hypothesis)) in self.claims
            or " ".join(words(hypothesis)) in self.claims
        )


def split(text: str) -> tuple[str, ...]:
    """The sentences of a text."""
    return tuple(span.cut(text) for span in sentences(text))


def _document(source: str, text: str) -> Document:
    return Document(source, split(re.sub(r"[ \t]+", " ", text).strip()))


def documents(shared: Path, held_out: HeldOut) -> list[Document]:
    """Every document training may use."""
    datasets = shared / "datasets"
    found: dict[str, Document] = {}

    def add(source: str, text: str) -> None:
        if len(text.split()) >= 40 and text not in found and not held_out.holds(text):
            found[text] = _document(source, text)

    for name in ("train", "val"):
        for row in read(datasets / f"defacto/{name}.jsonl"):
            add("defacto", row["article"])
    for row in read(datasets / "bump/task1_dataset.json"):
        add("bump", row["article"])
    for row in read(datasets / "factcg/CG2C_doc.json"):
        add("factcg", row["text_a"])
    contexts = json.loads((datasets / "pubmedqa/ori_pqal.json").read_text())
    for row in contexts.values():
        add("pubmedqa", "\n".join(row["CONTEXTS"]))
    for name in ("ChatGPT", "InstructGPT", "PerplexityAI"):
        for row in read(datasets / f"decomposition/factscore/{name}.jsonl"):
            add("factscore", re.sub(r"\[\d+\]", "", row["output"]))
    return list(found.values())


def human_pairs(shared: Path, held_out: HeldOut) -> dict[str, list[Pair]]:
    """The labelled pairs of every allowed file, without anything evaluated on."""
    pairs: dict[str, list[Pair]] = {}
    for name in PAIR_FILES:
        rows = []
        for row in read(shared / "nli" / f"{name}.jsonl.xz"):
            if held_out.holds_pair(row["premise"], row["hypothesis"]):
                continue
            if name in {"factcg_cg2c.train", "wice.train"} and held_out.holds(row["premise"]):
                continue
            # FEVER prints brackets as codes.
            premise = row["premise"].replace("-LRB-", "(").replace("-RRB-", ")")
            rows.append(Pair(premise, row["hypothesis"], row["label"], name.split(".")[0]))
        pairs[name] = rows
    return pairs
