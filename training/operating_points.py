"""Fit the thresholds `recall`, `balanced` and `precision` of a verifier on development sets.

    halldetect bench run --data DIR --method halldetect --verifier base --limit 400 -o RESULTS \
        --dataset storysumm,dialsummeval,wice,bump,pubmedqa,defacto-val
    python -m training.operating_points RESULTS --verifier base
    python -m training.refresh_digests        # the weights' folder has changed

The development sets differ from the six sets of the results. The module
`halldetect_bench.stats.operating_points` defines the points. They go into the weights' config.json;
labels, scores and figures go into benchmarks/results/operating_points/NAME.json.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.errors import InputError
from halldetect_bench.predictions import Results, read_all
from halldetect_bench.stats.operating_points import Scores, fit, measured
from halldetect_bench.stats.selection import weights_of

DEVELOPMENT = ("storysumm", "dialsummeval", "wice", "bump", "pubmedqa", "defacto-val")
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "operating_points"
WEIGHTS = ROOT / "src" / "halldetect" / "weights"
# A row of a set: its name, its label (True if hallucinated), its score.
Row = Sequence[Any]


def chosen(results: Sequence[Results], verifier: str) -> dict[str, Results]:
    """Return the results of the detector with a verifier, by development set.

    Raises:
        InputError: if a set is missing.
    """
    found = {
        one.header.dataset: one
        for one in results
        if one.header.method["name"] == "halldetect" and verifier in weights_of(one.header)
    }
    missing = [name for name in DEVELOPMENT if name not in found]
    if missing:
        raise InputError(f"no results of halldetect with {verifier} on {', '.join(missing)}")
    return {name: found[name] for name in DEVELOPMENT}


def labelled_scores(rows: Mapping[str, Sequence[Row]]) -> dict[str, Scores]:
    """Return labels and scores of every set, without rows that could not be checked."""
    return {
        name: (
            np.array([row[1] for row in found if row[2] is not None], bool),
            np.array([row[2] for row in found if row[2] is not None]),
        )
        for name, found in rows.items()
    }


def main() -> None:
    """Fit the points, write them into the weights' folder, and write their figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("results", type=Path, help="a folder of `bench run`")
    parser.add_argument("--verifier", choices=("base", "large"), default="base")
    parser.add_argument("--out", type=Path, help=f"default: {RESULTS.name}/NAME.json")
    parser.add_argument("--config", type=Path, help="default: config.json of the weights")
    options = parser.parse_args()
    out = options.out or RESULTS / f"{options.verifier}.json"
    config_file = options.config or WEIGHTS / options.verifier / "config.json"
    found = chosen(read_all(options.results), options.verifier)
    rows = {
        name: [[item.row, item.gold, item.score] for item in one.predictions]
        for name, one in found.items()
    }
    sets = labelled_scores(rows)
    points = fit(sets)
    digests = {
        digest for one in found.values() for digest in weights_of(one.header)[options.verifier]
    }
    result = {
        "verifier": options.verifier,
        "from": "checks with all defaults",
        "digests": sorted(digests),
        "operating_points": points,
        "measured": {
            name: measured(sets, value) for name, value in {**points, "default": 0.5}.items()
        },
        "by_set": {
            name: {point: measured({name: of}, value) for point, value in points.items()}
            for name, of in sets.items()
        },
        "rows": rows,
    }
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(result) + "\n", encoding="utf-8")
    config = json.loads(config_file.read_text(encoding="utf-8")) if config_file.is_file() else {}
    config_file.write_text(
        json.dumps({**config, "operating_points": points}, indent=1) + "\n", encoding="utf-8"
    )
    print(json.dumps(result["measured"], indent=1))
    print(f"{config_file} is changed: run python -m training.refresh_digests")


if __name__ == "__main__":
    main()
