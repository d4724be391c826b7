"""halldetect bench calibrate"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.output import print_result
from halldetect.errors import InputError

if TYPE_CHECKING:
    from halldetect_bench.predictions import Results
    from halldetect_bench.stats.operating_points import Scores

# With fewer of one kind, a threshold says more about the rows than about the verifier.
FEW = 30
CALIBRATE = """\
Fit thresholds on the labelled rows that `bench run` has scored: for recall (80 % of the
hallucinated responses found), for balanced accuracy and for precision. The rows may be any
labelled dataset, such as what people decided in the history of the service
(/v1/reports/export?form=labelled, then `bench run --dataset jsonl:FILE --method halldetect`).
"""


def add(actions: Any) -> None:
    """Add the action.

    actions: the subparsers of `bench`.
    """
    parser = actions.add_parser(
        "calibrate", help="fit thresholds on labelled rows", description=CALIBRATE
    )
    option = parser.add_argument
    option("results", type=Path, metavar="DIR", help="a folder of results of `bench run`")
    option("--method", default="halldetect", metavar="NAME", help="of whose scores; halldetect")
    option("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Fit and print the thresholds.

    arguments: of `bench calibrate`.
    """
    from halldetect_bench.predictions import read_all
    from halldetect_bench.stats.operating_points import fit, measured

    found = [
        item
        for item in read_all(arguments.results)
        if item.header.method["name"] == arguments.method
    ]
    if not found:
        raise InputError(f"{arguments.results}: no results of the method {arguments.method!r}")
    configurations = {item.header.digest for item in found}
    if len(configurations) > 1:
        raise InputError(
            f"{arguments.results}: results of {len(configurations)} configurations of "
            f"{arguments.method!r}; keep those of one in a folder of their own"
        )
    sets = {item.header.dataset: labelled_scores(item) for item in found}
    points = {name: measured(sets, threshold) for name, threshold in fit(sets).items()}
    points["default"] = measured(sets, 0.5)
    rows = {name: [int(wrong.sum()), int((~wrong).sum())] for name, (wrong, _) in sets.items()}
    if arguments.json:
        print_result(json.dumps({"rows": rows, "points": points}, indent=1))
        return 0
    lines = [
        f"{name}: {wrong} hallucinated and {right} faithful responses"
        + (" (few: the thresholds are uncertain)" if min(wrong, right) < FEW else "")
        for name, (wrong, right) in rows.items()
    ]
    lines += ["", "point      --threshold  hallucinations found  false alarms  balanced accuracy"]
    lines += [
        f"{name:<10} {point['threshold']:<12.3f} {point['recall']:<21.1%} "
        f"{point['false_alarms']:<13.1%} {point['balanced_accuracy']:.3f}"
        for name, point in points.items()
    ]
    print_result("\n".join(lines))
    return 0


def labelled_scores(results: Results) -> Scores:
    """Labels and scores of the rows that have both.

    results: of one dataset.
    Raises InputError unless there are hallucinated and faithful responses among them.
    """
    import numpy as np

    rows = [row for row in results.predictions if row.gold is not None and row.score is not None]
    wrong = np.array([bool(row.gold) for row in rows], bool)
    if not wrong.any() or wrong.all():
        raise InputError(
            f"{results.header.dataset}: a threshold needs both hallucinated and faithful responses "
            f"with a score; there are {int(wrong.sum())} and {int((~wrong).sum())}"
        )
    return wrong, np.array([row.score for row in rows], float)
