"""The page on the paper: its commands parse, its files exist, its figures are in their files."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import fmean
from typing import Any

import pytest

from halldetect import Detector, Verdict
from halldetect.cli import build_parser
from halldetect.machine.catalogue import ENTRIES
from halldetect.paper import prompt
from halldetect.paper.extract import claim_limit
from halldetect.paper.gguf import CONTEXT
from halldetect.paper.prompt import MAX_NEW_TOKENS, TEMPERATURE
from halldetect.paper.windows import GRANULARITIES
from halldetect.protocols import Draft
from halldetect.verification.presets import check_verifier_name
from halldetect_bench.datasets.labelled_rows import Row as LabelledRow
from halldetect_bench.methods.halldetect_method import HallDetect
from halldetect_bench.packed import read_packed
from halldetect_bench.predictions import Prediction, Results
from halldetect_bench.registry import DATASETS, METHODS
from halldetect_bench.stats.classification_metrics import auroc
from tests.support.fakes import OverlapVerifier
from tests.support.paths import ROOT

RESULTS = ROOT / "benchmarks" / "results"
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
HEAD = ["The paper says", "Here", "Result", "Differs how and why"]
# Rows that cannot be run, or have no figure yet: a row that gets one leaves this list.
MISSING = [
    "Backbones",
    "NLI model",
    "VRAM",
    "FalseSum",
    "Table 1, QAGS-CNN/DM",
    "Table 2, TofuEval",
    "Table 3, FalseSum",
    "Table 4, PubMedQA",
    "Stability across backbones",
    "Threshold-free evaluation",
    "Other fact-checkers",
    "Confounded ablation",
    "Wall clock and energy",
    "One long-context call",
    "Claim grouping",
    "Closed-loop regeneration",
]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the ledger."""

    name: str
    says: str
    here: str
    result: str
    differs: str


def rows() -> list[Row]:
    """Return the rows of all tables; each begins with its name in bold."""
    found = []
    for line in PAGE.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split(" | ")]
        if not line.startswith("|") or cells == HEAD or set(line) <= set("|- "):
            continue
        assert len(cells) == len(HEAD), line
        name = re.match(r"\*\*(.+?)\*\*: ", cells[0])
        assert name is not None, line
        found.append(Row(name[1], *cells))
    return found


ROWS = rows()


@cache
def stored(folder: str) -> list[Results]:
    return read_packed(RESULTS / folder)


def one(folder: str, method: str, verifier: str | None = None) -> Results:
    """Return the predictions of a method in a folder of a dataset."""
    (found,) = [
        item
        for item in stored(folder)
        if item.header.method["name"] == method
        and (verifier is None or item.header.method["verifier"]["name"] == verifier)
    ]
    return found


def scored(item: Results) -> list[Prediction]:
    return [row for row in item.predictions if row.score is not None]


@dataclass(frozen=True, slots=True)
class Counts:
    """The verdicts at 0.5, counted here once more, without the statistics of the report."""

    right_flagged: int
    flagged: int
    wrong: int
    rows: int

    @property
    def f1(self) -> float:
        return 2 * self.right_flagged / (self.flagged + self.wrong)

    @property
    def precision(self) -> float:
        return self.right_flagged / self.flagged

    @property
    def recall(self) -> float:
        return self.right_flagged / self.wrong

    @property
    def balanced(self) -> float:
        passed = (self.rows - self.wrong) - (self.flagged - self.right_flagged)
        return (self.recall + passed / (self.rows - self.wrong)) / 2


def counts(predictions: Sequence[Prediction]) -> Counts:
    flagged = [row for row in predictions if row.score is not None and row.score >= 0.5]
    return Counts(
        sum(row.gold is True for row in flagged),
        len(flagged),
        sum(row.gold is True for row in predictions),
        len(predictions),
    )


def f1(folder: str, method: str, verifier: str | None = None) -> list[str]:
    found = counts(scored(one(folder, method, verifier)))
    return [f"{found.f1:.3f}", f"{found.rows:,} rows"]


def paper_rows() -> list[Prediction]:
    """Return all predictions of the paper's method."""
    folders = sorted(path.name for path in (RESULTS / "paper").iterdir() if path.is_dir())
    return [row for name in folders for row in one(f"paper/{name}", "paper").predictions]


def passes() -> list[str]:
    spent = [row.cost["generative_passes"] for row in paper_rows()]
    return [f"{fmean(spent):.1f} passes", f"{len(spent)} responses"]


