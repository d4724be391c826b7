"""Compute our figures beside those of other detectors, on the same rows where theirs are public.

    python -m benchmarks.peers DATA PEERS --out benchmarks/results/peers.json
    halldetect bench report benchmarks/results/bench -o docs --readme README.md \\
        --peers benchmarks/results/peers.json

PEERS holds clones of the repositories that `benchmarks/peers.toml` names; it also has what others
published. Ours come from `benchmarks/results`: predictions by row in `bench`, figures in
`base/report.json` and `large/report.json`. The file holds figures and digests, no texts.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.store import RESULTS, command, store
from halldetect.machine.integrity import digest_of
from halldetect_bench.datasets.edited_texts import SUMMEDITS_DOMAINS
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.datasets.peer_outputs import OUTPUTS, Clones, Peers, json_digest, summedits
from halldetect_bench.predictions import row_digest
from halldetect_bench.registry import load_dataset
from halldetect_bench.results_folder import read_all
from halldetect_bench.stats import resampling
from halldetect_bench.stats.evidence import Evidence
from halldetect_bench.stats.selection import read_settings

HERE = Path(__file__).parent
VERIFIERS = ("base", "large")
# The paper's metrics and datasets that we have; its methods, and ours, in the order of its table.
SHOWN = ("F1", "precision", "recall")
PAPER_DATASETS = ("qags-cnndm", "pubmedqa")
APART = ("selfcheck", "paper")  # folders of methods that scored a part of the rows
PAPER_METHODS = ("embedding", "nli-only", "llm-cot", "selfcheck", "paper", "halldetect")


class Ours:
    """Our stored results: predictions by row, and reports on the weights in the package."""

    def __init__(self) -> None:
        bench = RESULTS / "bench"
        settings = read_settings(bench)
        self.evidence = Evidence(read_all(bench), settings)
        self.apart = {
            name: Evidence(read_all(RESULTS / name), read_settings(RESULTS / name))
            for name in APART
        }
        files = {name: RESULTS / name / "report.json" for name in VERIFIERS}
        self.reports = {name: json.loads(file.read_bytes()) for name, file in files.items()}
        self.digests = {f"{name}/report.json": digest_of(file) for name, file in files.items()}
        self.digests["bench"] = digest_of_results(bench)
        # Verifiers whose predictions are of other weights than those in the package.
        self.earlier = settings.newer.keys()
        self.labels = {
            "base": self.evidence.reference,
            "large": self.evidence.find("halldetect", "large"),
        }

    def scores(self, dataset: str) -> Peers:
        """Return the scores of `base`, `large` and the paper's method on a dataset."""
        scores = self.evidence.scores
        known = {of: scores.get(label or "", {}) for of, label in self.labels.items()}
        known["paper"] = self.apart["paper"].scores.get("paper", {})
        return {of: one[dataset] for of, one in known.items() if dataset in one}

    def reported(self, part: str, key: str, metric: str) -> list[dict[str, Any]]:
        """Return a figure of the reports on the weights in the package, with its rows."""
        name = metric.replace(" ", "_").lower()
        found = []
        for method, one in (
            (method, report[part].get(key)) for method, report in self.reports.items()
        ):
            if one is not None:
                value = round(counted(one)[0], 4) if metric == "F1" else one[name]
                low, high = one.get(f"{name.partition('_')[0]}_interval", (None, None))
                entry = {"method": method, "earlier": False, "rows": one.get("rows")}
                found.append(entry | {"value": value, "low": low, "high": high})
        return found


def digest_of_results(bench: Path) -> str:
    """Return the digest of the packed predictions in a folder of results."""
    files = sorted(bench.glob("*/*.xz"))
    return json_digest([(str(one.relative_to(bench)), digest_of(one)) for one in files])


def counted(one: dict[str, Any]) -> tuple[float, float, float]:
    """Return F1, precision and recall from the rates and numbers of a report."""
    found = round(one["recall"] * one["wrong"])
    false = round(one["false_alarms"] * (one["rows"] - one["wrong"]))
    return 2 * found / (found + false + one["wrong"]), found / (found + false), one["recall"]


def _entry(values: resampling.Values) -> dict[str, Any]:
    """Return a figure with its interval, rounded."""
    found = resampling.figure(values)
    return {name: round(getattr(found, name), 4) for name in ("value", "low", "high")}


