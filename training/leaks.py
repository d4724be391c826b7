"""The texts that training must never see, and the check that it has not.

    python -m training.leaks SHARED FILE ... --out benchmarks/results/leaks.json

SHARED holds `datasets/`; each FILE holds groups as `training.large.data` writes them (a premise and
claims per line, xz-compressed JSON). Two texts overlap if they share a run of ten words. The result
names the files by their digests and counts, per dataset, the runs searched for and the training
texts with such a run. With any overlap the command and the test of the stored result fail.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from training.files import read

csv.field_size_limit(sys.maxsize)

RUN = 10
# Folders of evaluation sets, and the evaluation files of sets used for both purposes.
FOLDERS = (
    "qags", "summeval", "xsumfaith", "summedits", "faithbench", "storysumm", "dialsummeval",
    "wice", "tofueval", "bump", "falsesum", "decomposition/propsegment", "clearfacts", "memerag",
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


# Evaluated besides the datasets of `benchmarks.evaluation`, in the parts that training leaves out.
ALSO = (
    *(f"ragtruth-selection-{task}" for task in ("qa", "summary", "data2txt")), "clearfacts",
    *(f"memerag-{language}" for language in ("en", "de", "es", "fr", "hi")),
)  # fmt: skip
# Their texts are the user's: they are compared where these are there. ClearFacts, above, holds the
# transcripts of `tofueval`.
SUPPLIED = ("tofueval-summaries", "falsesum")


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case."""
    return re.findall(r"[a-z0-9]+", text.lower())


def strings(value: Any, *, joined: bool = True) -> Iterator[str]:
    """Yield every text in a record; if `joined`, a list of strings is one text."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from strings(item, joined=joined)
    elif isinstance(value, list):
        if joined and value and all(isinstance(item, str) for item in value):
            yield " ".join(value)
        else:
            for item in value:
                yield from strings(item, joined=joined)


class HeldOut:
    """The runs of ten words of all evaluation texts."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._owners: dict[int, str] = {}
        self._pairs: set[str] = set()

    @classmethod
    def load(cls, shared: Path) -> HeldOut:
        """Load all evaluation texts of a folder with `datasets/` and `nli/`."""
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
        return len(self._owners)

    def runs(self) -> Counter[str]:
        """Count the runs of each dataset; a shared run counts for the first."""
        return Counter(self._owners.values())

    def add(self, text: str, dataset: str = "") -> None:
        """Add an evaluation text of a dataset."""
        for run in self._runs(text, grow=True):
            self._owners.setdefault(run, dataset)

    def add_pair(self, premise: str, hypothesis: str) -> None:
        """Add an evaluation pair, or a hypothesis with an empty premise."""
        self._pairs.add(_key(premise, hypothesis))

    def holds(self, text: str) -> bool:
        """Return True if a text shares a run of ten words with an evaluation text."""
        return self.owner(text) is not None

    def owner(self, text: str) -> str | None:
        """Return the dataset that shares a run of ten words with a text, or None."""
        for run in self._runs(text, grow=False):
            if run in self._owners:
                return self._owners[run]
        return None

    def holds_pair(self, premise: str, hypothesis: str) -> bool:
        """Return True if this exact pair, or this claim of a claim set, is in an evaluation set."""
        return _key(premise, hypothesis) in self._pairs or _key("", hypothesis) in self._pairs

    def _runs(self, text: str, *, grow: bool) -> Iterator[int]:
        # Words become numbers: hashes of integer tuples are the same in every process.
        known = self._numbers
        if grow:
            row = [known.setdefault(word, len(known)) for word in tokens(text)]
        else:
            row = [known.get(word, -1) for word in tokens(text)]
        for start in range(len(row) - RUN + 1):
            run = tuple(row[start : start + RUN])
            if -1 not in run:
                yield hash(run)


def _key(premise: str, hypothesis: str) -> str:
    return " ".join([*tokens(premise), "#", *tokens(hypothesis)])


def evaluated(shared: Path, names: Iterable[str]) -> HeldOut:
    """Return the texts of named evaluation datasets in the folder `shared`/datasets.

    Those of SUPPLIED may be absent: a line on standard error says so.
    """
    from halldetect.errors import InputError
    from halldetect_bench.methods.method import documents
    from halldetect_bench.registry import load_dataset

    held = HeldOut()
    for name in names:
        try:
            rows = load_dataset(name, shared / "datasets").rows
        except InputError as error:
            if name not in SUPPLIED:
                raise
            print(f"{name} is not compared: {error}", file=sys.stderr)
            continue
        texts = dict.fromkeys(text for row in rows for text in (*documents(row), row.response))
        for text in texts:
            held.add(text, name)
    return held


def training_texts(file: Path) -> Iterator[str]:
    """Yield the distinct premises and claims of a file of xz-compressed JSON lines."""
    seen: set[int] = set()
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            for text in strings(json.loads(line), joined=False):
                key = hash(text)
                if key not in seen:
                    seen.add(key)
                    yield text


def check(held: HeldOut, files: Sequence[Path]) -> dict[str, Any]:
    """Count the texts of training files that overlap with an evaluation text."""
    result: dict[str, Any] = {"run_of_words": RUN, "evaluated_runs": held.runs(), "files": {}}
    for file in files:
        count, meeting, examples = 0, Counter[str](), []
        for text in training_texts(file):
            count += 1
            if (dataset := held.owner(text)) is not None:
                meeting[dataset] += 1
                examples.append(f"{dataset}: {hashlib.sha256(text.encode()).hexdigest()[:16]}")
        result["files"][file.name] = {
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "texts": count,
            "meeting": dict(meeting),
            "examples": examples[:5],
            "evaluated": list(held.runs()),
        }
        print(f"{file.name}: {count:,} texts, {sum(meeting.values())} meet {dict(meeting)}")
    result["leaks"] = sum(sum(item["meeting"].values()) for item in result["files"].values())
    return result


def main() -> int:
    """Run the command; return 1 if a training text overlaps with an evaluation text."""
    from benchmarks.evaluation import DATASETS

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    result = check(evaluated(options.shared, (*DATASETS, *ALSO, *SUPPLIED)), options.files)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if result["leaks"] else 0


if __name__ == "__main__":
    sys.exit(main())
