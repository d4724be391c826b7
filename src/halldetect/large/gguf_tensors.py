"""GGUF files: metadata, tensors as they are stored, and a writer for small files.

`GgufFile` maps a model into memory and reads nothing but what is asked for. `dequantise` turns
stored rows into float32 with numpy; `torch_model` does the same on a device. `write_gguf` writes
what llama.cpp needs to load an adapter.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError

_STRING, _ARRAY = 8, 9
_SCALARS = {
    0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d",
}  # fmt: skip
# Tensor type -> name, weights per block, bytes per block.
_KINDS = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    8: ("Q8_0", 32, 34),
    12: ("Q4_K", 256, 144),
    14: ("Q6_K", 256, 210),
}
_ALIGNMENT = 32


@dataclass(frozen=True, slots=True)
class Tensor:
    """Where a tensor lies in a file.

    kind    how it is stored: F32, F16, Q8_0, Q4_K or Q6_K
    rows    number of rows; 1 for a vector
    columns length of a row
    start   first byte in the file
    size    bytes of all rows
    """

    kind: str
    rows: int
    columns: int
    start: int
    size: int


class GgufFile:
    """A GGUF file, mapped into memory.

    Args:
        path: the file. Raises ModelError if it is not a GGUF file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._data: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
            self.metadata, self.tensors = _Header(self._data).read()
        except OSError as error:
            raise ModelError(f"cannot read the model file {path}: {error.strerror}") from error
        except (ValueError, struct.error, UnicodeDecodeError) as error:
            raise ModelError(f"{path} is not a whole GGUF model ({error})") from error

    def value(self, name: str) -> Any:
        """A value of the metadata; ModelError if it is missing."""
        try:
            return self.metadata[name]
        except KeyError:
            raise ModelError(f"{self.path} does not state {name}") from None

    def tensor(self, name: str) -> Tensor:
        """Where a tensor lies; ModelError if it is missing or of a kind that is not read."""
        found = self.tensors.get(name)
        if found is None:
            raise ModelError(f"{self.path} has no tensor {name} of a kind that can be read")
        return found

    def raw(self, name: str) -> NDArray[np.uint8]:
        """The bytes of a tensor, one row per row."""
        tensor = self.tensor(name)
        return self._data[tensor.start : tensor.start + tensor.size].reshape(tensor.rows, -1)

    def rows(self, name: str, numbers: Sequence[int] | NDArray[Any]) -> NDArray[np.float32]:
        """Some rows of a tensor, dequantised."""
        return dequantise(self.raw(name)[np.asarray(numbers)], self.tensor(name).kind)

    def matrix(self, name: str) -> NDArray[np.float32]:
        """A whole tensor, dequantised: rows x columns."""
        return dequantise(self.raw(name), self.tensor(name).kind)

    def vector(self, name: str) -> NDArray[np.float32]:
        """A tensor of one dimension."""
        return self.matrix(name).reshape(-1)


