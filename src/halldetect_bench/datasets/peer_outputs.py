"""What other detectors said about rows of our datasets, from clones of their repositories."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from halldetect.errors import InputError
from halldetect.machine.integrity import digest_of
from halldetect_bench.datasets.edited_texts import SUMMEDITS_DOMAINS
from halldetect_bench.datasets.labelled_rows import Row

# The scores by the name of a detector, then by the id of a row; higher is more hallucinated.
Peers = dict[str, dict[str, float]]
# The names of detectors by their names in the files of a repository.
Names = Mapping[str, str]


class Clones:
    """The files of other repositories, with a digest of those that were read of each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, dict[str, str]] = {}

    def text(self, repository: str, path: str) -> str:
        """Return the content of a file of a repository."""
        file = self.folder / repository.rpartition("/")[2] / path
        if not file.is_file():
            raise InputError(f"{file} does not exist: clone github.com/{repository} there")
        self._read.setdefault(repository, {})[path] = digest_of(file)
        return file.read_text(encoding="utf-8")

    @property
    def digests(self) -> dict[str, str]:
        """The digest of all files that were read, by repository."""
        return {
            name: json_digest(sorted(read.items())) for name, read in sorted(self._read.items())
        }


def json_digest(value: Any) -> str:
    """Return the digest of a value as JSON."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


def faithbench(clones: Clones, name: str, names: Names, rows: Sequence[Row]) -> Peers:
    """Return what FaithBench's own detectors said, by the texts of a row."""
    ids = {(str(row.source).strip(), row.response): row.id for row in rows}
    found: Peers = {title: {} for title in names.values()}
    for batch in (*range(1, 13), *range(14, 17)):
        text = clones.text(name, f"data_for_release/batch_{batch}.json")
        for sample in json.loads(text)["samples"]:
            row = ids[sample["source"].strip(), sample["summary"].strip()]
            for field, title in names.items():
                if (value := sample["metadata"][field]) is not None:
                    found[title][row] = 1 - value
    return found


def storysumm(clones: Clones, name: str, names: Names, rows: Sequence[Row]) -> Peers:
    """Return the labels of detectors on StorySumm, or their scores where there is no label."""
    found: Peers = {}
    for file, title in names.items():
        told = json.loads(clones.text(name, f"evaluators/predicted_labels/{file}.json"))
        label = "label" if "label" in next(iter(told.values())) else "probs"
        found[title] = {row: 1 - one[label] for row, one in told.items()}
    return found


def unieval(clones: Clones, name: str, names: Names, rows: Sequence[Row]) -> Peers:
    """Return UniEval's scores on QAGS-CNN/DM, which are in the order of the dataset."""
    told = json.loads(clones.text(name, "reproduce/unieval_predict/fact/qags_cnndm_result.json"))
    if [_letters(one["system_output"]) for one in told] != [_letters(row.response) for row in rows]:
        raise InputError(f"the summaries of {name} are not those of the dataset")
    scores = [1 - one["predict_scores"]["consistency"] for one in told]
    return {names["consistency"]: dict(zip((row.id for row in rows), scores, strict=True))}


def dialsummeval(clones: Clones, name: str, names: Names, rows: Sequence[Row]) -> Peers:
    """Return the metrics of DialSummEval, one file for each system; summaries name the rows."""
    found: Peers = {title: {} for title in names.values()}
    for system in sorted({row.id.rpartition("/")[2] for row in rows}):
        folder = f"reproduce/analysis/models_eval_new/{system}"
        ids = {_letters(row.response): row.id for row in rows if row.id.endswith(f"/{system}")}
        lines = clones.text(name, f"{folder}/summs.txt").splitlines()
        for column, title in names.items():
            file = f"{folder}/{column.partition('_')[0]}.csv"
            table = csv.DictReader(clones.text(name, file).splitlines())
            for line, one in zip(lines, table, strict=True):
                found[title][ids[_letters(line)]] = -float(one[column])
    return found


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


OUTPUTS: dict[str, Callable[[Clones, str, Names, Sequence[Row]], Peers]] = {
    "faithbench": faithbench,
    "storysumm": storysumm,
    "qags-cnndm": unieval,
    "dialsummeval": dialsummeval,
}


def summedits(clones: Clones, name: str, names: Names) -> list[dict[str, Any]]:
    """Return the means over our domains of the table that SummEdits' publishers keep."""
    lines = re.findall(r"^\|(.+)\|$", clones.text(name, "README.md"), re.MULTILINE)
    table = [[cell.strip() for cell in line.split("|")] for line in lines]
    places = [_letters(title) for title in table[0]]
    columns = [places.index(_letters(domain)) for domain in SUMMEDITS_DOMAINS]
    means = {line[0]: fmean([float(line[at]) for at in columns]) for line in table[2:]}
    return [
        {"peer": title, "value": round(means[row] / 100, 4), "rows": "the same rows"}
        for row, title in names.items()
    ]
