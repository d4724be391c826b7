"""Does any text that was trained on meet a text that is evaluated on?

    python -m training.leaks SHARED FILE ... --out benchmarks/results/leaks.json

SHARED holds `datasets/`; each FILE holds training data as `training.large.data` and
`training.large.teach` write them (a premise and claims per line, xz-compressed JSON). Two texts
meet where they share a run of ten words. The result names the files by their digests and counts,
per dataset, the runs looked for and the training texts that have one. The command fails, and so
does the test of the stored result, where there is any.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

RUN = 10
# Texts that are looked up together.
BATCH = 20_000
_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_WORD = re.compile(r"[a-z0-9]+")

Hashes = NDArray[np.uint64]


class EvaluationTexts:
    """The runs of words of everything that is evaluated on, by dataset."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._datasets: list[str] = []
        self._found: list[tuple[Hashes, int]] = []
        self._runs: Hashes = np.zeros(0, np.uint64)
        self._owners: NDArray[np.int64] = np.zeros(0, np.int64)

    def add(self, dataset: str, texts: Iterable[str]) -> None:
        """Take texts as evaluated on.

        dataset: their name in the result. texts: sources and responses.
        """
        owner = len(self._datasets)
        self._datasets.append(dataset)
        known = self._numbers
        for text in texts:
            words = _WORD.findall(text.lower())
            codes = [known.setdefault(word, len(known) + 1) for word in words]
            self._found.append((run_hashes(np.array(codes, np.uint64)), owner))
        runs = np.concatenate([hashes for hashes, _ in self._found])
        owners = np.concatenate([np.full(len(hashes), who) for hashes, who in self._found])
        self._runs, first = np.unique(runs, return_index=True)
        self._owners = owners[first]

    def runs(self) -> dict[str, int]:
        """How many runs are looked for, per dataset; one that several have counts once."""
        counts = np.bincount(self._owners, minlength=len(self._datasets))
        return dict(zip(self._datasets, map(int, counts), strict=True))

    def meeting(self, texts: Sequence[str]) -> list[tuple[int, str]]:
        """The texts, by their place, that share a run of words with an evaluation text, and the
        dataset of that text.

        texts: texts that were trained on.
        """
        known = self._numbers
        words = [_WORD.findall(text.lower()) for text in texts]
        # A number of its own, never given, keeps runs from crossing from text to text.
        codes = np.fromiter(
            (code for row in words for code in (*map(known.get, row, [0] * len(row)), 0)),
            np.uint64,
        )
        hashes = run_hashes(codes)
        whole = np.convolve(codes == 0, np.ones(RUN, np.int64), "valid") == 0
        starts = np.nonzero(whole)[0]
        places = np.searchsorted(self._runs, hashes[starts])
        places = np.minimum(places, max(0, len(self._runs) - 1))
        hit = self._runs[places] == hashes[starts] if len(self._runs) else starts < 0
        ends = np.cumsum([len(row) + 1 for row in words])
        owners = np.searchsorted(ends, starts[hit], side="right")
        found = dict(zip(owners.tolist(), self._owners[places[hit]].tolist(), strict=True))
        return [(text, self._datasets[owner]) for text, owner in sorted(found.items())]


def run_hashes(codes: NDArray[np.uint64]) -> Hashes:
    """A number for every run of words.

    codes: the number of each word.
    """
    if len(codes) < RUN:
        return np.zeros(0, np.uint64)
    count = len(codes) - RUN + 1
    total = np.zeros(count, np.uint64)
    for step in range(RUN):
        total = total * _FACTOR + codes[step : step + count]
    return total ^ (total >> np.uint64(29))


def evaluated(shared: Path, names: Iterable[str]) -> EvaluationTexts:
    """The texts of the datasets of the evaluation.

    shared: the folder with `datasets/`. names: of the datasets.
    """
    from halldetect_bench.methods.method import documents
    from halldetect_bench.registry import load_dataset

    held = EvaluationTexts()
    for name in names:
        rows = load_dataset(name, shared / "datasets").rows
        texts = dict.fromkeys(text for row in rows for text in (*documents(row), row.response))
        held.add(name, texts)
    return held


def training_texts(file: Path) -> Iterator[str]:
    """The premises and claims of a file, each text once.

    file: xz-compressed JSON lines.
    """
    seen: set[int] = set()
    with lzma.open(file, "rt", encoding="utf-8") as lines:
        for line in lines:
            for text in _texts(json.loads(line)):
                key = hash(text)
                if key not in seen:
                    seen.add(key)
                    yield text


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def check(held: EvaluationTexts, files: Sequence[Path]) -> dict[str, Any]:
    """What meets what.

    held: what is evaluated on. files: what was trained on.
    """
    result: dict[str, Any] = {"run_of_words": RUN, "evaluated_runs": held.runs(), "files": {}}
    for file in files:
        count, meeting = 0, Counter[str]()
        examples: list[str] = []
        texts = training_texts(file)
        while batch := list(islice(texts, BATCH)):
            for place, dataset in held.meeting(batch):
                meeting[dataset] += 1
                if len(examples) < 5:
                    digest = hashlib.sha256(batch[place].encode()).hexdigest()[:16]
                    examples.append(f"{dataset}: {digest}")
            count += len(batch)
        result["files"][file.name] = {
            "sha256": hashlib.sha256(file.read_bytes()).hexdigest(),
            "texts": count,
            "meeting": dict(meeting),
            "examples": examples,
        }
        print(f"{file.name}: {count:,} texts, {sum(meeting.values())} meet {dict(meeting)}")
    result["leaks"] = sum(sum(item["meeting"].values()) for item in result["files"].values())
    return result


def main() -> int:
    """Run the command; 1 where a training text meets an evaluation text."""
    from benchmarks.evaluation import DATASETS

    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("shared", type=Path)
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    result = check(evaluated(options.shared, DATASETS), options.files)
    options.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return 1 if result["leaks"] else 0


if __name__ == "__main__":
    sys.exit(main())
