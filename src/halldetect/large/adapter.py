"""The adapter of the large verifier: low-rank maps beside the weights of its base.

Every linear map of a layer computes Wx + B(Ax), W being the base's. An adapter file (`.lora8`,
laid out like safetensors) holds for every map

    layers.N.MAP.A        rank x inputs, 8 bits
    layers.N.MAP.B        rank x outputs (B transposed), 8 bits
    layers.N.MAP.A.scale  rank x runs, float16: one scale per run of equal length in a row

with MAP one of q, k, v, o, g, u, dn. A number is float16(int8 x scale) in every runtime. Its
metadata are strings:

    format       "halldetect-lora8"
    base_sha256  digest of the base it was trained on; it fits no other
    temperature  what the logits are divided by
    languages    JSON, the languages it was trained on (optional)
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError
from halldetect.large.gguf_tensors import write_gguf

FORMAT = "halldetect-lora8"
# Short name of a map -> the name llama.cpp gives it.
MAPS = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "g": "ffn_gate",
    "u": "ffn_up",
    "dn": "ffn_down",
}
_RUN = 64  # numbers that share a scale, where the row can be divided so
_DTYPES: dict[str, Any] = {"I8": np.int8, "F16": np.float16, "F32": np.float32}


@dataclass(frozen=True, slots=True)
class Adapter:
    """An adapter in memory.

    tensors      `layers.N.MAP.A` (rank x inputs) and `.B` (outputs x rank), float32
    base_sha256  digest of the base it belongs to
    temperature  what the logits are divided by
    languages    the languages it was trained on, or None
    """

    tensors: Mapping[str, NDArray[np.float32]]
    base_sha256: str
    temperature: float = 1.0
    languages: tuple[str, ...] | None = None

    def map(self, layer: int, name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """A and B of one map."""
        key = f"layers.{layer}.{name}"
        return self.tensors[f"{key}.A"], self.tensors[f"{key}.B"]

    def product(self, layer: int, name: str) -> NDArray[np.float32]:
        """What one map adds to the weights: B times A, outputs x inputs."""
        a, b = self.map(layer, name)
        return b @ a

    def check_fits(self, sizes: Mapping[str, tuple[int, int]], layers: int) -> None:
        """Raise ModelError unless there is a map of the right size for every map of the base.

        Args:
            sizes: inputs and outputs by the short name of a map.
            layers: number of layers of the base.
        """
        for layer in range(layers):
            for name, (inputs, outputs) in sizes.items():
                key = f"layers.{layer}.{name}"
                a, b = self.tensors.get(f"{key}.A"), self.tensors.get(f"{key}.B")
                if a is None or b is None:
                    raise ModelError(f"the adapter has no map {key}")
                if (a.shape[1], b.shape[0]) != (inputs, outputs) or a.shape[0] != b.shape[1]:
                    raise ModelError(f"the map {key} of the adapter does not fit its base")
        if len(self.tensors) != 2 * len(sizes) * layers:
            raise ModelError("the adapter has more maps than its base")


def read_adapter(path: Path) -> Adapter:
    """Read a `.lora8` file; ModelError if it is not one."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ModelError(f"cannot read the adapter {path}: {error.strerror}") from error
    try:
        metadata, stored = _split(data)
        if metadata.get("format") != FORMAT:
            raise ValueError(f"its format is not {FORMAT}")
        languages = json.loads(metadata.get("languages", "null"))
        temperature = float(metadata["temperature"])
        if not (math.isfinite(temperature) and temperature > 0.0):
            raise ValueError("its temperature is not positive")
        tensors = {name: _unrounded(name, stored) for name in stored if not name.endswith(".scale")}
        return Adapter(
            tensors,
            metadata["base_sha256"],
            temperature,
            None if languages is None else tuple(languages),
        )
    except KeyError as error:
        raise ModelError(f"{path} is not an adapter of the large verifier: no {error}") from error
    except (ValueError, TypeError, AttributeError, struct.error) as error:
        raise ModelError(f"{path} is not an adapter of the large verifier: {error}") from error


def write_adapter(path: Path, adapter: Adapter) -> None:
    """Write a `.lora8` file, rounded to 8 bits.

    Args:
        path: the file; it appears whole or not at all.
        adapter: what to write.
    """
    stored: dict[str, NDArray[Any]] = {}
    for name, values in adapter.tensors.items():
        stored[name], stored[f"{name}.scale"] = _rounded(name, values)
    about = _metadata(adapter.base_sha256, adapter.temperature, adapter.languages)
    _write(path, about, stored)


