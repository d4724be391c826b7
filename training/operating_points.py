"""Fit the thresholds `recall`, `balanced` and `precision` of a verifier on development sets.

    python -m training.operating_points DATASETS --verifier base [--rows 400] [--threads N]
    python -m training.operating_points DATASETS --verifier large --device cuda
    python -m training.refresh_digests        # the weights' folder has changed

Responses of the development sets (never the six sets of the results) are checked with all
defaults; checks that are done are kept in OUT and not repeated. What the names mean is in
`halldetect_bench.stats.operating_points`; `halldetect bench calibrate` fits the same points on
data of your own.

The numbers go into `operating_points` of the weights' config.json; scores, labels and what each
point measures go into benchmarks/results/operating_points/NAME.json, with digests of the weights
and the rows. `large` can also be fitted from the stored answers of `training.large.evaluate`
(claims are then sentences, judged on the whole source): --logits FOLDER:NAME;
`base` from the predictions of `training.base.calibrate` (every window is judged): --predictions.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import lzma
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from halldetect_bench.stats.operating_points import Scores, fit, measured

DEVELOPMENT = ("storysumm", "dialsummeval", "wice", "bump", "pubmedqa", "defacto-val")
SIX = ("qags-cnndm", "summeval", "xsumfaith", "summedits", "faithbench", "defacto-test")
ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "operating_points"
WEIGHTS = ROOT / "src" / "halldetect" / "weights"


def checked(options: argparse.Namespace) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The verifier's description, and [row, hallucinated, score] for the rows of every set."""
    from halldetect.detector import Detector
    from halldetect.inputs import Pair
    from halldetect_bench.predictions import row_digest
    from halldetect_bench.registry import load_dataset

    detector = Detector(verifier=options.verifier, device=options.device, threads=options.threads)
    description = detector.verifier.description
    digests = {key: value for key, value in description.items() if "digest" in key}
    done: dict[str, Any] = {}
    if options.out.is_file():
        stored = json.loads(options.out.read_text(encoding="utf-8"))
        if stored["digests"] == digests:
            done = {row[0]: row for rows in stored["rows"].values() for row in rows}
    rows: dict[str, list[Any]] = {}
    for name in DEVELOPMENT:
        loaded = load_dataset(name, options.datasets)
        found = [row for row in loaded.rows if row.response and row.hallucinated is not None]
        if len(found) > options.rows:
            chosen = sorted(random.Random(14).sample(range(len(found)), options.rows))
            found = [found[number] for number in chosen]
        rows[name] = []
        for start in range(0, len(found), 64):
            block = [(row_digest(row), row) for row in found[start : start + 64]]
            new = [(key, row) for key, row in block if key not in done]
            pairs = [
                Pair(
                    row.source if isinstance(row.source, str) else list(row.source),
                    row.response,
                    row.question,
                )
                for _, row in new
            ]
            for (key, row), report in zip(new, detector.check_many(pairs), strict=True):
                done[key] = [key, bool(row.hallucinated), report.score]
            rows[name] += [done[key] for key, _ in block]
            # Written after every block: a run that is stopped goes on where it was.
            options.out.write_text(json.dumps({"digests": digests, "rows": rows}))
            print(f"{name}: {len(rows[name])} of {len(found)}", flush=True)
    return digests, rows


