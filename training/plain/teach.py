"""Ask the large verifier about the mined pairs that are not certain, then about the mixture.

    python -m training.plain.teach WORK --tokenise                 # beforehand, without a GPU
    python -m training.plain.teach WORK --adapter A --seconds 90

Reads WORK/plain_train.jsonl.xz, WORK/mined.npz and the mixture WORK/bag_groups.jsonl.xz. Writes
WORK/answers.npz: the answers to the mined claims and to those of the mixture, NaN without one, and
which mined pairs stay. A pair goes if the large verifier clearly says the opposite of both labels
or of one. The mixture is asked in random order until the time is up.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from training.files import read
from training.large import adapter, pack
from training.large.measure import LONGEST
from training.large.model import Verifier
from training.large.sources import readable
from training.plain import windows

FALSE, TRUE = 0.3, 0.7  # P(E) of a right sentence below, of a wrong one above: the pair goes
SAMPLE = 0.03  # of the certain pairs, to see how the teacher does on them


def shown(group: dict[str, Any]) -> str:
    """Return the source of a group as a check shows it to the large verifier."""
    if "documents" not in group:
        return str(group["premise"])
    texts = [readable(text) for text in group["documents"]]
    if len(texts) == 1:
        return texts[0]
    return "\n\n".join(f"Document {at}\n{text}" for at, text in enumerate(texts, 1))


def mined_groups(
    work: Path, chosen: np.ndarray, certain: np.ndarray, share: float = SAMPLE
) -> Iterator[dict[str, Any]]:
    """Yield the mined claims that are asked about, in the order of the corpus, with their sources.

    `chosen` and `certain` are per claim of the corpus; `at` has the numbers of the claims.
    """
    rng = np.random.default_rng(3)
    at = 0
    for group in read(work / "plain_train.jsonl.xz"):
        claims, numbers = [], []
        for pair in group["pairs"]:
            if chosen[at] and (not certain[at] or rng.random() < share):
                claims += [pair["right"], pair["wrong"]]
                numbers += [at, at + 1]
            at += 2
        if claims:
            yield {"premise": shown(group), "claims": claims, "at": numbers}


def asked(
    model: Verifier, data: pack.Groups, order: np.ndarray, row: int, until: float
) -> np.ndarray:
    """Return the probabilities of all claims that were answered before the time was up."""
    import torch

    found = torch.full((data.claims, 3), float("nan"), device=model.device)
    longest = min(LONGEST, row - int(np.diff(data.tail_offsets).max()))
    stream = pack.packed(pack.units(data, order, row, longest), row)
    with torch.no_grad():
        for step in pack.prefetched(data, stream, row, 1):
            batch = pack.to_device(step, model.device, model.kind)
            found[torch.from_numpy(step.claims).to(model.device)] = model(batch)
            if model.device == "cuda":
                torch.cuda.synchronize()
            if time.monotonic() > until:
                break
    shares: np.ndarray = torch.softmax(found, -1).cpu().numpy()
    return shares


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--tokenise", action="store_true", help="only the mixture, beforehand")
    parser.add_argument("--adapter", type=Path)
    parser.add_argument("--seconds", type=float, default=90)
    parser.add_argument("--row", type=int, default=16384)
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    work, base = options.work, options.work / "base.gguf"
    started = time.monotonic()
    mixture = pack.load(work / "bag_groups.jsonl.xz", base)
    if options.tokenise:
        print(f"{mixture.claims:,} claims, {len(mixture.ids) + len(mixture.tail_ids):,} tokens")
        return
    stored = windows.Stored(work / "plain_train.npz")
    kinds, certain = stored.kinds, stored.certain
    mined = np.load(work / "mined.npz")["claims"]
    chosen = np.zeros(len(kinds), bool)
    chosen[mined] = True
    groups = list(mined_groups(work, chosen, certain))
    plain = pack.tokenise(groups, base)
    numbers = np.array([at for group in groups for at in group["at"]], np.int64)
    model = Verifier(base, device=options.device, rank=64)
    model.load(adapter.read(options.adapter), rank=64)
    ready = time.monotonic() - started
    print(f"{len(numbers):,} mined claims; ready after {ready:.0f} s", flush=True)
    until = time.monotonic() + options.seconds
    began = time.monotonic()
    answers = np.full((len(kinds), 3), np.nan, np.float32)
    answers[numbers] = asked(model, plain, np.arange(len(plain)), options.row, until)
    print(f"mined: {time.monotonic() - began:.0f} s", flush=True)
    order = np.random.default_rng(4).permutation(len(mixture))
    others = asked(model, mixture, order, options.row, until)
    print(f"mixture: {(~np.isnan(others[:, 0])).sum():,} of {len(others):,} claims after "
          f"{time.monotonic() - began:.0f} s", flush=True)  # fmt: skip
    stays = agreed(answers[mined], kinds[mined], certain[mined])
    np.savez(work / "answers.npz", mined=mined[stays], plain=answers[mined[stays]], mixture=others)


def agreed(answers: np.ndarray, kinds: np.ndarray, certain: np.ndarray) -> np.ndarray:
    """Return which mined claims stay, and print the agreement by kind."""
    right, wrong = answers[::2, 0], answers[1::2, 0]
    kinds, certain = kinds[::2], certain[::2]
    known = ~np.isnan(right) & ~np.isnan(wrong)
    against = known & ((right < FALSE) | (wrong > TRUE))
    print("kind         asked  agrees   certain: asked  agrees")
    for kind in np.unique(kinds):
        mine = known & (kinds == kind)
        cells = []
        for part in (mine & ~certain, mine & certain):
            share = 1 - against[part].mean() if part.any() else float("nan")
            cells.append(f"{part.sum():7,} {share:7.3f}")
        print(f"{windows.NAMES[kind]:11} {cells[0]}   {cells[1]}", flush=True)
    # A pair that is not certain and was not answered in time is left out too.
    stays: np.ndarray = np.repeat(certain | (known & ~against), 2)
    print(f"{stays.sum() // 2:,} of {len(stays) // 2:,} pairs stay", flush=True)
    return stays


if __name__ == "__main__":
    main()
