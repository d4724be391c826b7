"""Count what each verifier flags: by threshold, by support and by length of the answer.

    python -m benchmarks.rates STORED DATASETS [--base base] [--large large]

STORED is the folder of `training.large.measure prepare` with the answers of the verifiers
(NAME_logits.npz), which must be those of results/base/report.json and results/large/report.json.
Writes results/rates.json, of which `benchmarks.worth` makes a page. A verifier without stored
answers is left out, and `auto` with it.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from halldetect.batch.results import wilson_interval
from halldetect.models.integrity import WEIGHTS
from halldetect.scoring import OPERATING_POINTS
from halldetect.verification.cascade import is_unsure
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.registry import load_dataset
from training.large.measure import Answers, Floats, drawn
from training.leaks import read

RESULTS = Path(__file__).parent / "results"
RATES = RESULTS / "rates.json"
RAG = ("test-qa", "test-summary", "data2txt")
GRADED = ("qags-cnndm", "summeval")
DEFAULT = {"default": 0.5}
SUPPORTS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 1.0)
LENGTHS = (1, 2, 3, 5, 7, 9, 13, 1_000)  # claims of an answer


class Item(NamedTuple):
    """An answer with the supports of its claims, and the thresholds of the verifier."""

    row: dict[str, Any]
    claims: list[str]
    supports: Floats
    cuts: Mapping[str, float]

    @property
    def score(self) -> float:
        return 1 - float(self.supports.min())


def report_of(verifier: str) -> dict[str, Any]:
    """Return the figures of a verifier by `training.large.measure report`."""
    found: dict[str, Any] = json.loads((RESULTS / verifier / "report.json").read_text("utf-8"))
    return found


def judged(stored: Path, name: str, verifier: str) -> list[Item]:
    """Return the answers of one verifier."""
    config = json.loads((WEIGHTS / verifier / "config.json").read_text(encoding="utf-8"))
    answers = Answers(stored, name)
    if answers.digest != report_of(verifier)["adapter"]:
        raise SystemExit(f"{name}: not the weights of results/{verifier}/report.json")
    ends = np.cumsum([len(row["claims"]) for row in answers.rows])
    supports = np.split(answers.supports(config["calibration"]), ends[:-1])
    texts = [group["claims"] for group in read(stored / "eval_groups.jsonl.xz")]
    return [
        Item(row, [texts[row["group"]][at] for at, _ in row["claims"]], values,
             DEFAULT | config["operating_points"])
        for row, values in zip(answers.rows, supports, strict=True)
        if row["set"] in RAG + GRADED
    ]  # fmt: skip


def cascaded(first: Sequence[Item], second: Sequence[Item]) -> list[Item]:
    """Return the answers of `auto`: those of the second verifier where the first is unsure."""
    if [item.row for item in first] != [item.row for item in second]:
        raise SystemExit("the verifiers have not judged the same rows")
    return [
        two if is_unsure(list(zip(one.claims, one.supports.tolist(), strict=True))) else one
        for one, two in zip(first, second, strict=True)
    ]


def flags(items: Sequence[Item]) -> dict[str, Any]:
    """Return the numbers of wrong and right answers, and at each threshold how many are flagged."""
    found: dict[str, Any] = {}
    for point in (*DEFAULT, *OPERATING_POINTS):
        hits = [(item.row["wrong"], item.score >= item.cuts[point]) for item in items]
        found[point] = [hits.count((True, True)), hits.count((False, True))]
    wrong = sum(item.row["wrong"] for item in items)
    return {"wrong": wrong, "right": len(items) - wrong, **found}


def binned(pairs: Sequence[tuple[float, bool]], edges: Sequence[float]) -> list[dict[str, Any]]:
    """Return the share of hits by value; a bin holds its lower edge, the last one both."""
    values, hits = (np.array(column) for column in zip(*pairs, strict=True))
    places = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)
    found = []
    for at in np.unique(places).tolist():
        mine = places == at
        rows, count = int(mine.sum()), int(hits[mine].sum())
        ends = [round(end, 4) for end in wilson_interval(count, rows) or ()]
        middle = round(float(values[mine].mean()), 4)
        found.append(
            {"from": edges[at], "mean": middle, "rows": rows, "hits": count, "interval": ends}
        )
    return found


def by_support(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the share of wrong sentences by support."""
    wrong = (label != "E" for item in items for label in item.row["labels"])
    supports = (value for item in items for value in item.supports.tolist())
    return binned(list(zip(supports, wrong, strict=True)), SUPPORTS)


def by_length(items: Sequence[Item]) -> list[dict[str, Any]]:
    """Return the share of right answers that are flagged, by their number of claims."""
    right = [item for item in items if not item.row["wrong"]]
    return binned([(len(item.claims), item.score >= 0.5) for item in right], LENGTHS)


def spearman(first: Floats, second: Floats) -> float:
    """Return the rank correlation; equal values share the mean of their ranks."""
    ranks = []
    for values in (first, second):
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[place])
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def graded(items: Sequence[Item], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the rank correlations of mean and least support with people's marks.

    The marks are the publisher's, or the share of right sentences. The intervals are of samples of
    documents.
    """
    if len(items) != len(rows):
        raise SystemExit(f"{rows[0].dataset}: not the rows that were judged")
    marks = np.array([
        np.mean([not wrong for _, wrong in row.sentences]) if row.score is None else row.score
        for row in rows
    ])  # fmt: skip
    places: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        places.setdefault(row.document, []).append(at)
    groups, rng = list(places.values()), np.random.default_rng(1)
    drawn_groups = rng.integers(0, len(groups), (500, len(groups))).tolist()
    picks = [[place for at in drawn for place in groups[at]] for drawn in drawn_groups]
    found: dict[str, Any] = {"rows": len(rows), "documents": len(groups)}
    for name, least in (("graded_score", np.mean), ("score", np.min)):
        values = np.array([least(item.supports) for item in items])
        ends = np.percentile([spearman(values[pick], marks[pick]) for pick in picks], [2.5, 97.5])
        found[name] = {
            "spearman": round(spearman(values, marks), 4),
            "interval": ends.round(4).tolist(),
        }
    return found


def measured(items: Sequence[Item], rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """Return all counts of one verifier."""
    sets = {name: [item for item in items if item.row["set"] == name] for name in (*RAG, *rows)}
    return {
        "flags": {name: flags(sets[name]) for name in RAG},
        "calibration": {name: by_support(sets[name]) for name in RAG},
        "false_alarms": {name: by_length(sets[name]) for name in RAG},
        "graded": {name: graded(sets[name], rows[name]) for name in rows},
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("stored", type=Path)
    parser.add_argument("datasets", type=Path)
    for verifier in ("base", "large"):
        parser.add_argument(f"--{verifier}", default=verifier, help="the name of its answers")
    options = parser.parse_args()
    rows = {name: drawn(load_dataset(name, options.datasets).rows, 400) for name in GRADED}
    items = {
        verifier: judged(options.stored, name, verifier)
        for verifier, name in (("base", options.base), ("large", options.large))
        if (options.stored / f"{name}_logits.npz").exists()
    }
    if len(items) > 1:
        items["auto"] = cascaded(items["base"], items["large"])
    result = {name: measured(found, rows) for name, found in items.items()}
    for name in result.keys() - {"auto"}:
        result[name] = {"weights": report_of(name)["weights"], **result[name]}
    RATES.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
