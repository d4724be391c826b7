"""The quality that the README states is what the files it names give."""

from __future__ import annotations

import re
from statistics import mean

from halldetect_bench.predictions import read
from halldetect_bench.stats.classification_metrics import at_threshold, auroc
from tests.support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
SIX = ("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test")


def stated(row: str) -> list[float]:
    """The numbers of the table's row that begins so."""
    (line,) = re.findall(rf"^\| {row}[^|]*\|(.*)\|$", README, re.MULTILINE)
    return [float(cell) for cell in line.split("|")]


def measured(dataset: str) -> list[float]:
    """Precision, recall, F1, balanced accuracy and AUROC, from the file that the README names."""
    (pattern,) = re.findall(r"`benchmarks/results/bench/\*/([\w.-]+)`", README)
    rows = read(ROOT / "benchmarks" / "results" / "bench" / dataset / pattern).predictions
    scored = [(row.gold, row.score) for row in rows if row.score is not None]
    gold, scores = [bool(truth) for truth, _ in scored], [score for _, score in scored]
    cut = at_threshold(gold, scores)
    figures = [cut.precision, cut.recall, cut.f1, cut.balanced_accuracy, auroc(gold, scores)]
    return [float(figure) for figure in figures if figure is not None]


def test_the_table_is_that_of_the_files() -> None:
    found = {dataset: measured(dataset) for dataset in SIX}
    assert [round(figure, 3) for figure in found["qags-cnndm"]] == stated("QAGS-CNN/DM")
    means = [mean(figures) for figures in zip(*found.values(), strict=True)]
    assert [round(figure, 3) for figure in means] == stated("mean of")
