"""Convert a shipped folder back into a student in fp16, to train it further or to compare with it.

    python -m training.base.unpack src/halldetect/weights/base WORK/base

The weights stay rounded.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from halldetect.verification.verifiers.onnx import packed_beside, unpacked
from training.base.encoder import Encoder, Shape

# Constants of MPNet that an export does not contain.
_HEADS, _PAD, _SEPARATOR, _EPSILON = 12, 1, 2, 1e-5
_KEPT = ("norm.", "distance.", "dense.bias", "classify.")

Arrays = dict[str, NDArray[Any]]


def student(folder: Path) -> Encoder:
    """Return the encoder of a shipped folder."""
    import onnx
    from onnx import numpy_helper

    file = folder / "model.onnx"
    model = onnx.load(str(file), load_external_data=False)
    stored: Arrays = {
        item.name: numpy_helper.to_array(item)
        for item in model.graph.initializer
        if item.data_location != onnx.TensorProto.EXTERNAL
    } | dict(unpacked(packed_beside(file)))
    state: Arrays = {
        name.removeprefix("model."): value
        for name, value in stored.items()
        if name.removeprefix("model.").startswith(_KEPT) and not name.endswith("_zero")
    }
    for name, value in stored.items():
        if ".layer." in name:
            state[name.replace(".layer.", ".")] = value
    for name in ("words", "places"):
        state[f"{name}.weight"] = _table(stored, f"model.{name}.weight")
    state["dense.weight"] = _matrix(stored, "model.dense.weight")
    layers = sum(name.endswith(".down_int8") for name in stored)
    for at in range(layers):
        for name in ("out", "up", "down"):
            state[f"layers.{at}.{name}.weight"] = _matrix(stored, f"layers.{at}.{name}")
        qkv = _matrix(stored, f"layers.{at}.qkv")
        if f"layers.{at}.query_int8" in stored:
            qkv = np.concatenate([_matrix(stored, f"layers.{at}.query"), qkv])
        state[f"layers.{at}.qkv.weight"] = qkv
    vocabulary, hidden = state["words.weight"].shape
    shape = Shape(
        kind="mpnet",
        vocabulary=vocabulary,
        hidden=hidden,
        layers=layers,
        heads=_HEADS,
        inner=len(state["layers.0.up.bias"]),
        positions=len(state["places.weight"]),
        pad=_PAD,
        separator=_SEPARATOR,
        epsilon=_EPSILON,
        buckets=len(state["distance.weight"]),
    )
    found = Encoder(shape, 0.0)
    found.load_state_dict({name: torch.tensor(value) for name, value in state.items()})
    found.eval()
    return found


def _matrix(stored: Arrays, name: str) -> NDArray[np.float32]:
    """Return a matrix in the layout of torch, (outputs, inputs)."""
    return (stored[f"{name}_int8"].astype(np.float32) * stored[f"{name}_scale"]).T


def _table(stored: Arrays, name: str) -> NDArray[np.float32]:
    if name in stored:  # small matrices are not rounded
        return stored[name]
    codes, zeros = (
        np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.float32)
        for packed in (stored[f"{name}_int4"], stored[f"{name}_zero"])
    )
    rows, blocks = zeros.shape
    steps = codes.reshape(rows, blocks, -1) - zeros[..., None]
    table: NDArray[np.float32] = steps * stored[f"{name}_scale"].astype(np.float32)[..., None]
    return table.reshape(rows, -1)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shipped", type=Path)
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    student(options.shipped).save(options.out)


if __name__ == "__main__":
    main()