def cost_table() -> list[str]:
    """Return what the paper's method and a prompted judge spend for a response."""
    ours = [row.cost for row in paper_rows()]
    folder = "bench/qags-cnndm"
    judged = [row.cost for row in one(folder, "llm-cot").predictions]
    samples = [row.cost for row in one("selfcheck/qags-cnndm", "selfcheck").predictions]

    def mean(costs: list[dict[str, Any]], key: str) -> float:
        return fmean(cost.get(key, 0) for cost in costs)

    return [
        f"{mean(ours, 'generative_passes'):.1f} passes",
        f"{mean(ours, 'pairs_judged'):.1f} pairs",
        f"{mean(ours, 'extractor_tokens_in'):,.0f} tokens read by the language model",
        f"`llm-cot` {mean(judged, 'generative_passes'):.1f} passes",
        f"{mean(judged, 'extractor_tokens_in'):,.0f} tokens",
        f"`selfcheck` {mean(samples, 'generative_passes'):.1f} passes",
    ]


def tofueval() -> list[str]:
    texts = []
    for verifier in ("base", "large"):
        kept = [
            row
            for row in scored(one("rag/clearfacts", "halldetect", verifier))
            if (row.kind or "").startswith("TofuEval")
        ]
        found = counts(kept)
        texts += [
            f"`{verifier}` {found.f1:.3f} and {found.balanced:.3f}",
            f"{found.rows} sentences",
        ]
    return texts


def table(dataset: str) -> list[str]:
    """Return F1, precision and recall of the paper's method and of the default on its rows."""
    folder = f"paper/{dataset}"
    cells = [("paper", "base"), ("halldetect", "base"), ("halldetect", "large")]
    texts = []
    for method, verifier in cells:
        found = counts(scored(one(folder, method, verifier)))
        texts.append(f"{found.f1:.3f} / {found.precision:.3f} / {found.recall:.3f}")
        texts.append(f"{found.rows} rows")
    return texts


def curves() -> list[str]:
    texts = []
    for dataset in ("qags-cnndm", "pubmedqa"):
        found = scored(one(f"paper/{dataset}", "paper"))
        area = auroc([row.gold is True for row in found], [row.score or 0.0 for row in found])
        texts += [f"AUROC {area:.3f}", f"recall {counts(found).recall:.3f}"]
    return texts


def parts_judged() -> list[str]:
    """Return the pairs of a response; no claim may meet more than 31 windows."""
    found = paper_rows()
    assert all(row.cost["pairs_judged"] <= 31 * 10 for row in found)
    return [f"{max(row.cost['pairs_judged'] for row in found)} pairs at most"]


def settings() -> dict[str, Any]:
    """Return what the stored predictions of the paper's method say of themselves."""
    headers = [one(f"paper/{name}", "paper").header.method for name in ("qags-cnndm", "pubmedqa")]
    assert headers[0] == headers[1]
    return headers[0]


def models(method: str, folder: str) -> list[str]:
    """Return the names of the models behind a stored method."""
    described = one(folder, method).header.method
    digests = {entry.sha256: entry.name for entry in ENTRIES}
    texts = []
    if "llm" in described:
        texts += [digests[described["llm"]["digest"].removeprefix("sha256:")]]
        texts += [described["llm"]["precision"]]
    if "embedder" in described:
        texts.append(described["embedder"]["name"])
    return [f"`{text}`" for text in texts]


def whole_pair() -> list[str]:
    """Return the figures of one judgement of the whole texts, and what `base` reads at once."""
    folder = "bench/qags-cnndm"
    room = one(folder, "nli-only", "base").header.method["verifier"]["max_tokens"]
    return [
        *f1(folder, "nli-only", "base"),
        *f1(folder, "nli-only", "large"),
        f"reads {room} tokens",
    ]


def embedded() -> list[str]:
    found = one("bench/qags-cnndm", "embedding")
    room = found.header.method["embedder"]["context"]
    return [
        *f1("bench/qags-cnndm", "embedding"),
        *models("embedding", "bench/qags-cnndm"),
        f"reads {room} tokens",
    ]


def memory() -> list[str]:
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    return re.findall(r"Peak memory after the first check: (\d+ MiB)", page)


def ablated() -> list[str]:
    """Return recall of one judgement of the whole, and of the paper's method, on the same rows."""
    ours = scored(one("paper/qags-cnndm", "paper"))
    kept = {row.id for row in ours}
    whole = [row for row in scored(one("bench/qags-cnndm", "nli-only", "base")) if row.id in kept]
    assert len(whole) == len(ours)
    return [
        f"{counts(whole).recall:.3f} to {counts(ours).recall:.3f}",
        f"{len(ours)} rows",
    ]


