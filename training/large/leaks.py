"""The texts that training must never see, and the test for them."""

from __future__ import annotations

import csv
import json
import lzma
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

csv.field_size_limit(sys.maxsize)

SHINGLE = 10
# Whole folders of evaluation sets, and the evaluation files of those used for both.
FOLDERS = (
    "qags", "summeval", "xsumfaith", "summedits", "faithbench", "storysumm", "dialsummeval",
    "wice", "tofueval", "bump", "falsesum", "decomposition/propsegment",
)  # fmt: skip
FILES = (
    "defacto/test.jsonl",
    "decomposition/rose/protocol-comparison.json",
    "decomposition/rose/protocol-comparison-llm.json",
)
PAIRS = (
    "mnli_dev.eval", "vitaminc_test_bigbench.eval", "hans.eval", "negation_nli.eval",
    "snli_devtest.eval", "fever_symmetric.eval", "scitail_devtest.eval", "breaking_nli.eval",
    "anli.eval", "wice.eval",
)  # fmt: skip


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


def tokens(text: str) -> list[str]:
    """The words and numbers of a text in small letters."""
    return re.findall(r"[a-z0-9]+", text.lower())


def strings(value: Any) -> Iterator[str]:
    """Every text in a record; a list of strings is one text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        if value and all(isinstance(item, str) for item in value):
            yield " ".join(value)
        else:
            for item in value:
                yield from strings(item)


class HeldOut:
    """Tells whether a text shares a run of ten words with anything we evaluate on."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._seen: set[int] = set()
        self._pairs: set[str] = set()

    @classmethod
    def load(cls, shared: Path) -> HeldOut:
        """Everything evaluated on.

        Args:
            shared: the folder with `datasets/` and `nli/`.
        """
        held = cls()
        datasets = shared / "datasets"
        paths = [path for name in FOLDERS for path in sorted((datasets / name).iterdir())]
        for path in paths + [datasets / name for name in FILES]:
            if path.suffix in {".json", ".jsonl", ".csv"}:
                for record in read(path):
                    for text in strings(record):
                        held.add(text)
        abstracts = json.loads((datasets / "pubmedqa/ori_pqal.json").read_text())
        for record in abstracts.values():
            held.add(record["LONG_ANSWER"])
        for key in json.loads((datasets / "pubmedqa/test_ground_truth.json").read_text()):
            held.add(" ".join(abstracts[key]["CONTEXTS"]))
        for name in PAIRS:
            for row in read(shared / "nli" / f"{name}.jsonl.xz"):
                held.add_pair(row["premise"], row["hypothesis"])
                # Claims of VitaminC and FEVER-symmetric recur in FEVER with other evidence.
                if "vitaminc" in name or "fever" in name:
                    held.add_pair("", row["hypothesis"])
        return held

    def __len__(self) -> int:
        return len(self._seen)

    def add(self, text: str) -> None:
        """Take a text as evaluated on."""
        for shingle in self._shingles(text, grow=True):
            self._seen.add(shingle)

    def add_pair(self, premise: str, hypothesis: str) -> None:
        """Take a pair, or with an empty premise a hypothesis, as evaluated on."""
        self._pairs.add(_key(premise, hypothesis))

    def holds(self, text: str) -> bool:
        """Whether a text shares a run of ten words with an evaluation text."""
        return any(shingle in self._seen for shingle in self._shingles(text, grow=False))

    def holds_pair(self, premise: str, hypothesis: str) -> bool:
        """Whether exactly this pair, or this claim of a claim set, is evaluated on."""
        return _key(premise, hypothesis) in self._pairs or _key("", hypothesis) in self._pairs

    def _shingles(self, text: str, *, grow: bool) -> Iterator[int]:
        # Numbers for words: the hash of a tuple of integers is the same in every process.
        known = self._numbers
        if grow:
            row = [known.setdefault(word, len(known)) for word in tokens(text)]
        else:
            row = [known.get(word, -1) for word in tokens(text)]
        for start in range(len(row) - SHINGLE + 1):
            run = tuple(row[start : start + SHINGLE])
            if -1 not in run:
                yield hash(run)


def _key(premise: str, hypothesis: str) -> str:
    return " ".join([*tokens(premise), "#", *tokens(hypothesis)])
