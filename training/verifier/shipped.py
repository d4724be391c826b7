"""Step 8: what quantisation costs, and the minimal pairs, on the weights as shipped.

    python -m training.verifier.shipped --logits WORK/base_logits.npz --temperature T \\
        --nli SHARED/nli --out benchmarks/results/shipped.json
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

from halldetect.verifiers import load_verifier
from training.verifier.batches import CODES, read_pairs
from training.verifier.calibrate import softmax

TESTS = Path(__file__).parents[2] / "tests"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logits", type=Path, required=True, help="of the fp16 weights")
    parser.add_argument("--temperature", type=float, required=True)
    parser.add_argument("--nli", type=Path, required=True)
    parser.add_argument("--rows", type=int, default=700)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    verifier = load_verifier(None)
    rows = read_pairs(options.nli / "mnli_dev.eval.jsonl.xz")
    chosen = np.random.default_rng(0).choice(len(rows), options.rows, replace=False)
    gold = np.array([CODES[str(rows[i]["label"])] for i in chosen])
    whole = softmax(np.load(options.logits)["mnli_dev"][chosen] / options.temperature)
    found = verifier.judge([(str(rows[i]["premise"]), str(rows[i]["hypothesis"])) for i in chosen])
    small = np.array([[p.entailment, p.neutral, p.contradiction] for p in found])
    sys.path.insert(0, str(TESTS))
    from checks_suite import accuracy_by_phenomenon

    checks = accuracy_by_phenomenon(verifier)
    result = {
        "digest": verifier.description["digest"],
        "mnli_dev": {
            "rows": options.rows,
            "accuracy_fp16": round(float((whole.argmax(1) == gold).mean()), 4),
            "accuracy_shipped": round(float((small.argmax(1) == gold).mean()), 4),
            "same_label": round(float((whole.argmax(1) == small.argmax(1)).mean()), 4),
            "mean_change": round(float(np.abs(whole - small).mean()), 4),
        },
        "checks": {name: list(counts) for name, counts in checks.items()},
        "checks_accuracy": round(
            sum(right for right, _ in checks.values()) / sum(of for _, of in checks.values()), 4
        ),
    }
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