def from_logits(
    folder: Path, name: str, calibration: Calibration, names: Sequence[str] = DEVELOPMENT
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The same from stored answers of some sets, by the formula of the score."""
    with lzma.open(folder / "eval_rows.json.xz", "rt", encoding="utf-8") as file:
        entries = json.load(file)
    with np.load(folder / f"{name}_logits.npz") as stored:
        logits = stored["logits"].astype(np.float64)
        first = stored["first"]
        digests = [str(digest) for digest in stored["digests"]]
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    answers = (powers / powers.sum(-1, keepdims=True)).mean(0)
    rows: defaultdict[str, list[Any]] = defaultdict(list)
    for entry in entries:
        if entry["set"] not in names:
            continue
        supports = []
        for place in entry["claims"]:
            answer = answers[first[entry["group"]] + place]
            supports.append(calibration.window_support(Probabilities(*map(float, answer))))
        score = calibration.response(supports)
        rows[entry["set"]].append([f"{entry['set']}/{entry['id']}", entry["wrong"], score])
    return {"digests of the adapters": digests}, dict(rows)


def labelled_scores(rows: Mapping[str, list[Any]]) -> dict[str, Scores]:
    """Labels and scores of every set; rows that could not be checked are left out."""
    return {
        name: (
            np.array([row[1] for row in found if row[2] is not None], bool),
            np.array([row[2] for row in found if row[2] is not None]),
        )
        for name, found in rows.items()
    }


def from_predictions(
    folder: Path, names: Sequence[str] = DEVELOPMENT
) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """The same from the scores that `training.base.calibrate` wrote."""
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    with np.load(folder / "predictions.npz") as stored:
        rows = {
            name: [
                [f"{name}/{place}", bool(wrong), float(score)]
                for place, (wrong, score, _) in enumerate(stored[name])
            ]
            for name in names
        }
    return {"weights": report["weights"]}, rows


def main() -> None:
    """Fit, write the points into the weights' folder, and write what they measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("datasets", type=Path, nargs="?", help="folder of the evaluation sets")
    parser.add_argument("--verifier", choices=("base", "large"), default="base")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--rows", type=int, default=400, help="responses of every set at most")
    parser.add_argument("--logits", metavar="FOLDER:NAME", help="fit from stored answers")
    parser.add_argument("--predictions", type=Path, metavar="FOLDER", help="fit from these scores")
    parser.add_argument("--out", type=Path, help=f"default: {RESULTS.name}/NAME.json")
    parser.add_argument("--config", type=Path, help="default: config.json of the weights")
    options = parser.parse_args()
    options.out = options.out or RESULTS / f"{options.verifier}.json"
    options.config = options.config or WEIGHTS / options.verifier / "config.json"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    config = json.loads(options.config.read_text()) if options.config.is_file() else {}
    calibration = Calibration.from_mapping(config.get("calibration") or {})
    if options.logits:
        folder, _, name = options.logits.rpartition(":")
        digests, rows = from_logits(Path(folder), name, calibration)
    elif options.predictions:
        digests, rows = from_predictions(options.predictions)
    elif options.datasets:
        digests, rows = checked(options)
    else:
        parser.error("give the folder of the datasets, --logits or --predictions")
    sets = labelled_scores(rows)
    points = fit(sets)
    keys = sorted(row[0] for found in rows.values() for row in found)
    result: dict[str, Any] = {
        "verifier": options.verifier,
        "from": (options.logits and f"stored answers {name}")
        or (options.predictions and "predictions of training.base.calibrate")
        or "checks with all defaults",
        "digests": digests,
        "rows_sha256": hashlib.sha256("\n".join(keys).encode()).hexdigest(),
        "operating_points": points,
        "measured": {
            name: measured(sets, value) for name, value in {**points, "default": 0.5}.items()
        },
        "by_set": {
            name: {point: measured({name: of}, value) for point, value in points.items()}
            for name, of in sets.items()
        },
        "rows": {
            name: [[row[0], row[1], None if row[2] is None else round(row[2], 5)] for row in found]
            for name, found in rows.items()
        },
    }
    six: dict[str, Scores] = {}
    if options.logits:
        six = labelled_scores(from_logits(Path(folder), name, calibration, SIX)[1])
    elif options.predictions:
        six = labelled_scores(from_predictions(options.predictions, SIX)[1])
    if six:  # the sets of the results, on which nothing was fitted
        result["six"] = {
            point: measured(six, value) for point, value in {**points, "default": 0.5}.items()
        }
        print(json.dumps(result["six"], indent=1))
    options.out.write_text(json.dumps(result) + "\n", encoding="utf-8")
    config["operating_points"] = points
    options.config.write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(result["measured"], indent=1))
    print(f"{options.config} is changed: run python -m training.refresh_digests")


if __name__ == "__main__":
    main()
