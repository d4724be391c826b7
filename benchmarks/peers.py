"""Compute our figures beside those of other detectors, on the same rows where theirs are public.

    python -m benchmarks.peers DATA PEERS --out benchmarks/results/peers.json
    halldetect bench report benchmarks/results/bench -o docs --readme README.md \\
        --peers benchmarks/results/peers.json

DATA holds the datasets as for `halldetect bench run`. PEERS holds clones of the repositories with
the outputs of other detectors, each in a folder of its own name: `vectara/FaithBench`,
`melaniesubbiah/storysumm`, `maszhongming/UniEval`, `kite99520/DialSummEval` and
`salesforce/factualNLG`. Ours come from stored results: the predictions in `--bench`, and
`base/report.json` and `large/report.json` beside it. `benchmarks/peers.toml` has the sets and the
figures that others published. The file has figures and digests, no text of a dataset or a peer.
"""

from __future__ import annotations

import argparse
import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from halldetect.config import PAPER_EXTRACTOR
from halldetect.models.integrity import digest_of
from halldetect_bench.datasets.edited_texts import SUMMEDITS_DOMAINS
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.datasets.peer_outputs import (
    OUTPUTS,
    SAME,
    Clones,
    Peers,
    digest_of_value,
    summedits_table,
)
from halldetect_bench.predictions import read_all, row_digest
from halldetect_bench.registry import load_dataset
from halldetect_bench.stats.evidence import Evidence, model_of
from halldetect_bench.stats.method_labels import model_name
from halldetect_bench.stats.resampling import (
    COMPARED,
    Rows,
    draw_documents,
    figure,
    figures,
    mean,
    rank_correlation,
)
from halldetect_bench.stats.selection import Settings, read_settings

if TYPE_CHECKING:
    from halldetect_bench.stats.resampling import Values

HERE = Path(__file__).parent
VERIFIERS = ("base", "large")
RANKS = "Spearman"
# The paper's metrics and datasets that we have; its methods, and ours, in the order of its table.
SHOWN = ("F1", "precision", "recall")
PAPER_DATASETS = ("qags-cnndm", "pubmedqa")
PAPER_METHODS = ("embedding", "nli-only", "llm-cot", "selfcheck", "paper", "halldetect")


class Ours:
    """Our stored results: predictions by row, and reports on the weights in the package."""

    def __init__(self, bench: Path) -> None:
        settings = read_settings(bench)
        self.evidence = Evidence(read_all(bench), settings)
        beside = bench.parent / "selfcheck"
        self.selfcheck = Evidence(read_all(beside), read_settings(beside))
        files = {name: bench.parent / name / "report.json" for name in VERIFIERS}
        self.reports = {name: json.loads(file.read_bytes()) for name, file in files.items()}
        self.digests = {f"{name}/report.json": digest_of(file) for name, file in files.items()}
        self.digests["bench"] = digest_of_results(bench)
        self.earlier = self.earlier_of(settings)
        papers = {
            model_name(model_of(header.method, "extractor")): label
            for label, header in self.evidence.headers.items()
            if header.method["name"] == "paper"
        }
        self.labels = {
            "base": self.evidence.reference,
            "large": self.evidence.find("halldetect", "large"),
            "paper": papers.get(PAPER_EXTRACTOR),
        }

    @staticmethod
    def earlier_of(settings: Settings) -> set[str]:
        """Return the verifiers whose predictions are of other weights than those in the package."""
        shipped, used = settings.shipped, settings.weights
        return {name for name, digest in shipped.items() if digest not in used.get(name, (digest,))}

    def scores(self, dataset: str) -> dict[str, dict[str, float]]:
        """Return the scores of `base`, `large` and the paper's method on a dataset."""
        known = self.evidence.scores
        return {
            name: known[label][dataset]
            for name, label in self.labels.items()
            if label is not None and dataset in known[label]
        }

    def reported(self, part: str, key: str, metric: str) -> list[dict[str, Any]]:
        """Return a figure of the reports on the weights in the package, with its rows."""
        found = []
        for name, report in self.reports.items():
            if (one := report[part].get(key)) is None:
                continue
            entry = {"value": round(counted(one)[0], 4)} if metric == "F1" else _stated(one, metric)
            rows = one.get("rows") or sum(
                part["rows"] for of, part in report["sentences"].items() if of.startswith(key)
            )
            found.append({"method": name, "earlier": False, "rows": rows} | entry)
        return found


def _stated(one: dict[str, Any], metric: str) -> dict[str, Any]:
    name = metric.replace(" ", "_").lower()
    low, high = one.get(f"{name.partition('_')[0]}_interval", (None, None))
    return {"value": one[name], "low": low, "high": high}


def digest_of_results(bench: Path) -> str:
    """Return the digest of the packed predictions in a folder of results."""
    files = sorted(bench.glob("*/*.xz"))
    return digest_of_value([(str(one.relative_to(bench)), digest_of(one)) for one in files])


def counted(one: dict[str, Any]) -> tuple[float, float, float]:
    """Return F1, precision and recall from the rates and numbers of a report."""
    found = round(one["recall"] * one["wrong"])
    false = round(one["false_alarms"] * (one["rows"] - one["wrong"]))
    return 2 * found / (found + false + one["wrong"]), found / (found + false), one["recall"]


