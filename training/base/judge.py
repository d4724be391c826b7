"""Judge the claims of `training.large.measure prepare` with a student, for `measure report`.

    python -m training.base.bags encode WORK --groups eval_groups.jsonl.xz --out eval_bags.npz
    python -m training.base.judge WORK --model base --name base     # WORK/base_logits.npz

The student is rounded as the package rounds it, and every window of the detector is judged.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from training.base.bags import Bags
from training.base.encoder import Encoder
from training.base.rounded import RoundedWeights
from training.large.measure import groups_first, save_logits

TOKENS = 131_072  # of a batch, padding included


def judged(model: Encoder, bags: Bags, device: str, *, rounded: bool = True) -> np.ndarray:
    """Return the logits of all pairs.

    The weights of the student are rounded and stay so, unless it was unpacked from the package
    (`rounded` is False).
    """
    model.to(device).eval()
    if rounded:
        RoundedWeights(model).round()
    lengths = bags.lengths
    found = np.zeros((len(lengths), 3), np.float32)
    order = np.argsort(lengths, kind="stable")
    start = 0
    while start < len(order):
        stop = start + max(1, TOKENS // int(lengths[order[start]] + 32))
        while (
            stop > start + 1 and lengths[order[min(stop, len(order)) - 1]] * (stop - start) > TOKENS
        ):
            stop -= max(1, (stop - start) // 8)
        rows = order[start:stop]
        ids, mask = bags.padded(rows, model.shape.pad)
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            found[rows] = model(ids.to(device), mask.to(device)).float().cpu().numpy()
        start = stop
    return found


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", required=True, help="a folder in WORK")
    parser.add_argument("--name", required=True)
    parser.add_argument("--unpacked", action="store_true", help="it comes from the package")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    bags = Bags.load(options.work / "eval_bags.npz")
    folder = options.work / options.model
    logits = judged(Encoder.load(folder), bags, options.device, rounded=not options.unpacked)
    first = groups_first(options.work)
    file = folder / "model.safetensors"
    save_logits(options.work, options.name, logits, first, file, windows=bags.first)


if __name__ == "__main__":
    main()