class _Header:
    """Reads metadata and tensor table from the first bytes of a file."""

    def __init__(self, data: NDArray[np.uint8]) -> None:
        self._data = data.data
        self._at = 0

    def read(self) -> tuple[dict[str, Any], dict[str, Tensor]]:
        magic, version, tensors, keys = self._next("4sIQQ")
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError("it does not begin with GGUF, version 2 or 3")
        metadata = {}
        for _ in range(keys):
            name = self._string()
            metadata[name] = self._value(self._next("I")[0])
        entries = []
        for _ in range(tensors):
            name = self._string()
            sizes = self._next(f"{self._next('I')[0]}Q")
            entries.append((name, sizes, *self._next("IQ")))
        alignment = int(metadata.get("general.alignment", _ALIGNMENT))
        begin = -(-self._at // alignment) * alignment
        found = {}
        for name, sizes, kind, offset in entries:
            if kind not in _KINDS:
                continue
            label, weights, width = _KINDS[kind]
            columns = int(sizes[0])
            rows = int(np.prod(sizes[1:], dtype=np.int64))
            size = rows * columns // weights * width
            if columns % weights or begin + offset + size > len(self._data):
                raise ValueError(f"the tensor {name} does not lie within the file")
            found[name] = Tensor(label, rows, columns, begin + offset, size)
        return metadata, found

    def _next(self, layout: str) -> tuple[Any, ...]:
        values = struct.unpack_from("<" + layout, self._data, self._at)
        self._at += struct.calcsize("<" + layout)
        return values

    def _string(self) -> str:
        (length,) = self._next("Q")
        if length > len(self._data) - self._at:
            raise ValueError("it ends in the middle of its header")
        self._at += length
        return str(self._data[self._at - length : self._at], "utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind == _ARRAY:
            inner, count = self._next("IQ")
            if count > len(self._data) - self._at:
                raise ValueError("it ends in the middle of its header")
            if inner in _SCALARS:
                return list(self._next(f"{count}{_SCALARS[inner]}"))
            return [self._value(inner) for _ in range(count)]
        if kind not in _SCALARS:
            raise ValueError(f"it has a value of the unknown type {kind}")
        return self._next(_SCALARS[kind])[0]


def dequantise(raw: NDArray[np.uint8], kind: str) -> NDArray[np.float32]:
    """Values of stored rows.

    Args:
        raw: bytes, one row per row.
        kind: F32, F16, Q8_0, Q4_K or Q6_K.
    """
    rows = len(raw)
    raw = np.ascontiguousarray(raw)
    if kind == "F32":
        return raw.view(np.float32)
    if kind == "F16":
        return raw.view(np.float16).astype(np.float32)
    if kind == "Q8_0":
        block = raw.reshape(-1, 34)
        scale = _halves(block[:, :2])
        return (block[:, 2:].view(np.int8) * scale).reshape(rows, -1)
    if kind == "Q4_K":
        return _q4_k(raw.reshape(-1, 144)).reshape(rows, -1)
    if kind == "Q6_K":
        return _q6_k(raw.reshape(-1, 210)).reshape(rows, -1)
    raise ModelError(f"tensors of kind {kind} cannot be read")


def _halves(raw: NDArray[np.uint8]) -> NDArray[np.float32]:
    return np.ascontiguousarray(raw).view(np.float16).astype(np.float32)


def _q4_k(block: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Eight runs of 32 numbers of 4 bits; each run has a scale and a minimum of 6 bits."""
    scale, least = _halves(block[:, 0:2]), _halves(block[:, 2:4])
    low, mid, high = block[:, 4:8], block[:, 8:12], block[:, 12:16]
    scales = np.concatenate([low & 63, (high & 15) | ((low >> 6) << 4)], 1)
    minima = np.concatenate([mid & 63, (high >> 4) | ((mid >> 6) << 4)], 1)
    pairs = block[:, 16:].reshape(-1, 4, 32)
    numbers = np.stack([pairs & 15, pairs >> 4], 2).reshape(-1, 8, 32)
    values: NDArray[np.float32] = numbers * (scale * scales)[:, :, None]
    values -= (least * minima)[:, :, None]
    return values


def _q6_k(block: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Sixteen runs of 16 numbers of 6 bits; each run has a scale of 8 bits."""
    low = block[:, :128].reshape(-1, 2, 2, 32)
    high = block[:, 128:192].reshape(-1, 2, 1, 32)
    scales = block[:, 192:208].view(np.int8) * _halves(block[:, 208:210])
    nibbles = np.concatenate([low & 15, low >> 4], 2)
    tops = np.concatenate([(high >> shift) & 3 for shift in (0, 2, 4, 6)], 2)
    numbers = (nibbles | (tops << 4)).astype(np.int8) - np.int8(32)
    values: NDArray[np.float32] = numbers.reshape(-1, 16, 16) * scales[:, :, None]
    return values


def write_gguf(
    path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> None:
    """Write a GGUF file.

    Args:
        path: the file.
        metadata: strings, booleans, whole numbers below 2**32, floats, and lists of strings or
            of whole numbers.
        tensors: float32 or float16, of one or two dimensions.
    """
    with path.open("wb") as file:
        file.write(struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(metadata)))
        for name, value in metadata.items():
            _write_string(file, name)
            _write_value(file, value)
        offset = 0
        for name, values in tensors.items():
            _write_string(file, name)
            sizes = values.shape[::-1]
            kind = {"float32": 0, "float16": 1}[values.dtype.name]
            file.write(struct.pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, kind, offset))
            offset += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
        for values in tensors.values():
            file.write(bytes(-file.tell() % _ALIGNMENT))
            file.write(np.ascontiguousarray(values).data)
        # llama.cpp also expects the last tensor to be filled up.
        file.write(bytes(-file.tell() % _ALIGNMENT))


def _write_string(file: BinaryIO, text: str) -> None:
    data = text.encode()
    file.write(struct.pack("<Q", len(data)) + data)


def _write_value(file: BinaryIO, value: Any) -> None:
    if isinstance(value, str):
        file.write(struct.pack("<I", _STRING))
        _write_string(file, value)
    elif isinstance(value, bool):
        file.write(struct.pack("<I?", 7, value))
    elif isinstance(value, int):
        file.write(struct.pack("<II", 4, value))
    elif isinstance(value, float):
        file.write(struct.pack("<If", 6, value))
    elif all(isinstance(item, str) for item in value):
        file.write(struct.pack("<IIQ", _ARRAY, _STRING, len(value)))
        for item in value:
            _write_string(file, item)
    else:
        file.write(struct.pack(f"<IIQ{len(value)}i", _ARRAY, 5, len(value), *value))