def in_results_page(*patterns: str) -> Callable[[], list[str]]:
    """Return figures of docs/results.md, which `bench report` writes from the predictions."""

    def found() -> list[str]:
        page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
        return [text for pattern in patterns for text in re.findall(pattern, page)]

    return found


def aggrefact() -> list[str]:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"ClearFacts.*?(\d+) rows \| balanced accuracy \| (\S+) \| (\S+) \|", readme)
    assert found is not None
    return [f"{found[1]} rows", f"{found[2]} with `base`", f"{found[3]} with `large`"]


def knowledge() -> list[str]:
    found = json.loads((RESULTS / "knowledge.json").read_text("utf-8"))["recall"]["wice"]
    return [f"{found['evidence_at_5']:.3f}", f"{found['claims']} claims"]


FIGURES: dict[str, Callable[[], list[str]]] = {
    "Phase I, claims": passes,
    "Quantization": lambda: [
        f"{sum('q4_k_m' in entry.filename.lower() for entry in ENTRIES)} of {len(ENTRIES)}"
    ],
    "Context window": lambda: [f"{CONTEXT}", f"{settings()['extractor']['model_context']}"],
    "CPU threads": lambda: [f"{settings()['configuration']['threads']} thread"],
    "Sampling temperature": lambda: [f"{TEMPERATURE}", f"{settings()['extractor']['temperature']}"],
    "Max new tokens": lambda: [f"{MAX_NEW_TOKENS}"],
    "Claim cap": lambda: [f"{claim_limit(1)}, {claim_limit(2)} and {claim_limit(3)}"],
    "Inference": parts_judged,
    "Granularities": lambda: [", ".join(map(str, GRANULARITIES))],
    "VRAM": memory,
    "NLI Only": whole_pair,
    "LLM CoT": lambda: [*f1("bench/qags-cnndm", "llm-cot"), *models("llm-cot", "bench/qags-cnndm")],
    "SelfCheck": lambda: [
        *f1("selfcheck/qags-cnndm", "selfcheck"), *models("selfcheck", "selfcheck/qags-cnndm"),
    ],
    "QwenScore": embedded,
    "QAGS-CNN/DM": lambda: [*f1("bench/qags-cnndm", "halldetect", "base"),
                            *f1("bench/qags-cnndm", "halldetect", "large")],
    "TofuEval": tofueval,
    "PubMedQA": lambda: [*f1("bench/pubmedqa", "halldetect", "base"),
                         *f1("bench/pubmedqa", "halldetect", "large")],
    "Table 1, QAGS-CNN/DM": lambda: table("qags-cnndm"),
    "Table 2, TofuEval": lambda: [],
    "Table 4, PubMedQA": lambda: table("pubmedqa"),
    "Threshold-free evaluation": curves,
    "Cost table": cost_table,
    "Localized errors": in_results_page(
        r"qags-cnndm (0\.\d+) \(\d+ sentences\)", r"wice (0\.\d+) \(\d+ sentences\)"
    ),
    "Other fact-checkers": lambda: f1("bench/qags-cnndm", "minicheck-style"),
    "Confounded ablation": ablated,
    "Wall clock and energy": in_results_page(
        r"\| qags-cnndm \| halldetect base \| \d+ \| (\S+) \|",
        r"\| qags-cnndm \| halldetect large \| \d+ \| (\S+) \|",
    ),
    "One long-context call": lambda: f1("bench/qags-cnndm", "long-context"),
    "Claim grouping": in_results_page(r"It reads (\d+ tokens) for a response instead of (?:\d+)"),
    "Single runs and suites": aggrefact,
    "Extrinsic claims": knowledge,
}  # fmt: skip


def by_name(name: str) -> Row:
    (found,) = [row for row in ROWS if row.name == name]
    return found


def commands() -> list[tuple[str, str]]:
    return [
        (row.name, command)
        for row in ROWS
        for command in re.findall(r"`(halldetect [^`]+)`", " ".join((row.here, row.differs)))
    ]


def test_ledger_has_all_rows_once() -> None:
    names = [row.name for row in ROWS]
    assert 35 <= len(names) <= 50
    assert len(set(names)) == len(names)
    assert all(cell for row in ROWS for cell in (row.here, row.result, row.differs))


def test_missing_rows_are_those_of_the_list() -> None:
    assert [row.name for row in ROWS if row.result.startswith("**missing**: ")] == MISSING
    assert len(re.findall(r"\*\*missing\*\*", PAGE)) == len(MISSING) + 1  # the explanation
    assert f"{len(MISSING)} of {len(ROWS)} rows" in PAGE


