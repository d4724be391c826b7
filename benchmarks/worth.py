"""Write the page about the use of a check: what is flagged, what slips through, what review costs.

    python -m benchmarks.worth [--minutes 2]                      # docs/worth.md and its plots
    python -m benchmarks.worth --stored STORED --data DATASETS    # results/rates.json first

STORED is the folder of `training.large.measure prepare` with the answers of the verifiers
(NAME_logits.npz), which must be those of results/base/report.json and results/large/report.json.
A verifier without stored answers has the rates of its report at 0.5; `auto` needs both.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.speed import fill, table
from benchmarks.store import RESULTS, command, store
from benchmarks.store import stored as read_results
from benchmarks.svg import Panel, bars, curves
from halldetect.batch.results import wilson_interval
from halldetect.machine.integrity import WEIGHTS
from halldetect.verification.cascade import is_unsure
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.registry import load_dataset
from halldetect_bench.stats.resampling import draw_documents, figure, rank_correlation
from training.files import read
from training.large.measure import Answers, Floats, drawn

RATES = RESULTS / "rates.json"
DOCS = Path(__file__).parents[1] / "docs"
ANSWERS, WRONG = 1_000, 50
VERIFIERS = ("base", "auto", "large")
POINTS = ("recall", "default", "balanced", "precision")
SHOWN = ("recall", "default", "precision")  # `balanced` is close to the default
RAG = {
    "test-qa": "answers to questions", "test-summary": "summaries",
    "data2txt": "texts about records",
}  # fmt: skip
GRADED = ("qags-cnndm", "summeval")
SUPPORTS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 1.0)
LENGTHS = (1, 2, 3, 5, 7, 9, 13, 1_000)  # claims of an answer
FEWEST = 10  # rows of a point in a plot
MEANINGS = {
    "wrong, missed": "#d1495b", "wrong, flagged": "#2a9d6f", "right, but flagged": "#8d99ae"
}  # fmt: skip
Rates = dict[str, Any]


# Measurements


class Item(NamedTuple):
    """An answer with the supports of its claims, and the thresholds of the verifier."""

    row: dict[str, Any]
    claims: list[str]
    supports: Floats
    cuts: Mapping[str, float]

    def is_flagged(self, point: str = "default") -> bool:
        """Return True if the answer is flagged at a threshold."""
        return 1 - float(self.supports.min()) >= self.cuts[point]


def report_of(verifier: str) -> dict[str, Any]:
    """Return the figures of a verifier by `training.large.measure report`."""
    return read_results(RESULTS / verifier / "report.json")


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
             config["operating_points"] | {"default": 0.5})
        for row, values in zip(answers.rows, supports, strict=True)
        if row["set"] in (*RAG, *GRADED)
    ]  # fmt: skip


def cascaded(first: Sequence[Item], second: Sequence[Item]) -> list[Item]:
    """Return the answers of `auto`: those of the second verifier where the first is unsure."""
    if [item.row for item in first] != [item.row for item in second]:
        raise SystemExit("the verifiers have not judged the same rows")
    return [
        two if is_unsure(one.supports.tolist()) else one
        for one, two in zip(first, second, strict=True)
    ]


def flags(items: Sequence[Item]) -> dict[str, Any]:
    """Return the numbers of wrong and right answers, and at each threshold how many are flagged."""
    parts = [[item for item in items if item.row["wrong"] is wrong] for wrong in (True, False)]
    found = {at: [sum(item.is_flagged(at) for item in part) for part in parts] for at in POINTS}
    return {"wrong": len(parts[0]), "right": len(parts[1]), **found}


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
    return binned([(len(item.claims), item.is_flagged()) for item in right], LENGTHS)


def graded(items: Sequence[Item], rows: Sequence[Row]) -> dict[str, Any]:
    """Return the rank correlations of mean and least support with people's marks.

    The marks are the publisher's, or the share of right sentences. The intervals are of samples of
    documents.
    """
    if len(items) != len(rows):
        raise SystemExit(f"{rows[0].dataset}: not the rows that were judged")
    marks = [
        fmean(not wrong for _, wrong in row.sentences) if row.score is None else row.score
        for row in rows
    ]
    weights = draw_documents(rows[0].dataset, [row.document for row in rows], 500)
    found: dict[str, Any] = {"rows": len(rows)}
    for name, of_claims in (("graded_score", np.mean), ("score", np.min)):
        values = [float(of_claims(item.supports)) for item in items]
        one = figure(rank_correlation(marks, values, weights))
        found[name] = [round(end or 0.0, 4) for end in (one.value, one.low, one.high)]
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


def measure(options: argparse.Namespace) -> Rates:
    """Return the counts of every verifier with stored answers, and of `auto`."""
    rows = {name: drawn(load_dataset(name, options.data).rows, 400) for name in GRADED}
    items = {
        verifier: judged(options.stored, name, verifier)
        for verifier, name in (("base", options.base), ("large", options.large))
        if (options.stored / f"{name}_logits.npz").exists()
    }
    result = {
        name: {"weights": report_of(name)["weights"], **measured(found, rows)}
        for name, found in items.items()
    }
    if len(items) > 1:
        result["auto"] = measured(cascaded(items["base"], items["large"]), rows)
    return result


# The page


def flags_of(rates: Rates, verifier: str) -> dict[str, dict[str, Any]]:
    """Return the counts of a verifier by set; those of its report if there are no others."""
    found: dict[str, dict[str, Any]] = rates.get(verifier, {}).get("flags", {})
    if not found and verifier != "auto":
        for name in RAG:
            one = report_of(verifier)["responses"][name]
            wrong, right = one["wrong"], one["rows"] - one["wrong"]
            flagged = [round(one["recall"] * wrong), round(one["false_alarms"] * right)]
            found[name] = {"wrong": wrong, "right": right, "default": flagged}
    return found


def settings(rates: Rates) -> dict[str, list[list[list[float]]]]:
    """Return flagged wrong and right answers of 1,000, with intervals, by setting and set."""
    found: dict[str, list[list[list[float]]]] = {}
    for verifier in VERIFIERS:
        for point in SHOWN:
            for one in flags_of(rates, verifier).values():
                if point in one:
                    parts = zip(one[point], (one["wrong"], one["right"]), strict=True)
                    shares = [(hits / rows, *(wilson_interval(hits, rows) or ()))
                              for hits, rows in parts]  # fmt: skip
                    found.setdefault(f"{verifier}, {point}", []).append([
                        [of * share for share in part]
                        for of, part in zip((WRONG, ANSWERS - WRONG), shares, strict=True)
                    ])  # fmt: skip
    return found


def means(rates: Rates) -> dict[str, list[float]]:
    """Return flagged wrong and right answers of 1,000, as means over the sets."""
    return {
        setting: [sum(one[part][0] for one in sets) / len(sets) for part in (0, 1)]
        for setting, sets in settings(rates).items()
    }


def with_interval(digits: int, values: Sequence[float]) -> str:
    """Return a number and its interval."""
    return "{} ({} to {})".format(*(f"{value:.{digits}f}" for value in values))


def parts(rates: Rates, minutes: float) -> dict[str, str]:
    """Return the tables of the page by their marks."""
    costs = []
    every = means(rates) | {"no check, all are read": [WRONG, ANSWERS - WRONG]}
    for setting, (found, alarms) in every.items():
        flagged = found + alarms
        costs.append((setting, *(f"{value:.0f}" for value in (flagged, found, WRONG - found)),
                      f"{flagged * minutes / 60:.1f}", f"{flagged / found:.1f}"))  # fmt: skip
    by_set = [
        (setting, *(" + ".join(with_interval(0, part) for part in one) for one in sets))
        for setting, sets in settings(rates).items() if setting.endswith("default")
    ]  # fmt: skip
    marks = [
        (name, one["rows"], verifier, *(with_interval(2, one[key]) for key in ("graded_score",
                                                                               "score")))
        for verifier in ("base", "large")
        for name, one in rates.get(verifier, {}).get("graded", {}).items()
    ]  # fmt: skip
    files = {"base": "model.onnx", "large": "adapter.lora8"}
    weights = [f"`{name}` {rates[name]['weights'][files[name]][:8]}" for name in files
               if name in rates]  # fmt: skip
    missing = [f"`{name}`" for name in VERIFIERS if name not in rates]
    note = (f" Without stored answers, so at the default threshold alone or left out: "
            f"{', '.join(missing)}.") if missing else ""  # fmt: skip
    head = ("verifier, threshold", "flagged", "wrong and flagged", "wrong and missed",
            "hours of review", "reviews per wrong answer")  # fmt: skip
    return {
        "assumptions": f"Assumed time to review one flagged answer: {minutes:g} minutes.",
        "costs": table(head, costs),
        "sets": table((head[0], *RAG.values()), by_set),
        "graded": table(("set", "answers", "verifier", "graded score", "score"), marks),
        "weights": f"Weights: {', '.join(weights)}.{note}",
    }


def plots(rates: Rates) -> dict[str, str]:
    """Return the plots by the names of their files."""
    rows = {name: (WRONG - found, found, more) for name, (found, more) in means(rates).items()}
    shares = {at / 4: f"{25 * at} %" for at in range(5)}

    def panels(part: str, title: str, across: dict[float, str]) -> str:
        return curves([
            Panel(f"{verifier}: {title}", across, shares, {
                RAG[name]: [(one["mean"], one["hits"] / one["rows"], *one["interval"])
                            for one in bins if one["rows"] >= FEWEST]
                for name, bins in rates[verifier][part].items()
            })
            for verifier in VERIFIERS if verifier in rates
        ])  # fmt: skip

    supports = {at / 4: f"{at / 4:g}" for at in range(5)}
    claims = {float(at): str(at) for at in (1, 5, 10, 15, 20)}
    return {
        "worth.svg": bars(MEANINGS, rows),
        "calibration.svg": panels("calibration", "wrong sentences by support", supports),
        "false-alarms.svg": panels("false_alarms", "right answers flagged by claims", claims),
    }


def written(minutes: float = 2.0) -> dict[str, str]:
    """Return the page and its plots by the names of their files."""
    rates = read_results(RATES)
    page = (DOCS / "worth.md").read_text(encoding="utf-8")
    return {"worth.md": fill(page, parts(rates, minutes)), **plots(rates)}


def main() -> None:
    """Run the command."""
    parser = command(__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="to review a flagged answer")
    parser.add_argument("--stored", type=Path, help="the folder of stored answers: measure first")
    parser.add_argument("--data", type=Path, help="the folder of the datasets, for --stored")
    for verifier in ("base", "large"):
        parser.add_argument(f"--{verifier}", default=verifier, help="the name of its answers")
    options = parser.parse_args()
    if options.stored:
        store(RATES, measure(options))
    for name, content in written(options.minutes).items():
        (DOCS / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
