"""Tokenised pairs and batches with little padding."""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

CODES = {"entailment": 0, "neutral": 1, "contradiction": 2, "not_entailment": 3, "": 4}
STEP = 16  # lengths are rounded up to this for the alignment of the fused kernels


@dataclass
class Encoded:
    """Pairs as one array of token ids with offsets."""

    ids: np.ndarray
    offsets: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    taught: np.ndarray | None = None  # a teacher's probabilities; NaN without an answer

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @cached_property
    def lengths(self) -> np.ndarray:
        """The number of tokens of each pair."""
        return np.diff(self.offsets)

    def sample(self, share: float, seed: int) -> Encoded:
        """Return a random part of the pairs."""
        return self.picked(np.random.default_rng(seed).random(len(self)) < share)

    def picked(self, kept: np.ndarray) -> Encoded:
        """Return the pairs for which `kept` is true."""
        return Encoded(
            ids=self.ids[np.repeat(kept, self.lengths)],
            offsets=np.concatenate([[0], np.cumsum(self.lengths[kept])]),
            labels=self.labels[kept],
            weights=self.weights[kept],
            taught=None if self.taught is None else self.taught[kept],
        )


def read_pairs(path: Path) -> list[dict[str, object]]:
    """Return the pairs of a JSON-lines file, which may be compressed with xz."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def pair_encoder(
    folder: Path, limit: int
) -> Callable[[Sequence[tuple[str, str]]], list[list[int]]]:
    """Return an encoder of premise and hypothesis; a long premise is cut at the end."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit, strategy="only_first")
    return lambda pairs: [item.ids for item in tokenizer.encode_batch(list(pairs))]


def encode(
    rows: Sequence[dict[str, object]],
    encoder: Callable[[Sequence[tuple[str, str]]], list[list[int]]],
) -> Encoded:
    """Tokenise pairs with `encoder`, a function of (premise, hypothesis) pairs."""
    pieces: list[np.ndarray] = []
    lengths: list[int] = []
    for start in range(0, len(rows), 20_000):
        part = rows[start : start + 20_000]
        encoded = encoder([(str(row["premise"]), str(row["hypothesis"])) for row in part])
        lengths.extend(map(len, encoded))
        pieces.append(np.concatenate([np.asarray(ids, dtype=np.int32) for ids in encoded]))
    return Encoded(
        ids=np.concatenate(pieces),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.array([CODES[str(row.get("label") or "")] for row in rows]),
        weights=np.array([row.get("weight", 1.0) for row in rows], dtype=np.float32),
    )


def encode_file(path: Path, name: str, encoder: Callable[..., list[list[int]]]) -> Encoded:
    """Return the encoded pairs of a file, cached next to it for each tokenizer."""
    cache = path.with_suffix(f".{name}.npz")
    if not cache.exists():
        data = encode(read_pairs(path), encoder)
        partial = cache.with_suffix(".partial.npz")
        np.savez(
            partial, ids=data.ids, offsets=data.offsets, labels=data.labels, weights=data.weights
        )
        partial.rename(cache)
    found = np.load(cache)
    return Encoded(found["ids"], found["offsets"], found["labels"], found["weights"])


def joined(parts: Sequence[Encoded]) -> Encoded:
    """Join several sets of pairs."""
    lengths = np.concatenate([part.lengths for part in parts])
    taught = None
    if any(part.taught is not None for part in parts):
        unasked = [np.full((len(part), 3), np.nan, np.float32) for part in parts]
        taught = np.concatenate(
            [
                none if part.taught is None else part.taught
                for part, none in zip(parts, unasked, strict=True)
            ]
        )
    return Encoded(
        ids=np.concatenate([part.ids for part in parts]),
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        labels=np.concatenate([part.labels for part in parts]),
        weights=np.concatenate([part.weights for part in parts]),
        taught=taught,
    )


def batches(
    data: Encoded, tokens: int, rng: np.random.Generator | None, most: int | None = None
) -> list[np.ndarray]:
    """Return groups of pairs of similar length, about `tokens` long; shuffled by `rng`.

    `most` limits the pairs of a group: a thousand short pairs in one step would be too few steps
    for what they teach.
    """
    most = most or len(data)
    lengths = data.lengths
    noise = rng.random(len(lengths)) if rng is not None else np.zeros(len(lengths))
    order = np.lexsort((noise, -(-lengths // STEP)))
    groups: list[np.ndarray] = []
    start = 0
    while start < len(order):
        # Ascending order: the last pair of a group is its longest, so grow until it is full.
        width = STEP * int(-(-lengths[order[start]] // STEP))
        stop = min(len(order), start + max(1, min(most, tokens // width)))
        width = STEP * int(-(-lengths[order[stop - 1]] // STEP))
        stop = min(stop, start + max(1, min(most, tokens // width)))
        groups.append(order[start:stop])
        start = stop
    if rng is not None:
        rng.shuffle(groups)
    return groups


def padded(data: Encoded, rows: np.ndarray, pad: int) -> tuple[Tensor, Tensor]:
    """Return the token ids and the mask of some rows, padded with `pad`."""
    width = STEP * int(-(-data.lengths[rows].max() // STEP))
    ids = np.full((len(rows), width), pad, dtype=np.int64)
    mask = np.zeros((len(rows), width), dtype=np.int64)
    for line, row in enumerate(rows):
        part = data.ids[data.offsets[row] : data.offsets[row + 1]]
        ids[line, : len(part)] = part
        mask[line, : len(part)] = 1
    return torch.from_numpy(ids), torch.from_numpy(mask)


def prefetched(
    data: Encoded, groups: Sequence[np.ndarray], pad: int, device: str
) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """Yield batches built by threads while the device works on the previous one."""
    from concurrent.futures import ThreadPoolExecutor

    def make(rows: np.ndarray) -> tuple[np.ndarray, Tensor, Tensor]:
        ids, mask = padded(data, rows, pad)
        if device != "cpu":
            ids, mask = ids.pin_memory(), mask.pin_memory()
        return rows, ids, mask

    with ThreadPoolExecutor(4) as pool:
        waiting = []
        for rows in groups:
            waiting.append(pool.submit(make, rows))
            if len(waiting) >= 12:
                rows, ids, mask = waiting.pop(0).result()
                yield rows, ids.to(device, non_blocking=True), mask.to(device, non_blocking=True)
        for item in waiting:
            rows, ids, mask = item.result()
            yield rows, ids.to(device, non_blocking=True), mask.to(device, non_blocking=True)
