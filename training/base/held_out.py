"""How weights judge the claims written by hand that were held out of training.

    python -m training.base.held_out WORK/handmade_dev.jsonl.xz FOLDER [FOLDER ...] \
        --out benchmarks/results/base/held_out.json

Each FOLDER holds weights as the package ships them. A claim is judged on its whole source, with
several weights of the contradiction. A development measure beside those of `calibrate`: it shows
reading, not the ranking of summaries.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.report import Probabilities
from halldetect.scoring import Calibration
from halldetect.verification.verifiers import load_verifier
from training.base.taught import groups
from training.large.calibrate import WEIGHTS_TRIED, log_loss

LABELS = "ENC"


def measured(said: np.ndarray, gold: Sequence[str]) -> dict[str, Any]:
    """Shares of claims, and for each weight of the contradiction what it comes to.

    Args:
        said: probabilities of entailment, neutral and contradiction, one row per claim.
        gold: the labels of the claims.
    """
    label = np.array([LABELS.index(name) for name in gold])
    answer = said.argmax(1)
    true, against = label == 0, label == 2
    by_weight = {}
    for weight in WEIGHTS_TRIED:
        calibration = Calibration(contradiction_weight=weight)
        supports = np.array(
            [calibration.window_support(Probabilities(*map(float, row))) for row in said]
        )
        supported = supports > calibration.supported_above
        by_weight[str(weight)] = {
            "log_loss": round(log_loss(~true, 1 - supports), 4),
            "true_flagged": round(float((~supported[true]).mean()), 4),
            "false_passed": round(float(supported[~true].mean()), 4),
        }
    return {
        "right": round(float((answer == label).mean()), 4),
        "contradictions_called_so": round(float((answer[against] == 2).mean()), 4),
        "contradiction_weights": by_weight,
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("groups", type=Path)
    parser.add_argument("weights", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = [
        (group["premise"], claim["text"], claim["label"])
        for group in groups(options.groups)
        for claim in group["claims"]
    ]
    result: dict[str, Any] = {
        "claims": len(rows),
        "rows_sha256": hashlib.sha256(options.groups.read_bytes()).hexdigest(),
        "weights": {},
    }
    for folder in options.weights:
        verifier = load_verifier(str(folder))
        found = verifier.judge([(premise, claim) for premise, claim, _ in rows])
        said = np.array([[p.entailment, p.neutral, p.contradiction] for p in found])
        figures = measured(said, [label for *_, label in rows])
        result["weights"][verifier.description["digest"]] = figures
        print(folder, figures, flush=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