@pytest.mark.parametrize(("row", "command"), commands())
def test_command_parses(row: str, command: str) -> None:
    arguments = vars(build_parser().parse_args(shlex.split(command)[1:]))
    assert set(arguments.get("dataset") or []) <= set(DATASETS)
    assert set(arguments.get("method") or []) <= set(METHODS)
    check_verifier_name(arguments.get("verifier"))
    for model in {arguments.get("extractor"), arguments.get("llm")} - {None, "sentences"}:
        assert model in {entry.name for entry in ENTRIES}


def test_files_exist() -> None:
    named = re.findall(r"`((?:tests|benchmarks|docs|src)/[^`]+|NOTICE)`", PAGE)
    assert len(named) > 20
    assert [path for path in named if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("name", FIGURES)
def test_figures_are_those_of_the_files(name: str) -> None:
    row = by_name(name)
    for text in FIGURES[name]():
        assert text in f"{row.result} {row.differs}", text


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_result_is_computed_or_shown_by_a_test(row: Row) -> None:
    computed = " ".join(FIGURES[row.name]()) if row.name in FIGURES else ""
    for number in re.findall(r"\d+\.\d+", re.sub(r"`[^`]*`", "", row.result)):
        assert number in computed, number
    if row.name not in MISSING:
        assert row.name in FIGURES or re.search(r"`(?:tests/|NOTICE)|\.md\)", row.result)


def test_what_stands_against_us_comes_first() -> None:
    """Compare on the shared rows; when the default wins, the page must say something else."""
    figures = {}
    for method, verifier in (("paper", "base"), ("halldetect", "base"), ("halldetect", "large")):
        found = scored(one("paper/qags-cnndm", method, verifier))
        area = auroc([row.gold is True for row in found], [row.score or 0.0 for row in found])
        figures[method, verifier] = (counts(found).f1, counts(found).balanced, area)
    (f1_paper, balanced_paper, area_paper) = figures["paper", "base"]
    (f1_base, balanced_base, area_base) = figures["halldetect", "base"]
    opening = PAGE.partition("## ")[0]
    assert f1_base < f1_paper
    assert f"F1 {f1_base:.3f} against {f1_paper:.3f}" in opening
    assert f"accuracy is {balanced_base:.3f} against {balanced_paper:.3f}" in opening
    assert f"AUROC {area_base:.3f} against {area_paper:.3f}" in opening
    assert f"with `large` has F1 {figures['halldetect', 'large'][0]:.3f}" in opening


@pytest.mark.parametrize(
    ("name", "dataset"),
    [
        ("Table 1, QAGS-CNN/DM", "qags-cnndm"),
        ("Table 2, TofuEval", "tofueval"),
        ("Table 3, FalseSum", "falsesum"),
        ("Table 4, PubMedQA", "pubmedqa"),
    ],
)
def test_figures_of_the_paper_are_those_of_the_comparison(name: str, dataset: str) -> None:
    published = json.loads((RESULTS / "peers.json").read_text("utf-8"))["paper"]
    for model in ("Mistral-7B", "Llama-3.1-8B", "Gemma-2-9B"):
        (found,) = [item for item in published if item["method"] == f"HallDetect, {model}"]
        assert f"{found[dataset][0]:.3f}" in by_name(name).says


class OneClaim:
    """Writes a claim of the first sentence only."""

    description: dict[str, Any] = {"name": "one claim"}  # noqa: RUF012

    def draft(self, response: str, limit: int) -> Draft:
        return Draft(("Bob left Rome",), 1)


def test_a_sentence_without_a_claim_has_the_score_of_the_others() -> None:
    """The bench counts the score that the check reports, below the threshold too."""
    source, response = "Bob left Rome.", "Bob left Rome. Ann sold a boat."
    detector = Detector.paper(OneClaim(), OverlapVerifier())
    report = detector.check(source, response)
    (counted,) = HallDetect(detector, "paper").score_many(
        [LabelledRow("d", "1", source, response, True)]
    )
    assert report.verdict is Verdict.UNCHECKABLE
    assert report.score is not None
    assert report.score < 0.5
    assert counted.score == report.score == report.fed_score


def test_equal_lines_of_an_answer_are_one_claim() -> None:
    """The deviation that the page names: when this fails, the row must change."""
    answer = "Bob left Rome.\n- Bob left Rome.\nAnn sold a boat."
    assert prompt.parse(answer, 10) == ("Bob left Rome.", "Ann sold a boat.")