def on_rows(
    name: str, metric: str, rows: Sequence[Row], scores: Mapping[str, float]
) -> resampling.Values:
    """Return a metric of scores on rows, on every bootstrap sample of their documents."""
    weights = resampling.draw_documents(name, [row.document for row in rows])
    if metric == "Spearman":
        human = [-(row.score or 0.0) for row in rows]
        return resampling.rank_correlation(human, [scores[row.id] for row in rows], weights)
    gold = np.array([bool(row.hallucinated) for row in rows])
    labelled = resampling.Rows(tuple(row.id for row in rows), gold, weights)
    return resampling.figures(labelled, scores)[metric]


def measured(
    name: str, metric: str, parts: Sequence[Sequence[Row]], ours: Ours, peers: Peers
) -> dict[str, Any]:
    """Return the figures of all detectors on the rows that all scored: means over the parts.

    The paper's method scored a sample of the larger sets; its figure is on that sample.
    """
    scores = ours.scores(name)
    systems = {**scores, **peers}
    known = {row.id for part in parts for row in part}
    known.intersection_update(*(one for of, one in systems.items() if of != "paper"))

    def values(one: Mapping[str, float]) -> resampling.Values:
        kept = [[row for row in part if row.id in known and row.id in one] for part in parts]
        found = [on_rows(f"{name}{at}", metric, part, one) for at, part in enumerate(kept)]
        return resampling.mean(found)

    figures = {of: values(one) for of, one in systems.items()}
    origin = {of: {"earlier": ("base" if of == "paper" else of) in ours.earlier} for of in scores}
    return {
        "rows": len(known),
        "rows_sha256": json_digest(sorted(row_digest(row) for part in parts for row in part)),
        "ours": [
            {"method": of, **origin[of], "rows": len(known & one.keys()), **_entry(figures[of])}
            for of, one in scores.items()
        ],
        "peers": [
            {"peer": of, "rows": "the same rows", **_entry(figures[of])}
            | {"less": {one: _entry(figures[one] - figures[of]) for one in VERIFIERS}}
            for of in peers
        ],
    }


def compare(one: dict[str, Any], data: Path, clones: Clones, ours: Ours) -> dict[str, Any]:
    """Return a set of `peers.toml` with our figures and those of the peers."""
    name, metric = one["name"], one["metric"]
    published, names = one.pop("published", []), one.pop("names", {})
    if "report" in one:
        part, key = one.pop("report")
        return {**one, "ours": ours.reported(part, key, metric), "peers": published}
    if name == "summedits":
        parts = [load_dataset(f"{name}-{domain}", data).rows for domain in SUMMEDITS_DOMAINS]
        found = measured(name, metric, parts, ours, {})
        published = summedits(clones, one["outputs"], names)
    else:
        rows, read = load_dataset(name, data).rows, OUTPUTS.get(name)
        peers = read(clones, one["outputs"], names, rows) if read else {}
        found = measured(name, metric, [rows], ours, peers)
        reported = ours.reported("responses", name, metric) if metric in resampling.METRICS else []
        found["ours"] += [now for now in reported if now["method"] in ours.earlier]
    ranked = sorted([*found["peers"], *published], key=lambda peer: -peer["value"])
    return {**one, **found, "peers": ranked}


def paper_table(ours: Ours, theirs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the paper's table, then our runs of its methods, then ours on the same datasets."""
    table = [{"of": "published", **one} for one in theirs]
    for name in PAPER_METHODS:
        evidence = ours.apart.get(name, ours.evidence)
        for label, header in evidence.headers.items():
            is_ours = name != "halldetect" or label in ours.labels.values()
            if header.method["name"] == name and is_ours:
                line: dict[str, Any] = {"of": name, "method": label}
                for dataset in PAPER_DATASETS:
                    if found := evidence.compare({dataset: evidence.scores[label][dataset]}):
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
    parser = command(__doc__, "peers.json")
    parser.add_argument("data", type=Path)
    parser.add_argument("peers", type=Path)
    options = parser.parse_args(arguments)
    listed = tomllib.loads((HERE / "peers.toml").read_text(encoding="utf-8"))
    ours, clones = Ours(), Clones(options.peers)
    sets = [compare(one, options.data, clones, ours) for one in listed["set"]]
    weights = {name: report["weights"] for name, report in ours.reports.items()}
    found = {"results": ours.digests, "weights": weights, "peers": clones.digests, "sets": sets,
             "paper": paper_table(ours, listed["paper"])}  # fmt: skip
    store(options.out, found)


if __name__ == "__main__":
    main()
