"""The adapter of the large verifier: low-rank maps beside the weights of its base.

Every linear map of a layer computes Wx + B(Ax), with W of the base. An adapter file (`.lora8`,
a safetensors file) holds for every map

    layers.N.MAP.A        rank x inputs, 8 bits
    layers.N.MAP.B        rank x outputs (B transposed), 8 bits
    layers.N.MAP.A.scale  rank x runs, float16: one scale per run of equal length in a row

with MAP one of `shape.MAPS`. A number is float16(int8 x scale) in every runtime. Its metadata:

    format       "halldetect-lora8"
    base_sha256  digest of the base it was trained on, the only one it fits
    temperature  divisor of the logits
    languages    JSON, the languages it was trained on (optional)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter in memory: `.A` is rank x inputs, `.B` outputs x rank."""

    tensors: Mapping[str, NDArray[np.float32]]
    base_sha256: str
    temperature: float = 1.0
    languages: tuple[str, ...] = ()

    def map(self, layer: int, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return A and B of one map."""
        key = f"layers.{layer}.{name}"
        return self.tensors[f"{key}.A"], self.tensors[f"{key}.B"]

    def product(self, layer: int, name: str) -> NDArray[np.float32]:
        """Return the change of one map's weights: B times A, outputs x inputs."""
        a, b = self.map(layer, name)
        return b @ a


def read_adapter(path: Path, *, maps: bool = True) -> Adapter:
    """Read a `.lora8` file, or only its metadata; its digest was compared before."""
    from safetensors import safe_open

    with safe_open(path, framework="np") as file:
        about = file.metadata()
        stored = {name: file.get_tensor(name) for name in file.keys() if maps}  # noqa: SIM118
    return Adapter(
        {name: _unrounded(name, stored) for name in stored if not name.endswith(".scale")},
        about["base_sha256"],
        float(about["temperature"]),
        tuple(json.loads(about.get("languages", "[]"))),
    )


def _unrounded(name: str, stored: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    numbers = stored[name]
    scale = stored[f"{name}.scale"].astype(np.float32)
    runs = numbers.astype(np.float32).reshape(numbers.shape[0], scale.shape[1], -1)
    rows = (runs * scale[:, :, None]).reshape(numbers.shape).astype(np.float16).astype(np.float32)
    return np.ascontiguousarray(rows.T) if name.endswith(".B") else rows
