"""The answers of `base` to claims with their windows, as fast as the device gives them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.base.bags import Bags
from training.base.encoder import Encoder

TOKENS = 131_072  # of a batch, padding included
AHEAD, THREADS = 12, 6
CONFIG = Path(__file__).parents[2] / "src" / "halldetect" / "weights" / "base" / "config.json"

Padded = tuple[np.ndarray, Tensor, Tensor]


def _batches(bags: Bags, pad: int) -> Iterator[Future[Padded]]:
    """Yield all pairs in batches of similar length, padded by threads ahead of time."""

    def padded(rows: np.ndarray) -> Padded:
        return rows, *bags.padded(rows, pad)

    lengths = bags.lengths
    order = np.argsort(-lengths, kind="stable")
    with ThreadPoolExecutor(THREADS) as pool:
        waiting: list[Future[Padded]] = []
        start = 0
        while start < len(order):
            count = max(1, TOKENS // int(lengths[order[start]] + 15))
            waiting.append(pool.submit(padded, order[start : start + count]))
            start += count
            if len(waiting) > AHEAD:
                yield waiting.pop(0)
        yield from waiting


def logits_of(model: Encoder, bags: Bags, device: str) -> np.ndarray:
    """Return the logits of all pairs of window and claim."""
    model.to(device).eval()
    found = torch.zeros((len(bags.lengths), 3), device=device)
    with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        for batch in _batches(bags, model.shape.pad):
            rows, ids, mask = batch.result()
            made = model(ids.to(device), mask.to(device)).float()
            found[torch.from_numpy(rows).to(device)] = made
    logits: np.ndarray = found.cpu().numpy()
    return logits


def supports(logits: np.ndarray, bags: Bags) -> np.ndarray:
    """Return the support of every claim: its greatest P(E) x (1 - w P(C)), calibrated as shipped.

    A claim without a window has none, and support 0.
    """
    calibration = json.loads(CONFIG.read_text(encoding="utf-8"))["calibration"]
    powers = np.exp(logits - logits.max(-1, keepdims=True))
    shares = powers / powers.sum(-1, keepdims=True)
    weight = calibration.get("contradiction_weight", 1.0)
    raw = (shares[:, 0] * (1 - weight * shares[:, 2])).clip(1e-6, 1 - 1e-6)
    odds = np.log(raw / (1 - raw)) + calibration.get("offset", 0.0)
    best = np.full(len(bags.first) - 1, -30.0)
    held = np.diff(bags.first) > 0
    best[held] = np.maximum.reduceat(odds, bags.first[:-1][held])
    support: np.ndarray = 1 / (1 + np.exp(-best))
    return support


def auroc(right: np.ndarray, wrong: np.ndarray) -> float:
    """Return the share of right and wrong sentences that are in order."""
    both = np.concatenate([right, wrong])
    _, places, counts = np.unique(both, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[places]
    count = len(right)
    return float((ranks[:count].sum() - count * (count + 1) / 2) / (count * len(wrong)))
