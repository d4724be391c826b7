"""Quantisation-aware training: the student learns with the rounded weights that ship.

The package stores the maps of a student in 4 bits and computes with them in 8
(`training.base.quantise`). `RoundedWeights` uses the rounded weights in the forward and the
backward pass and the exact ones in the step of the optimizer, so the gradient of the rounded
weights moves the exact ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from training.base.encoder import Encoder

LARGEST = 63  # as `halldetect.verification.verifiers.onnx` has it
BLOCK = 64  # weights of a map that share a scale
TABLE_BLOCK = 32  # of a table of embeddings
LEAST = 1e-6
SMALLEST = 1 << 16  # smaller matrices are not rounded


def four_bits(weight: Tensor, block: int) -> Tensor:
    """Return a matrix rounded to 4 bits in blocks of each row, as in `rounding.int4_blocks`."""
    blocks = weight.view(len(weight), -1, block)
    low = blocks.amin(-1, keepdim=True).clamp(max=0)
    high = blocks.amax(-1, keepdim=True).clamp(min=0)
    scales = ((high - low) / 15).clamp(min=LEAST)
    zeros = (-low / scales).round().clamp(0, 15)
    steps = ((blocks / scales).round() + zeros).clamp(0, 15) - zeros
    fitted = (blocks * steps).sum(-1, keepdim=True)
    fitted /= (steps * steps).sum(-1, keepdim=True).clamp(min=1)
    scales = torch.where(fitted > LEAST, fitted, scales).half().float()
    return (steps * scales).view_as(weight)


def at_work(weight: Tensor) -> Tensor:
    """Return a map as the package uses it: 4 bits in blocks, then 7 bits for each output."""
    stored = four_bits(weight, BLOCK)
    scales = stored.abs().amax(1, keepdim=True).clamp(min=1e-12) / LARGEST
    codes = (stored / scales).round()
    best = (weight * codes).sum(1, keepdim=True) / (codes * codes).sum(1, keepdim=True).clamp(min=1)
    return codes * torch.where(best > 1e-12, best, scales)


class RoundedWeights:
    """The rounded weights of a student, in place of the exact ones while `applied`."""

    def __init__(self, model: Encoder) -> None:
        """Select the matrices that the package stores in 4 bits."""
        maps = [model.dense.weight]
        for layer in model.layers:
            maps += [layer.qkv.weight, layer.out.weight, layer.up.weight, layer.down.weight]
        self._maps = [
            item for item in maps if item.numel() >= SMALLEST and item.shape[1] % (2 * BLOCK) == 0
        ]
        tables = [model.words.weight, model.places.weight]
        self._tables = [
            item
            for item in tables
            if item.numel() >= SMALLEST and item.shape[1] % (2 * TABLE_BLOCK) == 0
        ]
        self._exact = [torch.empty_like(item) for item in (*self._maps, *self._tables)]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Use the rounded weights inside this context."""
        with torch.no_grad():
            for kept, item in zip(self._exact, (*self._maps, *self._tables), strict=True):
                kept.copy_(item)
        self.round()
        yield
        with torch.no_grad():
            for kept, item in zip(self._exact, (*self._maps, *self._tables), strict=True):
                item.copy_(kept)

    def round(self) -> None:
        """Round the weights permanently."""
        with torch.no_grad():
            for item in self._maps:
                item.copy_(at_work(item.float()))
            for item in self._tables:
                item.copy_(four_bits(item.float(), TABLE_BLOCK))