def _entry(values: Values) -> dict[str, Any]:
    """Return a figure with its interval, rounded."""
    found = figure(values)
    return {name: round(getattr(found, name), 4) for name in ("value", "low", "high")}


def on_rows(name: str, metric: str, rows: Sequence[Row], scores: Mapping[str, float]) -> Values:
    """Return a metric of scores on rows, on every bootstrap sample of their documents."""
    weights = draw_documents(name, [row.document for row in rows])
    if metric == RANKS:
        human = [-(row.score or 0.0) for row in rows]
        return rank_correlation(human, [scores[row.id] for row in rows], weights)
    gold = np.array([bool(row.hallucinated) for row in rows])
    return figures(Rows(tuple(row.id for row in rows), gold, weights), scores)[metric]


def measured(
    name: str, metric: str, parts: Sequence[Sequence[Row]], ours: Ours, peers: Peers
) -> Any:
    """Return the figures of all detectors on the rows that all scored: means over the parts.

    The paper's method scored a sample of the larger sets; its figure is on that sample.
    """
    scores = ours.scores(name)
    paper = scores.pop("paper", {})
    systems = {**scores, **peers}
    known = set.intersection(*(set(one) for one in systems.values()))

    def figures_of(one: Mapping[str, float], rows: set[str]) -> Values:
        kept = [[row for row in part if row.id in rows] for part in parts]
        return mean([on_rows(f"{name}{at}", metric, part, one) for at, part in enumerate(kept)])

    values = {system: figures_of(one, known) for system, one in systems.items()}
    found = [
        {"method": one, "earlier": one in ours.earlier, "rows": len(known)} | _entry(values[one])
        for one in scores
    ]
    sample = known & set(paper)
    if sample and len(parts) == 1:
        earlier = {"method": "paper", "earlier": "base" in ours.earlier, "rows": len(sample)}
        found.append(earlier | _entry(figures_of(paper, sample)))
    return {
        "rows": len(known),
        "rows_sha256": digest_of_value(sorted(row_digest(row) for part in parts for row in part)),
        "ours": found,
        "peers": [
            {"peer": peer, "rows": SAME} | _entry(values[peer])
            | {"less": {one: _entry(values[one] - values[peer]) for one in scores}}
            for peer in peers
        ],
    }  # fmt: skip


def compare(one: dict[str, Any], data: Path, clones: Clones, ours: Ours) -> dict[str, Any]:
    """Return a set of `peers.toml` with our figures and those of the peers."""
    name, metric, published = one["name"], one["metric"], one.pop("published", [])
    if "report" in one:
        part, key = one.pop("report")
        return {**one, "ours": ours.reported(part, key, metric), "peers": published}
    parts = (
        [f"summedits-{domain}" for domain in SUMMEDITS_DOMAINS] if name == "summedits" else [name]
    )
    rows = [load_dataset(part, data).rows for part in parts]
    peers: Peers = {}
    if name in OUTPUTS:
        peers = OUTPUTS[name](clones, one["outputs"], rows[0])
    elif "outputs" in one:
        published = summedits_table(clones, one["outputs"])
    found = measured(name, metric, rows, ours, peers)
    if metric in COMPARED and len(parts) == 1:
        reported = ours.reported("responses", name, metric)
        found["ours"] += [now for now in reported if now["method"] in ours.earlier]
    ranked = sorted([*found["peers"], *published], key=lambda peer: -peer["value"])
    return {**one, **found, "peers": ranked}


def paper_table(ours: Ours, theirs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the paper's table, then our runs of its methods, then ours on the same datasets."""
    table = [{"of": "published", **one} for one in theirs]
    for name in PAPER_METHODS:
        evidence = ours.selfcheck if name == "selfcheck" else ours.evidence
        labels = [one for one, header in evidence.headers.items() if header.method["name"] == name]
        for label in labels:
            if name == "halldetect" and label not in ours.labels.values():
                continue
            line: dict[str, Any] = {"of": name, "method": label}
            for dataset in PAPER_DATASETS:
                found = evidence.compare({dataset: evidence.scores[label].get(dataset, {})})
                if found is not None:
                    cells = [found.by_dataset[dataset][metric].value for metric in SHOWN]
                    line[dataset] = [*(one and round(one, 4) for one in cells), found.rows]
            table.append(line)
    for name in sorted(ours.earlier):
        one = ours.reports[name]["responses"]["qags-cnndm"]
        cells = [*(round(value, 4) for value in counted(one)), one["rows"]]
        table.append({"of": "report", "method": name, "qags-cnndm": cells})
    return table


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the options, compute all figures and write them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("peers", type=Path)
    parser.add_argument("--bench", type=Path, default=HERE / "results" / "bench")
    parser.add_argument("--out", type=Path, default=HERE / "results" / "peers.json")
    options = parser.parse_args(arguments)
    listed = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    ours, clones = Ours(options.bench), Clones(options.peers)
    sets = [compare(one, options.data, clones, ours) for one in listed["set"]]
    found = {
        "results": ours.digests,
        "peers": clones.digests,
        "sets": sets,
        "paper": paper_table(ours, listed["paper"]),
    }
    options.out.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
