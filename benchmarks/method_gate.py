"""Compare rules for the windows of `base` with an earlier method, from recorded answers.

    python -m benchmarks.method_gate RECORDED REFERENCE [--rule "1 3, 3, 0.8, 0.2"] [--out FILE]

A rule is "sizes, pages, enough, offset": the sizes in sentences of a claim's short windows
("1 1": the two best sentences), the number of pages, the support at which the first window is
enough, and the offset of the support in log-odds. The support of a claim is that of its best
window; its contradiction is the mean of the greatest P(C) of short windows and of pages.

RECORDED holds the answers of the verifier for the claims and windows of all rows (see `Recorded`).
REFERENCE is an npz file. Its array `today` has support, contradiction and tokens of every claim
under the earlier method. The rules that read no more tokens than that are ranked on the development
sets; the first, and those given, are reported on all sets with intervals over samples of documents.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.recorded_answers import STATES, Array, Outcome, Recorded, Rule, parse_rule
from halldetect.models.integrity import WEIGHTS
from halldetect.scoring import Calibration
from halldetect_bench.stats.resampling import Rows, draw_documents, figure, figures, mean
from training.large.measure import SHORT_DEV as DEVELOPMENT

METRICS = ("AUROC", "balanced accuracy")
SUITE = "suite:"
# The eleven datasets of the results page.
HEADLINE = (
    *("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test"),
    *("storysumm", "dialsummeval", "wice", "pubmedqa", "bump"),
)
SIZES = ((1,), (1, 1), (1, 3), (1, 1, 3), (1, 3, 3))
PAGES, ENOUGH, OFFSETS = (1, 3), (0.7, 0.8, 0.9), (0.0, 0.1, 0.2, 0.3, 0.4)


class Comparison:
    """Compares outcomes with the reference, dataset by dataset, on shared samples."""

    def __init__(self, recorded: Recorded, reference: Outcome, calibration: Calibration) -> None:
        self._recorded, self._reference, self._calibration = recorded, reference, calibration
        self._before = reference.states(calibration)
        self.rows: dict[str, Rows] = {}
        names = recorded.dataset[recorded.row]
        for name in dict.fromkeys(map(str, names)):
            rows = np.unique(recorded.row[names == name])
            drawn = draw_documents(name, [f"{item:09}" for item in recorded.document[rows]])
            self.rows[name] = Rows(name, tuple(map(str, rows)), recorded.label[rows], drawn)

    def tables(self, outcome: Outcome, names: Sequence[str]) -> dict[str, Any]:
        """Return one table per dataset, and their mean under `mean`."""
        states = outcome.states(self._calibration)
        changes: dict[str, list[Array]] = {metric: [] for metric in METRICS}
        tables: dict[str, Any] = {}
        for name in names:
            mine, before = (self._figures(name, one) for one in (outcome, self._reference))
            tables[name] = self._costs(name, outcome, states)
            for metric in METRICS:
                changes[metric].append(mine[metric] - before[metric])
                value = {"value": round(float(mine[metric][0]), 4)}
                tables[name][metric] = value | _interval(changes[metric][-1])
        means: dict[str, Any] = {name: _interval(mean(parts)) for name, parts in changes.items()}
        for key in ("states_changed", "tokens", "tokens_today"):
            means[key] = round(float(np.mean([tables[name][key] for name in names])), 4)
        own = np.isin(self._recorded.dataset[self._recorded.row], names)
        shares = np.bincount(states[own], minlength=len(STATES)) / own.sum()
        means["states"] = dict(zip(STATES, np.round(shares, 4).tolist(), strict=True))
        return tables | {"mean": means}

    def _figures(self, name: str, outcome: Outcome) -> dict[str, Array]:
        least = np.full(len(self._recorded.label), np.inf)
        np.minimum.at(least, self._recorded.row, outcome.support)
        rows = self.rows[name]
        return figures(rows, {row: float(1.0 - least[int(row)]) for row in rows.ids})

    def _costs(self, name: str, outcome: Outcome, states: Array) -> dict[str, Any]:
        """Return tokens per check, the share of changed states and, for suites, of right ones."""
        rows = np.array(self.rows[name].ids, dtype=int)
        own = np.isin(self._recorded.row, rows)
        today = self._reference.tokens
        found: dict[str, Any] = {
            "rows": len(rows),
            "states_changed": round(float((states != self._before)[own].mean()), 4),
            "tokens": round(float(outcome.tokens[own].sum()) / len(rows), 1),
            "tokens_today": round(float(today[own].sum()) / len(rows), 1),
        }
        if name.startswith(SUITE):
            for key, judged in (("right_state", states), ("right_state_today", self._before)):
                worst = np.zeros(len(self._recorded.label), np.int64)
                np.maximum.at(worst, self._recorded.row, judged)
                right = np.array(STATES)[worst[rows]] == self._recorded.expected[rows]
                found[key] = round(float(right.mean()), 4)
        return found


def _interval(change: Array) -> dict[str, float | None]:
    found = figure(change)
    values = {"change": found.value, "low": found.low, "high": found.high}
    return {key: None if value is None else round(value, 4) for key, value in values.items()}


def ranked(recorded: Recorded, comparison: Comparison, names: Sequence[str]) -> list[Rule]:
    """Return the rules that read no more tokens than the reference, best first."""
    found: dict[Rule, float] = {}
    for rule in map(Rule._make, product(SIZES, PAGES, ENOUGH, OFFSETS)):
        means = comparison.tables(recorded.judge(rule), names)["mean"]
        if means["tokens"] <= means["tokens_today"]:
            found[rule] = sum(means[metric]["change"] or 0.0 for metric in METRICS)
    return sorted(found, key=lambda rule: -found[rule])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("recorded", type=Path, help="the folder of recorded answers")
    parser.add_argument("reference", type=Path, help="the outcomes of the earlier method")
    parser.add_argument("--rule", type=parse_rule, action="append", default=[])
    parser.add_argument("--out", type=Path, help="write the tables to this file")
    given = parser.parse_args(arguments)
    config = json.loads((WEIGHTS / "base" / "config.json").read_text(encoding="utf-8"))
    calibration = Calibration.from_mapping(config["calibration"])
    recorded = Recorded(given.recorded, calibration.contradiction_weight)
    reference = Outcome(*np.load(given.reference)["today"])
    comparison = Comparison(recorded, reference, calibration)
    groups: dict[str, list[str]] = {"development": [], "others": [], "suites": []}
    for name in comparison.rows:
        group = "development" if name in DEVELOPMENT else "others"
        groups["suites" if name.startswith(SUITE) else group].append(name)
    groups["headline"] = [name for name in comparison.rows if name in HEADLINE]
    first = ranked(recorded, comparison, groups["development"])[:1]
    outcomes = {str(rule): recorded.judge(rule) for rule in (*first, *given.rule)}
    tables = {
        name: {group: comparison.tables(outcome, sets) for group, sets in groups.items() if sets}
        for name, outcome in {"reference": reference, **outcomes}.items()
    }
    for name, of_groups in tables.items():
        for group, found in of_groups.items():
            print(name, group, json.dumps(found["mean"]), sep="; ")
    if given.out is not None:
        written = {"first": list(map(str, first)), "rules": tables}
        given.out.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
