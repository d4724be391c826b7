"""Figures of a student on the plain facts that are held out, by kind.

    python -m training.plain.report WORK --model plain [--unpacked]
    python -m training.plain.report WORK/eval --answers plain shipped

Judges WORK/plain_dev.npz. A right sentence passes and a wrong one is caught at a support of 0.5,
with the calibration of the package. Writes WORK/NAME_plain.json. With `--answers`, prints the AUROC
of several students on the development sets, from the answers of `training.base.judge`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from training.base.encoder import Encoder
from training.base.rounded import RoundedWeights
from training.large.measure import Answers
from training.plain import windows
from training.plain.answers import CONFIG, auroc, logits_of, supports
from training.plain.mine import table


def compare(work: Path, names: list[str]) -> None:
    """Print the AUROC of each student on every set of WORK/eval_rows."""
    calibration = json.loads(CONFIG.read_text(encoding="utf-8"))["calibration"]
    found = [Answers(work, name).scores(calibration) for name in names]
    print(f"{'set':16} {'rows':>5} " + " ".join(f"{name:>12}" for name in names))
    rows = []
    for name, (wrong, _) in found[0].items():
        if 0 < wrong.sum() < len(wrong):
            rows.append([auroc(1 - one[name][1][~wrong], 1 - one[name][1][wrong])
                         for one in found])  # fmt: skip
            print(f"{name:16} {len(wrong):5} " + " ".join(f"{value:12.4f}" for value in rows[-1]))
    print(f"{'mean':22} " + " ".join(f"{value:12.4f}" for value in np.mean(rows, 0)))


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", help="a folder in WORK")
    parser.add_argument("--answers", nargs="+", help="names of answers of training.base.judge")
    parser.add_argument("--unpacked", action="store_true", help="it comes from the package")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    if options.answers:
        compare(options.work, options.answers)
        return
    corpus = windows.Stored(options.work / "plain_dev.npz").corpus()
    model = Encoder.load(options.work / options.model).to(options.device)
    if not options.unpacked:
        RoundedWeights(model).round()
    found = supports(logits_of(model, corpus.bags, options.device), corpus.bags)
    right, wrong, kinds = found[::2], found[1::2], corpus.kinds[::2]
    certain = corpus.certain[::2]
    figures = {}
    for name, mine in (("made", certain), ("real", ~certain)):
        if not mine.any():
            continue
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
