"""Judge unlabelled claims with one adapter or the mean of several, for a smaller model to learn.

    python -m training.large.label WORK --adapter WORK/soup.safetensors --out WORK/labels

Reads WORK/teach_groups.jsonl.xz and writes parts labels_0000.npz, labels_0001.npz, ...: for the
claims `first` to `last` of the file, in its order, P(entailment), P(neutral) and P(contradiction)
as float16. Existing parts are kept, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch

from training.large import adapter, pack
from training.large.model import Verifier
from training.large.train import judged


def label(options: argparse.Namespace) -> None:
    """Judge part after part until all exist or the time is up."""
    start = time.monotonic()
    data = pack.load(options.work / options.groups, options.work / "base.gguf")
    adapters = [adapter.read(path) for path in options.adapter]
    model = Verifier(
        options.work / "base.gguf", device=options.device, kind=options.attention,
        dtype=torch.bfloat16 if options.device == "cuda" else torch.float32,
        compiled=not options.no_compile, rank=64,
    )  # fmt: skip
    options.out.mkdir(parents=True, exist_ok=True)
    lengths = np.diff(data.offsets).clip(max=options.longest)
    tails = np.add.reduceat(
        np.append(np.diff(data.tail_offsets), 0), np.minimum(data.first[:-1], data.claims)
    )
    tails[np.diff(data.first) == 0] = 0
    # Groups of about the same number of tokens per part, in the order of the file.
    numbers = (np.cumsum(lengths + tails) - 1) // options.tokens
    if len(adapters) == 1:
        model.load(adapters[0], rank=64)
    for number in range(int(numbers[-1]) + 1 if len(numbers) else 0):
        path = options.out / f"labels_{number:04d}.npz"
        if path.exists():
            continue
        if options.seconds and time.monotonic() - start > options.seconds:
            print(f"stopped before part {number}", flush=True)
            break
        began = time.monotonic()
        groups = np.flatnonzero(numbers == number)
        first, last = int(data.first[groups[0]]), int(data.first[groups[-1] + 1])
        total = np.zeros((last - first, 3), np.float32)
        for item in adapters:
            if len(adapters) > 1:
                model.load(item, rank=64)
            logits = judged(
                model, data, groups, options.row, options.rows, options.longest, first, last
            )
            total += torch.softmax(logits, -1).numpy()
        partial = path.with_suffix(".partial.npz")
        np.savez_compressed(
            partial, first=first, last=last,
            probabilities=(total / len(adapters)).astype(np.float16),
        )  # fmt: skip
        partial.rename(path)
        spent = time.monotonic() - began
        about = {
            "part": number, "of": int(numbers[-1]) + 1, "claims": last - first,
            "tokens_per_second": round(int((lengths + tails)[groups].sum()) / spent),
            "elapsed": round(time.monotonic() - start, 1),
        }  # fmt: skip
        print(json.dumps(about), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--adapter", type=Path, action="append", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--groups", default="teach_groups.jsonl.xz")
    parser.add_argument("--seconds", type=float, help="start no part after this time")
    parser.add_argument("--tokens", type=int, default=4_000_000, help="tokens of a part")
    parser.add_argument("--longest", type=int, default=4096, help="tokens of a source")
    parser.add_argument("--row", type=int, default=16384)
    parser.add_argument("--rows", type=int, default=2)
    parser.add_argument("--attention", default="flex")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    label(parser.parse_args())


if __name__ == "__main__":
    main()
