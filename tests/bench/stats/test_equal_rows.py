"""Means leave development sets out, costs are of equal rows, and siblings of training sets show."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.evaluation import DATASETS as evaluated
from halldetect_bench.datasets.labelled_rows import trained_on
from halldetect_bench.predictions import Results
from halldetect_bench.registry import DATASETS
from halldetect_bench.report import csv_files, readme_text, summary
from halldetect_bench.stats.cost import timed
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.selection import Settings
from halldetect_bench.stats.tables import Tables
from tests.support.bench_fakes import COST, make_results
from tests.support.paths import ROOT

GOLD: list[bool | None] = [True, False] * 20
GOOD: list[float | None] = [0.9 if n % 2 == 0 else 0.1 for n in range(40)]
BAD: list[float | None] = [0.1 if n % 2 == 0 else 0.9 for n in range(40)]
RESULTS = ROOT / "benchmarks" / "results"
# Training sets, and evaluation sets whose texts come from the same corpus.
CORPORA = {
    "cnndm_sample": ("qags-cnndm", "summeval", "bump"),
    "defacto": ("xsumfaith",),
    "scitldr": ("summedits", "summedits-scitldr"),
    "factcheckgpt": ("llm-aggrefact", "clearfacts"),
}


def costing(results: Results, tokens: list[int]) -> Results:
    """Return results whose rows cost the given tokens; further rows cost a thousand."""
    told = [*tokens, *[1000] * (len(results.predictions) - len(tokens))]
    return replace(
        results,
        predictions=tuple(
            replace(item, cost={**COST, "verifier_tokens": count})
            for item, count in zip(results.predictions, told, strict=True)
        ),
    )


def evidence() -> Evidence:
    """Two methods: the second is better on the development set and worse on the test set."""
    return Evidence(
        [
            make_results("qags-cnndm", "halldetect", GOOD, GOLD, verifier={"name": "base"}),
            make_results("qags-cnndm", "nli-only", BAD, GOLD, verifier={"name": "base"}),
            make_results("dev", "halldetect", BAD, GOLD, verifier={"name": "base"}),
            make_results("dev", "nli-only", GOOD, GOLD, verifier={"name": "base"}),
        ],
        Settings(development=("dev",)),
        samples=10,
    )


def test_means_and_gains_leave_development_sets_out() -> None:
    found = evidence()
    scope = found.on_all_rows
    ours, other = found.methods
    assert (scope.shared, scope.development, scope.count) == (("qags-cnndm",), ("dev",), 40)
    assert [scope.mean(name, "AUROC").value for name in found.methods] == [1.0, 0.0]
    assert scope.mean(other, "AUROC", scope.development).value == 1.0
    compared = found.compare(found.scores[other], found.scores[ours])
    assert compared is not None
    assert (compared.rows, compared.means["AUROC"].value) == (40, 1.0)
    assert compared.by_dataset["dev"]["AUROC"].value == -1.0


def test_development_sets_alone_are_shown() -> None:
    one = make_results("dev", "a", GOOD, GOLD)
    scope = Evidence([one], Settings(development=("dev",)), samples=10).on_shared_rows
    assert (scope.shared, scope.development) == (("dev",), ())


def test_report_names_the_development_sets() -> None:
    tables = Tables(evidence())
    text = summary(tables)
    assert "Means over 1 datasets, on the 40 rows" in text
    assert "chosen, have a mean of their own: dev" in text
    assert "The 1 development sets are left out." in readme_text(tables)
    rows = csv.DictReader(csv_files(tables)["quality.csv"].splitlines())
    means = {
        row["dataset"]: (row["rows"], row["AUROC"])
        for row in rows
        if (row["rows of"], row["method"]) == ("all", "nli-only") and "mean" in row["dataset"]
    }
    assert means == {
        "mean": ("80", "0.5"),
        "mean of test sets": ("40", "0.0"),
        "mean of development sets": ("40", "1.0"),
    }


def test_tokens_are_of_the_rows_of_the_means() -> None:
    first = costing(make_results("d", "a", GOOD, GOLD), [100] * 20)
    second = costing(make_results("d", "b", GOOD[:20], GOLD[:20]), [50] * 20)
    costs = Tables(Evidence([first, second], samples=10)).costs
    assert {name: (one.rows, one.counted["verifier tokens"]) for name, one in costs.items()} == {
        "a": (20, 100),
        "b": (20, 50),
    }


def test_times_are_of_rows_that_every_method_has() -> None:
    long = costing(make_results("d", "halldetect", GOOD, GOLD), [10] * 6)
    short = costing(make_results("d", "nli-only", GOOD[:6], GOLD[:6]), [5] * 6)
    found = timed(Evidence([], latency={"latency-cpu": [long, short]}))
    assert {(one.cost.rows, one.cost.counted["verifier tokens"]) for one in found} == {
        (6, 10),
        (6, 5),
    }


def test_sets_with_trained_siblings_have_a_dagger() -> None:
    text = (RESULTS / "large" / "data.md").read_text(encoding="utf-8")
    trained = re.findall(r"^\| (\w+) \| [\d,]+ \|", text, re.MULTILINE)
    siblings = {
        name
        for name in DATASETS
        if any(one.startswith(name.partition("-")[0]) for one in [*trained, "ragtruth"])
    }
    assert {"wice", "pubmedqa", "defacto-test", "halueval"} <= siblings
    assert {name for name in siblings if trained_on(name) is None} == set()
    same_corpus = {name for one in CORPORA.keys() & set(trained) for name in CORPORA[one]}
    assert same_corpus == {name for names in CORPORA.values() for name in names}
    assert {name for name in same_corpus if trained_on(name) is None} == set()
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"([\w-]+)†", page))
    assert shown == {name for name in evaluated if trained_on(name)}


@pytest.mark.parametrize("verifier", ["base", "large"])
def test_weights_before_were_measured_on_the_same_rows(verifier: str) -> None:
    now, before = (
        json.loads(Path(RESULTS / verifier / f"{name}.json").read_text("utf-8"))
        for name in ("report", "before")
    )
    assert now["rows_sha256"] == before["rows_sha256"]
    counts = [
        {name: one["rows"] for name, one in part["responses"].items()} for part in (now, before)
    ]
    # The earlier weights have not judged a development set of the new ones' training.
    assert counts[0] == {"dev-conclusions": 292} | counts[1]