def stamp_adapter(
    source: Path,
    target: Path,
    *,
    base_sha256: str,
    temperature: float,
    languages: Sequence[str] | None = None,
) -> None:
    """Copy a `.lora8` file with other metadata; its numbers stay what they are, bit for bit.

    Args:
        source: the file, whose metadata may lack everything.
        target: the copy; it appears whole or not at all.
        base_sha256: digest of the base it was trained on.
        temperature: what the logits are divided by.
        languages: the languages it was trained on.
    """
    try:
        _, stored = _split(source.read_bytes())
    except OSError as error:
        raise ModelError(f"cannot read the adapter {source}: {error.strerror}") from error
    except (ValueError, TypeError, KeyError, AttributeError, struct.error) as error:
        raise ModelError(f"{source} is not an adapter of the large verifier: {error}") from error
    _write(target, _metadata(base_sha256, temperature, languages), stored)


def _metadata(
    base_sha256: str, temperature: float, languages: Sequence[str] | None
) -> dict[str, str]:
    found = {"format": FORMAT, "base_sha256": base_sha256, "temperature": repr(float(temperature))}
    if languages is not None:
        found["languages"] = json.dumps(list(languages))
    return found


def _write(path: Path, metadata: Mapping[str, str], stored: Mapping[str, NDArray[Any]]) -> None:
    header: dict[str, Any] = {"__metadata__": metadata}
    kinds = {np.dtype(kind): label for label, kind in _DTYPES.items()}
    at = 0
    for name, numbers in stored.items():
        header[name] = {
            "dtype": kinds[numbers.dtype],
            "shape": list(numbers.shape),
            "data_offsets": [at, at + numbers.nbytes],
        }
        at += numbers.nbytes
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % 8)
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as file:
        file.write(struct.pack("<Q", len(head)) + head)
        for numbers in stored.values():
            file.write(np.ascontiguousarray(numbers).data)
    partial.replace(path)


def write_llama_adapter(path: Path, adapter: Adapter) -> None:
    """Write the adapter as llama.cpp loads it beside its base, float16.

    An alpha of 0 tells llama.cpp to scale nothing, whatever the rank of a map.
    """
    metadata = {
        "general.architecture": "qwen2",
        "general.type": "adapter",
        "general.name": "HallDetect large verifier",
        "adapter.type": "lora",
        "adapter.lora.alpha": 0.0,
    }
    tensors = {}
    for name, values in adapter.tensors.items():
        _, layer, short, side = name.split(".")
        key = f"blk.{layer}.{MAPS[short]}.weight.lora_{side.lower()}"
        tensors[key] = values.astype(np.float16)
    write_gguf(path, metadata, tensors)


def _split(data: bytes) -> tuple[dict[str, str], dict[str, NDArray[Any]]]:
    """Metadata and tensors of a file laid out like safetensors."""
    (length,) = struct.unpack_from("<Q", data)
    if length > len(data) - 8:
        raise ValueError("it ends in the middle of its header")
    header = json.loads(data[8 : 8 + length])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        first, last = entry["data_offsets"]
        kind = _DTYPES[entry["dtype"]]
        values = np.frombuffer(data[8 + length + first : 8 + length + last], kind)
        tensors[name] = values.reshape(entry["shape"])
    return metadata, tensors


def _rounded(
    name: str, values: NDArray[np.float32]
) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    rows = values.T if name.endswith(".B") else values
    runs = rows.reshape(rows.shape[0], -1, math.gcd(rows.shape[1], _RUN))
    # The scale is rounded first, so that the numbers fit the scale that is stored.
    scale = np.maximum(np.abs(runs).max(-1) / 127, 6e-8).astype(np.float16)
    numbers = np.rint(runs / scale.astype(np.float32)[:, :, None]).clip(-127, 127)
    return numbers.astype(np.int8).reshape(rows.shape), scale


def _unrounded(name: str, stored: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    numbers = stored[name]
    scale = stored[f"{name}.scale"].astype(np.float32)
    runs = numbers.astype(np.float32).reshape(numbers.shape[0], scale.shape[1], -1)
    rows = (runs * scale[:, :, None]).reshape(numbers.shape).astype(np.float16).astype(np.float32)
    return np.ascontiguousarray(rows.T) if name.endswith(".B") else rows
