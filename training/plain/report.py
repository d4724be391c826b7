"""Figures of a student on the plain facts that are held out, by kind.

    python -m training.plain.report WORK --model plain [--unpacked]

Judges WORK/plain_dev.npz. A right sentence passes and a wrong one is caught at a support of 0.5,
with the calibration of the package. Writes WORK/NAME_plain.json.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from training.base.encoder import Encoder
from training.base.rounded import RoundedWeights
from training.plain import windows
from training.plain.answers import auroc, logits_of, supports
from training.plain.mine import table


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", required=True, help="a folder in WORK")
    parser.add_argument("--unpacked", action="store_true", help="it comes from the package")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    corpus = windows.load(options.work / "plain_dev.npz")
    model = Encoder.load(options.work / options.model).to(options.device)
    if not options.unpacked:
        RoundedWeights(model).round()
    found = supports(logits_of(model, corpus.bags, options.device), corpus.bags)
    right, wrong, kinds = found[::2], found[1::2], corpus.kinds[::2]
    certain = corpus.certain[::2]
    figures = {}
    for name, mine in (("made", certain), ("real", ~certain)):
        print(f"{options.model}, {name}")
        print(table(kinds[mine], right[mine], wrong[mine], np.ones(mine.sum(), bool)))
        figures[name] = {
            windows.NAMES[kind]: [
                int((here := mine & (kinds == kind)).sum()),
                round(float(np.mean(right[here] >= 0.5)), 4),
                round(float(np.mean(wrong[here] < 0.5)), 4),
                round(auroc(right[here], wrong[here]), 4),
            ]
            for kind in np.unique(kinds[mine])
        }
    path = options.work / f"{options.model}_plain.json"
    path.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
