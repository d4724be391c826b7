"""Convert base and adapter to an ONNX graph with kept keys and values, once per machine.

The weights of the base are dequantised, merged with the adapter, and rounded again to
8-bit numbers with one scale per block of a row (`MatMulNBits` of onnxruntime).

Inputs   `embeddings` (1 x tokens x hidden), `last_place` (number of tokens so far, less one),
         `total` (number of tokens so far), `past.N.key` and `past.N.value` of every layer
Outputs  `logits` (1 x 1 x 3) after the last token, `present.N.key`, `present.N.value`
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import MissingExtra, ModelError
from halldetect.large.adapter import Adapter
from halldetect.large.shape import MAPS, Shape, head_tensor
from halldetect.models.download import Progress
from halldetect.models.gguf import GgufFile
from halldetect.models.store import SPARE_BYTES, megabytes, only_process

ROUNDING = "int8-block128"  # for folders and reports
MODEL, WEIGHTS = "model.onnx", "model.weights"
BLOCK = 128  # weights that share a scale
_ZERO = 128  # the 8-bit number that means zero
_INT8_ACTIVATIONS = 4  # the accuracy level of MatMulNBits with 8-bit arithmetic
_PAGE = 4096  # onnxruntime maps weights into memory where they begin at a page
_SMALL = 1024  # bytes; smaller constants stay in the model's own file
_OWN = "com.microsoft"  # the domain of onnxruntime's own operators
_OWN_OPERATORS = (
    "GroupQueryAttention", "MatMulNBits", "QuickGelu", "SkipSimplifiedLayerNormalization",
)  # fmt: skip


def converted(
    folder: Path, model: GgufFile, adapter: Adapter, answers: Sequence[int], progress: Progress
) -> Path:
    """Return the ONNX file in a folder; create the folder if it is missing or incomplete.

    The folder appears complete or not at all. One process creates it while others wait. The next
    process removes the remains of a killed one.

    Raises ModelError if the disk is full or the folder cannot be written.
    """
    shape = Shape.of(model)
    size = shape.weights + shape.weights // BLOCK * 4
    if _is_whole(folder):
        return folder / MODEL
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"waiting for another process that makes {folder}"
        with only_process(folder.with_name(f"{folder.name}.lock"), "large", waiting, progress):
            if not _is_whole(folder):  # another process may have made it meanwhile
                what = f"converting the large verifier for onnxruntime, once ({megabytes(size)})"
                _make(
                    folder,
                    size,
                    _Converter(model, shape, adapter, answers),
                    lambda layer: progress(layer * size // shape.layers, size, what),
                )
    except OSError as error:
        needed = f"large: the conversion needs {megabytes(size + SPARE_BYTES)} in {folder.parent}"
        why = "the disk is full" if error.errno == errno.ENOSPC else error.strerror or error
        raise ModelError(
            f"{needed}, but cannot write there: {why}; set HALLDETECT_HOME to another folder"
        ) from error
    return folder / MODEL


def _is_whole(folder: Path) -> bool:
    return (folder / MODEL).is_file() and (folder / WEIGHTS).is_file()


def _make(folder: Path, size: int, converter: _Converter, progress: Callable[[int], None]) -> None:
    for leftover in folder.parent.glob(f"{folder.name}.*.partial"):
        shutil.rmtree(leftover, ignore_errors=True)
    if shutil.disk_usage(folder.parent).free < size + SPARE_BYTES:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    draft = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    try:
        draft.mkdir()
        with (draft / WEIGHTS).open("wb") as weights:
            content = converter.write(weights, progress)
        (draft / MODEL).write_bytes(content)
        for name in (MODEL, WEIGHTS):
            # Sync before the folder gets its name: a power cut could otherwise leave a folder that
            # looks complete but holds zeros.
            with (draft / name).open("rb+") as file:
                os.fsync(file.fileno())
        shutil.rmtree(folder, ignore_errors=True)  # an incomplete one
        draft.rename(folder)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


class _Converter:
    """Writes an ONNX graph node by node, with the weights of one layer in memory at a time."""

    def __init__(
        self, model: GgufFile, shape: Shape, adapter: Adapter, answers: Sequence[int]
    ) -> None:
        try:
            import onnx
        except ImportError as error:
            raise MissingExtra("the verifier large", "large") from error
        self._onnx: Any = onnx
        self._model, self._shape, self._adapter, self._answers = model, shape, adapter, answers
        self._nodes: list[Any] = []
        self._constants: list[Any] = []
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def write(self, weights: BinaryIO, progress: Callable[[int], None]) -> bytes:
        """Write large constants to a file; return the content of the model's own file."""
        self._weights, shape, helper = weights, self._shape, self._onnx.helper
        self._inputs += [
            self._declared("embeddings", [1, "tokens", shape.hidden]),
            self._declared("last_place", [1], np.int32),
            self._declared("total", [1], np.int32),
        ]
        angles = np.arange(shape.context)[:, None] / shape.theta ** (
            np.arange(0, shape.head_size, 2)[None, :] / shape.head_size
        )
        self._constant("cos", np.cos(angles).astype(np.float32))
        self._constant("sin", np.sin(angles).astype(np.float32))
        self._constant("last", np.array([-1], np.int64))
        norm = self._constant("norm", self._vector("blk.0.attn_norm.weight"))
        states = "embeddings"
        normed = self._node(
            "SimplifiedLayerNormalization",
            [states, norm],
            ["normed"],
            {"axis": -1, "epsilon": shape.epsilon},
        )
        for number in range(shape.layers):
            progress(number)
            states, normed = self._layer(number, states, normed)
        head = self._model.rows(head_tensor(self._model), self._answers)
        self._node("MatMul", [normed, self._constant("head", head.T)], ["logits"])
        self._outputs.append(self._declared("logits", [1, 1, len(self._answers)]))
        graph = helper.make_graph(
            self._nodes, "model", self._inputs, self._outputs, self._constants
        )
        versions = [helper.make_opsetid("", 18), helper.make_opsetid(_OWN, 1)]
        made = helper.make_model(
            graph, opset_imports=versions, ir_version=8, producer_name="halldetect"
        )
        return bytes(made.SerializeToString())

    def _layer(self, number: int, states: str, normed: str) -> tuple[str, str]:
        """Add a layer; return the names of its states, plain and normalised for the next."""
        last = number == self._shape.layers - 1
        seen = self._attention(number, normed)
        if last:
            # After the last layer's attention, only the last token is needed.
            seen = self._node("Gather", [seen, "last"], [f"{number}.seen.last"], {"axis": 1})
            states = self._node("Gather", [states, "last"], ["states.last"], {"axis": 1})
        states, normed = self._added(
            f"{number}.attended",
            self._linear(f"{number}.o", seen, number, "o"),
            states,
            f"blk.{number}.ffn_norm.weight",
        )
        gate = self._linear(f"{number}.gate", normed, number, "g")
        opened = self._node("QuickGelu", [gate], [f"{number}.opened"], {"alpha": 1.0})
        up = self._linear(f"{number}.up", normed, number, "u")
        product = self._node("Mul", [opened, up], [f"{number}.product"])
        down = self._linear(f"{number}.down", product, number, "dn")
        next_norm = "output_norm.weight" if last else f"blk.{number + 1}.attn_norm.weight"
        return self._added(f"{number}.out", down, states, next_norm)

    def _attention(self, number: int, normed: str) -> str:
        shape = self._shape
        bias = [self._vector(f"blk.{number}.attn_{part}.bias") for part in "qkv"]
        maps = self._linear(f"{number}.qkv", normed, number, "q", "k", "v")
        biases = self._constant(f"{number}.bias", np.concatenate(bias))
        qkv = self._node("Add", [maps, biases], [f"{number}.qkv.biased"])
        past = [f"past.{number}.{side}" for side in ("key", "value")]
        present = [f"present.{number}.{side}" for side in ("key", "value")]
        for names, declared, length in (
            (past, self._inputs, "before"),
            (present, self._outputs, "after"),
        ):
            sizes = (1, shape.kv_heads, length, shape.head_size)
            declared += [self._declared(name, sizes) for name in names]
        return self._node(
            "GroupQueryAttention",
            [qkv, "", "", *past, "last_place", "total", "cos", "sin"],
            [f"{number}.seen", *present],
            {"num_heads": shape.heads, "kv_num_heads": shape.kv_heads, "do_rotary": 1},
        )

    def _added(self, name: str, change: str, states: str, norm: str) -> tuple[str, str]:
        """Add a change to the states; return the names of the sum, plain and normalised."""
        weight = self._constant(f"{name}.norm", self._vector(norm))
        normed = self._node(
            "SkipSimplifiedLayerNormalization",
            [change, states, weight],
            [f"{name}.normed", "", "", f"{name}.states"],
            {"epsilon": self._shape.epsilon},
        )
        return f"{name}.states", normed

    def _linear(self, key: str, values: str, number: int, *names: str) -> str:
        """Add linear maps of the same values, with their outputs side by side."""
        weight = np.concatenate(
            [
                self._model.matrix(f"blk.{number}.{MAPS[name]}.weight")
                + self._adapter.product(number, name)
                for name in names
            ]
        )
        outputs, inputs = weight.shape
        numbers, scales = rounded(weight)
        sizes = {"K": inputs, "N": outputs, "bits": 8, "block_size": BLOCK}
        stored = [
            self._constant(f"{key}.numbers", numbers),
            self._constant(f"{key}.scales", scales),
        ]
        return self._node(
            "MatMulNBits", [values, *stored], [key], {**sizes, "accuracy_level": _INT8_ACTIVATIONS}
        )

    def _vector(self, name: str) -> NDArray[np.float32]:
        return self._model.matrix(name).reshape(-1)

    def _declared(self, name: str, shape: Sequence[int | str], dtype: type = np.float32) -> Any:
        """Return the declaration of an input or output; a name means an open size."""
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self._onnx.helper.make_tensor_value_info(name, kind, shape)

    def _constant(self, name: str, values: NDArray[Any]) -> str:
        values = np.ascontiguousarray(values)
        kind = self._onnx.helper.np_dtype_to_tensor_dtype(values.dtype)
        tensor = self._onnx.TensorProto(name=name, data_type=kind, dims=values.shape)
        if values.nbytes <= _SMALL:
            tensor.raw_data = values.tobytes()
        else:
            self._weights.write(bytes(-self._weights.tell() % _PAGE))
            place = {"location": WEIGHTS, "offset": self._weights.tell(), "length": values.nbytes}
            for key, value in place.items():
                tensor.external_data.add(key=key, value=str(value))
            tensor.data_location = self._onnx.TensorProto.EXTERNAL
            self._weights.write(values.data)
        self._constants.append(tensor)
        return name

    def _node(
        self,
        operator: str,
        inputs: Sequence[str],
        outputs: Sequence[str],
        attributes: dict[str, int | float] | None = None,
    ) -> str:
        """Add a node ("" omits an input or output) and return the name of its first output."""
        name, domain = f"{operator}.{outputs[0]}", _OWN if operator in _OWN_OPERATORS else ""
        self._nodes.append(
            self._onnx.helper.make_node(
                operator, inputs, outputs, name, domain=domain, **(attributes or {})
            )
        )
        return outputs[0]


def rounded(weight: NDArray[np.float32]) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Return 8-bit numbers (outputs x blocks x 128) and scales (outputs x blocks) of a matrix.

    A weight is (number - 128) x scale.
    """
    outputs, inputs = weight.shape
    if missing := -inputs % BLOCK:
        weight = np.pad(weight, ((0, 0), (0, missing)))
    runs = weight.reshape(outputs, -1, BLOCK)
    scales = np.maximum(np.abs(runs).max(-1) / (_ZERO - 1), 1e-12).astype(np.float32)
    numbers = np.rint(runs / scales[:, :, None]).astype(np.int16) + _ZERO
    return numbers.astype(np.uint8), scales
