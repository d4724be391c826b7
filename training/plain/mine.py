"""Keep the pairs that `base` has wrong, and a part of the others.

    python -m training.plain.mine WORK --start shipped --seconds 80

Judges the pairs of WORK/plain_train.npz source by source until the time is up, and writes the
numbers of the claims that are kept to WORK/mined.npz. Prints the yield by kind.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from training.base.encoder import Encoder
from training.plain import windows
from training.plain.answers import auroc, logits_of, supports

PASSED, CAUGHT = 0.6, 0.3  # a right sentence below, a wrong one above is kept
CHUNK = 24_000  # claims judged at once


def table(kinds: np.ndarray, right: np.ndarray, wrong: np.ndarray, kept: np.ndarray) -> str:
    """Return the figures of each kind, as lines."""
    lines = [f"{'kind':11} pairs   passed  caught  auroc   missed  kept"]
    for number in (*np.unique(kinds), -1):
        mine = kinds == number if number >= 0 else np.ones(len(kinds), bool)
        name = windows.NAMES[number] if number >= 0 else "all"
        lines.append(
            f"{name:11} {mine.sum():7,} {np.mean(right[mine] >= 0.5):6.3f}  "
            f"{np.mean(wrong[mine] < 0.5):6.3f}  {auroc(right[mine], wrong[mine]):6.3f} "
            f"{np.sum(wrong[mine] > CAUGHT):7,} {kept[mine].sum():7,}"
        )
    return "\n".join(lines)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--start", required=True, help="the student that judges, a folder in WORK")
    parser.add_argument("--seconds", type=float, default=80)
    parser.add_argument("--rest", type=float, default=0.1, help="share kept of the easy pairs")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    corpus = windows.Stored(options.work / "plain_train.npz")
    model = Encoder.load(options.work / options.start)
    rng = np.random.default_rng(options.seed)
    order = rng.permutation(corpus.groups.max() + 1)[corpus.groups]
    claims = np.argsort(order, kind="stable")  # the twins of a source stay together
    started = time.monotonic()
    judged: list[np.ndarray] = []
    found: list[np.ndarray] = []
    tokens = start = 0
    while start < len(claims) and time.monotonic() - started < options.seconds:
        part = claims[start : start + CHUNK]
        chosen = corpus.corpus(part).bags
        found.append(supports(logits_of(model, chosen, options.device), chosen))
        judged.append(part)
        tokens += len(chosen.ids)
        start += CHUNK
    elapsed = time.monotonic() - started
    numbers, support = np.concatenate(judged), np.concatenate(found)
    right, wrong = support[::2], support[1::2]
    kept = (wrong > CAUGHT) | (right < PASSED) | (rng.random(len(right)) < options.rest)
    print(table(corpus.kinds[numbers[::2]], right, wrong, kept))
    print(f"{len(numbers):,} of {len(claims):,} claims, {tokens / elapsed:,.0f} tokens a second")
    both = np.repeat(kept, 2)
    np.savez(options.work / "mined.npz", claims=numbers[both], supports=support[both])


if __name__ == "__main__":
    main()
