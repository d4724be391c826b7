"""Pairs for the small verifier: windows that the large one judged, and labelled pairs.

    python -m training.base.taught WORK encode      # WORK/taught.npz, from the groups below
    python -m training.base.taught WORK describe    # how many pairs, and where they come from

Reads WORK/teach_groups.jsonl.xz (`training.large.teach`) and WORK/train_groups.jsonl.xz
(`training.large.data`). `load` joins the answers of the large verifier (`training.large.label`) to
the first, in the order of the file, so that encoding need not wait for them.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from training.base.batches import Encoded
from training.base.encoder import TOKENIZER

CODES = {"E": 0, "N": 1, "C": 2, "notE": 3, None: 4}
WORDS = 330  # of a premise that is read whole
LIMIT = 512
# The share of labelled claims added to the judged ones. Short premises are cheap to read, and
# `teach` has few of them.
SHARES = {"short": 1.0, "long": 0.7}
SHORT = 40  # words
PLAIN = 0.95  # P(neutral) from which a window is clearly irrelevant
CHUNK = 4000  # groups encoded at once

Group = dict[str, Any]


def groups(path: Path) -> Iterator[Group]:
    """Yield the lines of a file of groups."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def in_parts(source: Iterable[Group], size: int) -> Iterator[list[Group]]:
    """Yield groups in lists of `size`; the last may be shorter."""
    rest = iter(source)
    while part := list(islice(rest, size)):
        yield part


def labelled(path: Path, seed: int) -> Iterator[Group]:
    """Yield premises short enough for a small verifier, with some of their labelled claims.

    Args:
        path: the training groups of the large verifier.
        seed: the seed of the choice.
    """
    rng = random.Random(seed)
    for group in groups(path):
        words = len(group["premise"].split())
        if words > WORDS:
            continue
        share = SHARES["short" if words < SHORT else "long"]
        claims = [claim for claim in group["claims"] if rng.random() < share]
        if claims:
            yield {**group, "claims": claims}


def encode_groups(folder: Path, part: list[Group]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return token ids, lengths and label codes of every claim with its premise.

    A premise that does not fit beside its claim is cut at the end.
    """
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    first, *between, last = tokenizer.encode("", "").ids

    def plain(texts: list[str]) -> list[list[int]]:
        return [item.ids for item in tokenizer.encode_batch(texts, add_special_tokens=False)]

    premises = plain([group["premise"] for group in part])
    claims = iter(plain([claim["text"] for group in part for claim in group["claims"]]))
    pieces: list[np.ndarray] = []
    labels: list[int] = []
    for group, premise in zip(part, premises, strict=True):
        for claim in group["claims"]:
            tail = [*between, *next(claims)[:200], last]
            ids = [first, *premise[: LIMIT - 1 - len(tail)], *tail]
            pieces.append(np.asarray(ids, np.int32))
            labels.append(CODES[claim["label"]])
    lengths = np.fromiter(map(len, pieces), np.int64, len(pieces))
    return np.concatenate(pieces), lengths, np.asarray(labels, np.int64)


def encode(options: argparse.Namespace) -> None:
    """Write WORK/taught.npz: the pairs of both files, and the number from the first."""
    folder = options.work / TOKENIZER
    taught = groups(options.work / "teach_groups.jsonl.xz")
    gold = labelled(options.work / "train_groups.jsonl.xz", options.seed)
    found = []
    counts = []
    with ProcessPoolExecutor(options.processes) as pool:
        for source in (taught, gold):
            jobs = [pool.submit(encode_groups, folder, part) for part in in_parts(source, CHUNK)]
            mine = [job.result() for job in jobs]
            counts.append(sum(len(lengths) for _, lengths, _ in mine))
            found += mine
    lengths = np.concatenate([lengths for _, lengths, _ in found])
    partial = options.work / "taught.partial.npz"
    np.savez(
        partial,
        ids=np.concatenate([ids for ids, _, _ in found]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.concatenate([labels for _, _, labels in found]),
        judged=counts[0],
    )
    partial.rename(options.work / "taught.npz")
    print(f"{counts[0]:,} windows with claims, {counts[1]:,} labelled pairs,", end=" ")
    print(f"{lengths.sum():,} tokens", flush=True)


def answers_in(folder: Path, count: int) -> np.ndarray:
    """Return the answers of the large verifier for `count` claims; NaN without an answer.

    Args:
        folder: the output of `training.large.label`; it may be incomplete.
        count: the number of claims in its input file.
    """
    found = np.full((count, 3), np.nan, np.float32)
    for part in sorted(folder.glob("labels_*.npz")):
        if not part.name.endswith(".partial.npz"):
            with np.load(part) as given:
                found[int(given["first"]) : int(given["last"])] = given["probabilities"]
    found /= found.sum(1, keepdims=True)  # they were stored in 16 bits
    return found


def load(path: Path, answers: Path, plain: float = 1.0, seed: int = 1) -> Encoded:
    """Return the pairs with an answer of the large verifier or a label.

    Args:
        path: the file of `encode`.
        answers: the folder of `training.large.label`; it may be incomplete.
        plain: the share of clearly irrelevant windows that is kept.
        seed: the seed of that choice.
    """
    found = np.load(path)
    labels = found["labels"]
    taught = answers_in(answers, len(labels))
    data = Encoded(
        ids=found["ids"],
        offsets=found["offsets"],
        labels=labels,
        weights=np.ones(len(labels), np.float32),
        taught=taught,
    )
    kept = (labels != CODES[None]) | ~np.isnan(taught[:, 0])
    silent = (labels == CODES[None]) & (taught[:, 1] > PLAIN)
    kept &= ~silent | (np.random.default_rng(seed).random(len(labels)) < plain)
    return data.picked(kept)


def describe(options: argparse.Namespace) -> None:
    """Print the table of the pairs by source."""
    rows: dict[str, Counter[str]] = {"judged": Counter(), "labelled": Counter()}
    files = {
        "judged": groups(options.work / "teach_groups.jsonl.xz"),
        "labelled": labelled(options.work / "train_groups.jsonl.xz", options.seed),
    }
    for kind, source in files.items():
        for group in source:
            rows[kind][group["source"]] += len(group["claims"])
    print("| source | windows with claims, judged by `large` | labelled pairs |\n|---|---|---|")
    names = sorted(rows["judged"] | rows["labelled"], key=lambda name: -rows["judged"][name])
    for name in names:
        print(f"| {name} | {rows['judged'][name]:,} | {rows['labelled'][name]:,} |")
    print(f"| all | {rows['judged'].total():,} | {rows['labelled'].total():,} |")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("command", choices=("encode", "describe"))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=12)
    options = parser.parse_args()
    {"encode": encode, "describe": describe}[options.command](options)


if __name__ == "__main__":
    main()
