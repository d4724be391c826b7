"""What 8-bit arithmetic costs, and the minimal pairs, on the weights as shipped.

    python -m training.base.shipped WORK --logits WORK/base_rounded_logits.npz \\
        --out benchmarks/results/base/shipped.json

The shipped weights are compared with the logits of the same weights in fp16.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from halldetect.protocols import Verifier
from halldetect.verification.verifiers import load_verifier
from training.base.batches import CODES, read_pairs
from training.base.calibrate import softmax


def measure(verifier: Verifier, rows: list[dict[str, object]], whole: Any) -> dict[str, Any]:
    """Accuracy on the rows and on our minimal pairs; `whole` is what fp16 says of the rows."""
    from tests.support.checks_suite import accuracy_by_phenomenon

    gold = np.array([CODES[str(row["label"])] for row in rows])
    found = verifier.judge([(str(row["premise"]), str(row["hypothesis"])) for row in rows])
    said = np.array([[p.entailment, p.neutral, p.contradiction] for p in found])
    right = said.argmax(1) == gold
    result: dict[str, Any] = {
        "digest": verifier.description["digest"],
        "mnli_dev": {"rows": len(rows), "accuracy_shipped": round(float(right.mean()), 4)},
    }
    if whole is not None:
        lost = (whole.argmax(1) == gold).astype(float) - right
        result["mnli_dev"] |= {
            "accuracy_fp16": round(float((whole.argmax(1) == gold).mean()), 4),
            "lost": round(float(lost.mean()), 4),
            "lost_standard_error": round(float(lost.std() / len(rows) ** 0.5), 4),
            "same_label": round(float((whole.argmax(1) == said.argmax(1)).mean()), 4),
            "mean_change": round(float(np.abs(whole - said).mean()), 4),
        }
    checks = accuracy_by_phenomenon(verifier)
    result["checks"] = {name: list(counts) for name, counts in checks.items()}
    result["checks_accuracy"] = round(
        sum(right for right, _ in checks.values()) / sum(of for _, of in checks.values()), 4
    )
    return result


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--logits", type=Path, help="of the base in fp16")
    parser.add_argument("--temperature", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    rows = read_pairs(options.work / "nli" / "mnli_dev.eval.jsonl.xz")
    chosen = np.random.default_rng(0).choice(len(rows), options.rows, replace=False)
    picked = [rows[i] for i in chosen]
    whole = None
    if options.logits is not None:
        whole = softmax(np.load(options.logits)["mnli_dev"][chosen] / options.temperature)
    result = {"base": measure(load_verifier("base"), picked, whole)}
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result))


if __name__ == "__main__":
    main()
