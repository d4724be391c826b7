"""Write the page about the use of a check: what is flagged, what slips through, what review costs.

    python -m benchmarks.worth [--minutes 2]

Fills the marks of docs/worth.md and writes its plots, from results/rates.json
(`python -m benchmarks.rates`). If a verifier is missing there, its rates at the default threshold
are those of its report.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from benchmarks.rates import DEFAULT, RAG, RATES, report_of
from benchmarks.speed import fill, table
from benchmarks.svg import Panel, bars, curves
from halldetect.batch.results import wilson_interval

DOCS = Path(__file__).parents[1] / "docs"
ANSWERS, WRONG = 1_000, 50
VERIFIERS = ("base", "auto", "large")
POINTS = ("recall", *DEFAULT, "balanced", "precision")
NAMES = dict(zip(RAG, ("answers to questions", "summaries", "texts about records"), strict=True))
FEWEST = 10  # rows of a point in a plot
SHARES = {0.0: "0 %", 0.25: "25 %", 0.5: "50 %", 0.75: "75 %", 1.0: "100 %"}
MEANINGS = {
    "wrong, not noticed": "#d1495b", "wrong, flagged": "#2a9d6f", "right, but flagged": "#8d99ae"
}  # fmt: skip
Rates = dict[str, Any]
Part = tuple[float, float, float]  # a number of answers with its interval


def flags_of(rates: Rates, verifier: str) -> dict[str, dict[str, Any]]:
    """Return the counts of a verifier by set; those of its report if there are no others."""
    if verifier in rates or verifier == "auto":
        found: dict[str, dict[str, Any]] = rates.get(verifier, {}).get("flags", {})
        return found
    found = {}
    for name in RAG:
        one = report_of(verifier)["responses"][name]
        wrong, right = one["wrong"], one["rows"] - one["wrong"]
        flagged = [round(one["recall"] * wrong), round(one["false_alarms"] * right)]
        found[name] = {"wrong": wrong, "right": right, "default": flagged}
    return found


def settings(rates: Rates) -> dict[str, dict[str, list[Part]]]:
    """Return flagged wrong and right answers of 1,000, with intervals, by setting and set."""
    found: dict[str, dict[str, list[Part]]] = {}
    for verifier in VERIFIERS:
        sets = flags_of(rates, verifier).items()
        for point in POINTS:
            if parts := {name: flagged(one, point) for name, one in sets if point in one}:
                found[f"{verifier}, {point}"] = parts
    return found


def flagged(one: dict[str, Any], point: str) -> list[Part]:
    """Return flagged wrong and right answers of 1,000 for one set, with intervals."""
    found = []
    for count, rows, of in zip(
        one[point], (one["wrong"], one["right"]), (WRONG, ANSWERS - WRONG), strict=True
    ):
        low, high = wilson_interval(count, rows) or (0.0, 1.0)
        found.append((of * count / rows, of * low, of * high))
    return found


def means(rates: Rates) -> dict[str, tuple[float, float]]:
    """Return flagged wrong and right answers of 1,000, as means over the sets."""
    return {
        setting: (
            sum(wrong[0] for wrong, _ in sets.values()) / len(sets),
            sum(right[0] for _, right in sets.values()) / len(sets),
        )
        for setting, sets in settings(rates).items()
    }


def parts(rates: Rates, minutes: float) -> dict[str, str]:
    """Return the tables of the page by their marks."""
    costs = []
    every = means(rates) | {"no check, all are read": (WRONG, ANSWERS - WRONG)}
    for setting, (found, alarms) in every.items():
        read = found + alarms
        costs.append((setting, *(f"{value:.0f}" for value in (read, found, WRONG - found)),
                      f"{read * minutes / 60:.1f}", f"{read / found:.1f}"))  # fmt: skip
    by_set = [
        (setting, *(" + ".join(f"{value:.0f} ({low:.0f} to {high:.0f})" for value, low, high in one)
                    for one in sets.values()))
        for setting, sets in settings(rates).items()
    ]  # fmt: skip
    graded = [
        (name, one["rows"], verifier,
         *("{:.2f} ({:.2f} to {:.2f})".format(one[key]["spearman"], *one[key]["interval"])
           for key in ("graded_score", "score")))
        for verifier in VERIFIERS
        for name, one in rates.get(verifier, {}).get("graded", {}).items()
    ]  # fmt: skip
    missing = [f"`{name}`" for name in VERIFIERS if name not in rates]
    weights = [f"`{name}` {next(iter(sorted(one['weights'].values())))[:8]}"
               for name, one in rates.items() if "weights" in one]  # fmt: skip
    head = ("verifier, threshold", "flagged", "of these wrong", "wrong, not noticed",
            "hours of review", "read to find one")  # fmt: skip
    return {
        "assumptions": f"Reviewing a flagged answer takes {minutes:g} minutes.",
        "costs": table(head, costs),
        "sets": table((head[0], *NAMES.values()), by_set),
        "graded": table(("set", "answers", "verifier", "graded score", "score"), graded),
        "weights": f"Weights: {', '.join(weights)}." + (
            f" Not measured again on the present weights, so with the default threshold alone or "
            f"left out: {', '.join(missing)}." if missing else ""),
    }  # fmt: skip


def plots(rates: Rates) -> dict[str, str]:
    """Return the plots by the names of their files."""
    rows = {name: (WRONG - found, found, more) for name, (found, more) in means(rates).items()}

    def panels(part: str, title: str, across: dict[float, str]) -> str:
        shown = [verifier for verifier in VERIFIERS if verifier in rates]
        return curves([
            Panel(f"{verifier}: {title}", across, SHARES, {
                NAMES[name]: [(one["mean"], one["hits"] / one["rows"], *one["interval"])
                              for one in bins if one["rows"] >= FEWEST]
                for name, bins in rates[verifier][part].items()
            })
            for verifier in shown
        ])  # fmt: skip

    supports = {at / 4: f"{at / 4:g}" for at in range(5)}
    claims = {float(at): str(at) for at in (1, 5, 10, 15, 20)}
    return {
        "worth.svg": bars(MEANINGS, rows),
        "calibration.svg": panels("calibration", "wrong sentences by support", supports),
        "false-alarms.svg": panels("false_alarms", "right answers flagged by claims", claims),
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0, help="to review a flagged answer")
    options = parser.parse_args()
    for name, content in written(options.minutes).items():
        (DOCS / name).write_text(content, encoding="utf-8")


def written(minutes: float = 2.0) -> dict[str, str]:
    """Return the page and its plots by the names of their files."""
    rates = json.loads(RATES.read_text(encoding="utf-8"))
    page = (DOCS / "worth.md").read_text(encoding="utf-8")
    return {"worth.md": fill(page, parts(rates, minutes)), **plots(rates)}


if __name__ == "__main__":
    main()
