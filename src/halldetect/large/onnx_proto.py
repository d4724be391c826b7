"""Writing ONNX models without the `onnx` package: the few messages of the format that we need.

A model is a protobuf message. Fields are written in the order of their use, lengths before
contents; weights go to a second file, so that none of them is copied here.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

FLOAT, INT32, INT64 = 1, 6, 7
_TYPES = {"float32": FLOAT, "uint8": 2, "int8": 3, "int32": INT32, "int64": INT64}
# onnxruntime maps weights into memory where they begin at a page.
_PAGE = 4096
_SMALL = 1024  # bytes; smaller weights stay in the model's own file
_CONTRIBUTED = "com.microsoft"


@dataclass
class GraphWriter:
    """A graph that grows node by node; weights are written to `weights_file` at once.

    weights        the open file for weights
    weights_name   its name, as the model refers to it
    """

    weights: BinaryIO
    weights_name: str
    _nodes: list[bytes] = field(default_factory=list)
    _initializers: list[bytes] = field(default_factory=list)
    _inputs: list[bytes] = field(default_factory=list)
    _outputs: list[bytes] = field(default_factory=list)

    def input(self, name: str, kind: int, shape: Sequence[int | str]) -> str:
        """Declare an input; sizes that are left open are names."""
        self._inputs.append(_value_info(name, kind, shape))
        return name

    def output(self, name: str, kind: int, shape: Sequence[int | str]) -> None:
        """Declare an output."""
        self._outputs.append(_value_info(name, kind, shape))

    def constant(self, name: str, values: NDArray[Any]) -> str:
        """Add weights."""
        values = np.ascontiguousarray(values)
        parts = [
            *(_integer(1, size) for size in values.shape),
            _integer(2, _TYPES[values.dtype.name]),
            _text(8, name),
        ]
        if values.nbytes <= _SMALL:
            parts.append(_bytes(9, values.tobytes()))
        else:
            self.weights.write(bytes(-self.weights.tell() % _PAGE))
            place = {
                "location": self.weights_name,
                "offset": str(self.weights.tell()),
                "length": str(values.nbytes),
            }
            self.weights.write(values.data)
            for key, value in place.items():
                parts.append(_bytes(13, _text(1, key) + _text(2, value)))
            parts.append(_integer(14, 1))
        self._initializers.append(b"".join(parts))
        return name

    def node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        contributed: bool = False,
        **attributes: int | float | Sequence[int],
    ) -> str:
        """Add a node and return the name of its first output.

        Args:
            operator: its name.
            inputs: names of values; "" leaves an input out.
            outputs: names of its results; "" leaves one out.
            contributed: the operator is one of onnxruntime's own.
            attributes: its attributes.
        """
        parts = [_text(1, name) for name in inputs] + [_text(2, name) for name in outputs]
        parts += [_text(3, f"{operator}.{outputs[0]}"), _text(4, operator)]
        parts += [_bytes(5, _attribute(name, value)) for name, value in attributes.items()]
        if contributed:
            parts.append(_text(7, _CONTRIBUTED))
        self._nodes.append(b"".join(parts))
        return outputs[0]

    def model(self, opset: int = 18) -> bytes:
        """The content of the model's own file."""
        graph = b"".join(
            [
                *(_bytes(1, node) for node in self._nodes),
                _text(2, "model"),
                *(_bytes(5, tensor) for tensor in self._initializers),
                *(_bytes(11, info) for info in self._inputs),
                *(_bytes(12, info) for info in self._outputs),
            ]
        )
        versions: Mapping[str, int] = {"": opset, _CONTRIBUTED: 1}
        model = [_integer(1, 8), _text(2, "halldetect"), _bytes(7, graph)]
        for domain, version in versions.items():
            model.append(_bytes(8, _text(1, domain) + _integer(2, version)))
        return b"".join(model)


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1  # negative numbers are written as 64 bits
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    found.append(value)
    return bytes(found)


def _integer(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _bytes(number: int, data: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _text(number: int, text: str) -> bytes:
    return _bytes(number, text.encode())


def _attribute(name: str, value: int | float | Sequence[int]) -> bytes:
    if isinstance(value, int):
        return _text(1, name) + _integer(3, value) + _integer(20, 2)
    if isinstance(value, float):
        return _text(1, name) + _varint(2 << 3 | 5) + struct.pack("<f", value) + _integer(20, 1)
    integers = b"".join(_integer(8, item) for item in value)
    return _text(1, name) + integers + _integer(20, 7)


def _value_info(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = b"".join(
        _bytes(1, _integer(1, size) if isinstance(size, int) else _text(2, size)) for size in shape
    )
    tensor = _integer(1, kind) + _bytes(2, sizes)
    return _text(1, name) + _bytes(2, _bytes(1, tensor))
