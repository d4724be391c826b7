"""Read GGUF files: metadata, positions of the tensors, and their values.

The pure-Python `gguf` package is not used here: its reader takes half a minute and 500 MB for the
vocabulary of Qwen2, and its dequantisation is half as fast as `dequantise`, with the same numbers.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError, one_line

_STRING, _ARRAY = 8, 9
_CONTROL_TOKEN = 3
_LENGTH = struct.Struct("<Q")
# GGUF value type -> struct code.
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
# Tensor type -> its name, weights per block and bytes per block, of the types that `dequantise`
# reads. Of others, only the start is known.
_TYPES = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 12: ("Q4_K", 256, 144), 14: ("Q6_K", 256, 210)}


class Tensor(NamedTuple):
    """A tensor in a file: its type, number of rows (1 for a vector), first byte and size."""

    kind: str
    rows: int
    start: int
    size: int


class GgufFile:
    """A GGUF file, mapped into memory; only the header, with metadata and tensors, is read."""

    def __init__(self, path: Path) -> None:
        """Read the header; raise ModelError if the file is not a whole GGUF file."""
        self.path = path
        try:
            self._data: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
            self.metadata, self.tensors = _Header(self._data.data).read()
        except FileNotFoundError as error:
            raise ModelError(f"there is no model file {path}") from error
        except OSError as error:
            raise ModelError(f"cannot read the model file {path}: {error.strerror}") from error
        except Exception as error:  # a hostile header can cause any error, even MemoryError
            raise ModelError(
                f"{path} is not a whole GGUF model ({one_line(error)}); fetch or copy it again"
            ) from error

    def raw(self, name: str) -> NDArray[np.uint8]:
        """Return the bytes of a tensor, one row per row."""
        _, rows, start, size = self.tensors[name]
        return self._data[start : start + size].reshape(rows, -1)

    def rows(self, name: str, numbers: Sequence[int] | NDArray[Any]) -> NDArray[np.float32]:
        """Return some rows of a tensor, dequantised."""
        raw = self.raw(name)[np.asarray(numbers)]
        return np.asarray(dequantise(raw, self.tensors[name].kind), np.float32)

    def matrix(self, name: str) -> NDArray[np.float32]:
        """Return a whole tensor, dequantised: rows x columns."""
        return np.asarray(dequantise(self.raw(name), self.tensors[name].kind), np.float32)


def control_tokens(path: Path) -> tuple[str, ...]:
    """Return the control tokens of a GGUF model; raise ModelError for any other file."""
    metadata = GgufFile(path).metadata
    found = (metadata.get(f"tokenizer.ggml.{name}") for name in ("tokens", "token_type"))
    tokens, kinds = (values if isinstance(values, list) else [] for values in found)
    pairs = zip(tokens, kinds, strict=False)
    return tuple(str(token) for token, kind in pairs if kind == _CONTROL_TOKEN)


class _Header:
    """Reads metadata and the table of tensors; raises any exception for a damaged file."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._at = 0

    def read(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        if bytes(self._data[:4]) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        _, version, tensors, keys = self._next("4sIQQ")
        if version not in (2, 3):
            raise ValueError(f"its version is {version}")
        metadata = {}
        for _ in range(keys):
            [name], [kind] = self._strings(1), self._next("I")
            metadata[name] = self._value(kind)
        entries = []
        for _ in range(tensors):
            [name], [dimensions] = self._strings(1), self._next("I")
            entries.append((name, self._next(f"{dimensions}Q"), *self._next("IQ")))
        alignment = int(metadata.get("general.alignment", 32))
        if alignment < 1:
            raise ValueError(f"its alignment is {alignment}")
        begin = -(-self._at // alignment) * alignment
        found = {}
        for name, sizes, kind, offset in entries:
            known, weights, width = _TYPES.get(kind, (str(kind), 1, 0))
            rows = math.prod(sizes[1:])
            total = rows * sizes[0] // weights * width
            end = begin + offset + total
            if sizes[0] % weights or end > len(self._data):
                raise ValueError(f"it has {len(self._data)} bytes and should have {end}")
            found[name] = Tensor(known, rows, begin + offset, total)
        return metadata, found

    def _next(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self._data, self._at)
        self._at += struct.calcsize("<" + layout)
        return values

    def _strings(self, count: int) -> list[str]:
        """Return the next strings; vocabularies are long, so the loop makes few calls."""
        data, at, end = self._data, self._at, len(self._data)
        found = []
        for _ in range(count):
            (length,) = _LENGTH.unpack_from(data, at)
            at += 8 + length
            if at > end:
                raise ValueError("it ends in the middle of its header")
            found.append(str(data[at - length : at], "utf-8", "replace"))
        self._at = at
        return found

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._strings(1)[0]
        if kind == _ARRAY:
            inner, count = self._next("IQ")
            if inner in _SCALARS:
                return list(self._next(f"{count}{_SCALARS[inner]}"))
            if inner == _STRING:
                return self._strings(count)
            return [self._value(inner) for _ in range(count)]
        if kind not in _SCALARS:
            raise ValueError(f"it has a value of the unknown type {kind}")
        return self._next(_SCALARS[kind])[0]


def dequantise(raw: Any, kind: str) -> Any:
    """Return the float32 values of stored rows, one row per row.

    Args:
        raw: bytes as a numpy array or a torch tensor on any device; the result has the same type.
        kind: F32, F16, Q4_K or Q6_K.
    """
    library: Any = np
    if not isinstance(raw, np.ndarray):
        import torch

        library = torch

    def halves(part: Any) -> Any:
        found = part.view(library.float16)
        return found.astype(np.float32) if library is np else found.float()

    rows = len(raw)
    if kind == "F32":
        return raw.view(library.float32)
    if kind == "F16":
        return halves(raw)
    if kind == "Q4_K":  # eight runs of 32 numbers of 4 bits, with a scale and a minimum of 6 bits
        block = raw.reshape(-1, 144)
        low, mid, high = block[:, 4:8], block[:, 8:12], block[:, 12:16]
        scales = library.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], 1)
        minima = library.concatenate([mid & 63, (high >> 4) | ((mid >> 6) << 4)], 1)
        pairs = block[:, 16:].reshape(-1, 4, 32)
        numbers = library.stack([pairs & 15, pairs >> 4], 2).reshape(-1, 8, 32)
        values = numbers * (halves(block[:, :2]) * scales)[:, :, None]
        values -= (halves(block[:, 2:4]) * minima)[:, :, None]
        return values.reshape(rows, -1)
    if kind == "Q6_K":  # sixteen runs of 16 numbers of 6 bits, with a scale of 8 bits
        block = raw.reshape(-1, 210)
        low, high = block[:, :128].reshape(-1, 2, 2, 32), block[:, 128:192].reshape(-1, 2, 1, 32)
        scales = block[:, 192:208].view(library.int8) * halves(block[:, 208:210])
        nibbles = library.concatenate([low & 15, low >> 4], 2)
        tops = library.concatenate([(high >> shift) & 3 for shift in (0, 2, 4, 6)], 2)
        numbers = (nibbles | (tops << 4)).view(library.int8) - 32
        return (numbers.reshape(-1, 16, 16) * scales[:, :, None]).reshape(rows, -1)
    raise ModelError(f"tensors of kind {kind} cannot be read")
