"""Convert base and adapter to an ONNX graph with kept keys and values, once per machine.

The weights of the base are dequantised, merged with the adapter, and rounded again to
8-bit numbers with one scale per block of a row (`MatMulNBits` of onnxruntime).

Inputs   `embeddings` (1 x tokens x hidden), `last_place` (number of tokens so far, less one),
         `total` (number of tokens so far), `past.N.key` and `past.N.value` of every layer
Outputs  `logits` (1 x 1 x 3) after the last token, `present.N.key`, `present.N.value`
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import ModelError
from halldetect.large.adapter import Adapter, read_adapter
from halldetect.large.gguf import GgufFile
from halldetect.large.shape import MAPS, Shape, head_tensor
from halldetect.machine.download import Progress
from halldetect.machine.store import megabytes, only_process

ROUNDING = "int8-block128"  # for folders and reports
MODEL, WEIGHTS = "model.onnx", "model.weights"
BLOCK = 128  # weights that share a scale
_ZERO = 128  # the 8-bit number that means zero
_INT8_ACTIVATIONS = 4  # the accuracy level of MatMulNBits with 8-bit arithmetic
_PAGE = 4096  # onnxruntime maps weights into memory where they begin at a page
_SMALL = 1024  # bytes; smaller constants stay in the model's own file
_OWN = "com.microsoft"  # the domain of onnxruntime's own operators


def converted(
    folder: Path, model: GgufFile, adapter: Path, answers: Sequence[int], progress: Progress
) -> Path:
    """Return the ONNX file in a folder; create the folder if it is missing or incomplete.

    The folder appears complete or not at all. One process creates it while others wait. The next
    process removes the remains of a killed one.

    Raises ModelError if the disk is full or the folder cannot be written.
    """
    shape = Shape.of(model)
    size = shape.weights + shape.weights // BLOCK * 4
    file = folder / MODEL
    if file.is_file():
        return file
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        waiting = f"waiting for another process that makes {folder}"
        with only_process(folder.with_name(f"{folder.name}.lock"), waiting, progress):
            if not file.is_file():  # another process may have made it meanwhile
                _remove_others(folder.parent)
                what = f"converting the large verifier for onnxruntime, once ({megabytes(size)})"
                converter = _Converter(model, shape, read_adapter(adapter), answers)
                _make(folder, converter, lambda at: progress(at * size // shape.layers, size, what))
    except OSError as error:
        raise ModelError(
            f"large: cannot write {megabytes(size)} in {folder.parent}: {error.strerror or error}; "
            "set HALLDETECT_HOME to another folder"
        ) from error
    return file


def _remove_others(folder: Path) -> None:
    """Remove the models of other bases and adapters.

    This happens before a new one only: two installations with a shared cache would delete each
    other's files.
    """
    digest = "[0-9a-f]" * 12
    for other in folder.parent.glob(f"{digest}-{digest}"):
        if other != folder:
            shutil.rmtree(other, ignore_errors=True)


def _make(folder: Path, converter: _Converter, progress: Callable[[int], None]) -> None:
    for leftover in folder.parent.glob(f"{folder.name}.*.partial"):
        shutil.rmtree(leftover, ignore_errors=True)
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
    """Writes an ONNX graph in its text form, with the weights of one layer in memory at a time."""

    def __init__(
        self, model: GgufFile, shape: Shape, adapter: Adapter, answers: Sequence[int]
    ) -> None:
        import onnx.parser

        self._onnx: Any = onnx
        self._model, self._shape, self._adapter, self._answers = model, shape, adapter, answers
        self._nodes: list[str] = []
        self._constants: list[Any] = []

    def write(self, weights: BinaryIO, progress: Callable[[int], None]) -> bytes:
        """Write large constants to a file; return the content of the model's own file."""
        self._weights, shape = weights, self._shape
        angles = np.arange(shape.context)[:, None] / shape.theta ** (
            np.arange(0, shape.head_size, 2)[None, :] / shape.head_size
        )
        self._constant("cos", np.cos(angles).astype(np.float32))
        self._constant("sin", np.sin(angles).astype(np.float32))
        self._constant("last", np.array([-1], np.int64))
        self._vector("norm", "blk.0.attn_norm.weight")
        self._nodes.append(
            f"normed = SimplifiedLayerNormalization <axis = -1, epsilon = {shape.epsilon:.9f}> "
            "(embeddings, norm)"
        )
        states, normed = "embeddings", "normed"
        for number in range(shape.layers):
            progress(number)
            states, normed = self._layer(number, states, normed)
        head = self._model.rows(head_tensor(self._model), self._answers)
        self._constant("head", head.T)
        self._nodes.append(f'logits = MatMul ("{normed}", head)')
        sides = [f"{number}.{side}" for number in range(shape.layers) for side in ("key", "value")]
        past, present = (
            ", ".join(f'float[1, {shape.kv_heads}, {size}, {shape.head_size}] "{name}.{side}"'
                      for side in sides)
            for name, size in (("past", "before"), ("present", "after"))
        )  # fmt: skip
        made = self._onnx.parser.parse_model(
            f"""<ir_version: 8, opset_import: ["": 18, "{_OWN}": 1], producer_name: "halldetect">
            model (float[1, tokens, {shape.hidden}] embeddings, int32[1] last_place,
            int32[1] total, {past}) => (float[1, 1, {len(self._answers)}] logits, {present}) """
            "{" + "\n".join(self._nodes) + "}"
        )
        made.graph.initializer.extend(self._constants)
        return bytes(made.SerializeToString())

    def _layer(self, number: int, states: str, normed: str) -> tuple[str, str]:
        """Add a layer; return the names of its states, plain and normalised for the next."""
        shape, n = self._shape, number
        last = number == shape.layers - 1
        heads = f"num_heads = {shape.heads}, kv_num_heads = {shape.kv_heads}, do_rotary = 1"
        bias = [self._model.matrix(f"blk.{n}.attn_{part}.bias").reshape(-1) for part in "qkv"]
        self._constant(f"{n}.bias", np.concatenate(bias))
        self._linear(f"{n}.qkv", normed, number, "q", "k", "v")
        self._nodes += [
            f'"{n}.biased" = Add ("{n}.qkv", "{n}.bias")',
            f'"{n}.seen", "present.{n}.key", "present.{n}.value" = {_OWN}.GroupQueryAttention '
            f'<{heads}> ("{n}.biased", "", "", "past.{n}.key", "past.{n}.value", last_place, '
            "total, cos, sin)",
        ]
        seen = f"{n}.seen"
        if last:  # after the last layer's attention, only the last token is needed
            seen, before, states = "seen.last", states, "states.last"
            self._nodes += [
                f'"{seen}" = Gather <axis = 1> ("{n}.seen", last)',
                f'"{states}" = Gather <axis = 1> ("{before}", last)',
            ]
        self._linear(f"{n}.o", seen, number, "o")
        states, normed = self._added(f"{n}.o", states, f"blk.{n}.ffn_norm.weight")
        self._linear(f"{n}.gate", normed, number, "g")
        self._linear(f"{n}.up", normed, number, "u")
        self._nodes += [
            f'"{n}.opened" = {_OWN}.QuickGelu <alpha = 1.0> ("{n}.gate")',
            f'"{n}.product" = Mul ("{n}.opened", "{n}.up")',
        ]
        self._linear(f"{n}.down", f"{n}.product", number, "dn")
        next_norm = "output_norm.weight" if last else f"blk.{number + 1}.attn_norm.weight"
        return self._added(f"{n}.down", states, next_norm)

    def _added(self, change: str, states: str, norm: str) -> tuple[str, str]:
        """Add a change to the states; return the names of the sum, plain and normalised."""
        self._vector(f"{change}.norm", norm)
        self._nodes.append(
            f'"{change}.normed", "", "", "{change}.states" = {_OWN}.'
            f"SkipSimplifiedLayerNormalization <epsilon = {self._shape.epsilon:.9f}> "
            f'("{change}", "{states}", "{change}.norm")'
        )
        return f"{change}.states", f"{change}.normed"

    def _linear(self, key: str, values: str, number: int, *names: str) -> None:
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
        self._constant(f"{key}.numbers", numbers)
        self._constant(f"{key}.scales", scales)
        self._nodes.append(
            f'"{key}" = {_OWN}.MatMulNBits <K = {inputs}, N = {outputs}, bits = 8, block_size = '
            f'{BLOCK}, accuracy_level = {_INT8_ACTIVATIONS}> ("{values}", "{key}.numbers", '
            f'"{key}.scales")'
        )

    def _vector(self, name: str, tensor: str) -> None:
        self._constant(name, self._model.matrix(tensor).reshape(-1))

    def _constant(self, name: str, values: NDArray[Any]) -> None:
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
