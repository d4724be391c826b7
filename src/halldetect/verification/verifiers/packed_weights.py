"""Weights that are stored in 4 bits and computed with in 8.

A file of 4-bit weights is half the size of one of 8-bit weights, but processors have no
arithmetic for them. So they are unpacked once, when the model is loaded, in whole numbers only:
the same on every machine. `training/base/quantise.py` writes such files.

For a matrix NAME of (inputs, outputs) the file beside the model holds

    NAME.codes   (inputs / 2, outputs)       two 4-bit codes a byte, the lower half of the
                                             inputs in the low bits
    NAME.zeros   (inputs / block, outputs)   the code that means zero, a block
    NAME.steps   (inputs / block, outputs)   what one code is worth, in 256ths

and the 8-bit weight is (code - zero) x step / 256, rounded. It stays between -63 and 63, so
that sums of two products fit 16 bits: older processors cut them off there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SUFFIX = ".npz"
LARGEST = 63
UNIT = 256


def packed_beside(model: Path) -> Path:
    """The file with the packed weights of a model."""
    return model.with_name(model.name + SUFFIX)


def unpacked(file: Path) -> Iterator[tuple[str, NDArray[np.int8]]]:
    """Each matrix by name, ready for the runtime."""
    with np.load(file, allow_pickle=False) as stored:
        names = [key.removesuffix(".codes") for key in stored.files if key.endswith(".codes")]
        for name in names:
            parts = (stored[f"{name}.{part}"] for part in ("codes", "zeros", "steps"))
            yield name, weights(*parts)


def weights(
    codes: NDArray[np.uint8], zeros: NDArray[np.uint8], steps: NDArray[np.int16]
) -> NDArray[np.int8]:
    """The 8-bit weights of one matrix from its codes, zeros and steps."""
    half, outputs = codes.shape
    blocks = len(steps)
    block = 2 * half // blocks
    result = np.empty((blocks, block, outputs), np.int8)
    flat = result.reshape(2 * half, outputs)
    np.bitwise_and(codes, 15, out=flat[:half].view(np.uint8))
    np.right_shift(codes, 4, out=flat[half:].view(np.uint8))
    result -= zeros.astype(np.int8)[:, None]
    for at in range(blocks):  # a block at a time, so that wide numbers stay in the cache
        wide: NDArray[Any] = result[at].astype(np.int16) * steps[at]
        wide += UNIT // 2
        wide >>= 8
        result[at] = wide
    return flat
