"""The model as an ONNX graph with kept keys and values, made of base and adapter with numpy.

The weights of the base are dequantised, the adapter is merged into them, and the sums are rounded
again, to whole numbers with one scale per block of a row (`MatMulNBits` of onnxruntime, whose
arithmetic is in 8 bits).

Inputs   `embeddings` (1 x tokens x hidden), `last_place` (number of tokens so far, less one),
         `total` (number of tokens so far), `past.N.key` and `past.N.value` of every layer
Outputs  `logits` (1 x 1 x 3) after the last token, `present.N.key`, `present.N.value`
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from halldetect.large.adapter import MAPS, Adapter
from halldetect.large.gguf_tensors import GgufFile
from halldetect.large.made_once import make_once, no_progress
from halldetect.large.onnx_proto import FLOAT, INT32, GraphWriter
from halldetect.large.shape import Shape, head_tensor
from halldetect.models.download import Progress
from halldetect.models.store import megabytes

MODEL, WEIGHTS = "model.onnx", "model.weights"
_INT8_ACTIVATIONS = 4  # the accuracy level of MatMulNBits with 8-bit arithmetic


@dataclass(frozen=True, slots=True)
class Rounding:
    """How weights are rounded: to so many bits, with one scale per block of a row."""

    bits: int = 8
    block: int = 128

    @property
    def name(self) -> str:
        """For folders and reports."""
        return f"int{self.bits}-block{self.block}"


def built(
    folder: Path,
    model: GgufFile,
    adapter: Adapter,
    answers: Sequence[int],
    rounding: Rounding,
    progress: Progress = no_progress,
) -> Path:
    """The model's file in `folder`, which is made if it is not there yet.

    Args:
        folder: belongs to this base, adapter and rounding alone. It appears whole or not at all.
        model: the base.
        adapter: what is added to it.
        answers: tokens of the three answers.
        rounding: how the sums are rounded.
        progress: told after every layer.
    """
    builder = _Builder(model, adapter, rounding)

    def make(draft: Path) -> None:
        with (draft / WEIGHTS).open("wb") as weights:
            graph = GraphWriter(weights, WEIGHTS)
            builder.build(graph, answers, progress)
        (draft / MODEL).write_bytes(graph.model())

    make_once(folder, (MODEL, WEIGHTS), builder.size, make, progress)
    return folder / MODEL


class _Builder:
    """Adds the layers to a graph, one after the other: one layer's weights in memory at a time."""

    graph: GraphWriter

    def __init__(self, model: GgufFile, adapter: Adapter, rounding: Rounding) -> None:
        self.model = model
        self.adapter = adapter
        self.rounding = rounding
        self.shape = Shape.of(model)

    @property
    def size(self) -> int:
        """Roughly what it writes: the whole numbers and their scales."""
        weights, rounding = self.shape.weights, self.rounding
        return weights * rounding.bits // 8 + weights // rounding.block * 4

    def build(self, graph: GraphWriter, answers: Sequence[int], progress: Progress) -> None:
        """Add everything to a graph."""
        self.graph, shape, size = graph, self.shape, self.size
        states = graph.input("embeddings", FLOAT, [1, "tokens", shape.hidden])
        graph.input("last_place", INT32, [1])
        graph.input("total", INT32, [1])
        angles = np.arange(shape.context)[:, None] / shape.theta ** (
            np.arange(0, shape.head_size, 2)[None, :] / shape.head_size
        )
        graph.constant("cos", np.cos(angles).astype(np.float32))
        graph.constant("sin", np.sin(angles).astype(np.float32))
        graph.constant("last", np.array([-1], np.int64))
        normed = graph.node(
            "SimplifiedLayerNormalization",
            [states, graph.constant("norm", self.model.vector("blk.0.attn_norm.weight"))],
            ["normed"],
            axis=-1,
            epsilon=shape.epsilon,
        )
        what = f"converting the large verifier for onnxruntime, once ({megabytes(size)})"
        for number in range(shape.layers):
            progress(number * size // shape.layers, size, what)
            states, normed = self._layer(number, states, normed)
        head = self.model.rows(head_tensor(self.model), answers)
        graph.node("MatMul", [normed, graph.constant("head", head.T)], ["logits"])
        graph.output("logits", FLOAT, [1, 1, len(answers)])

    def _layer(self, number: int, states: str, normed: str) -> tuple[str, str]:
        """Add a layer; returns the names of its states and of these normalised for the next."""
        graph, shape = self.graph, self.shape
        last = number == shape.layers - 1
        bias = [self.model.vector(f"blk.{number}.attn_{part}.bias") for part in "qkv"]
        qkv = graph.node(
            "Add",
            [
                self._linear(number, "qkv", normed, "q", "k", "v"),
                graph.constant(f"{number}.bias", np.concatenate(bias)),
            ],
            [f"{number}.qkv.biased"],
        )
        kept = [graph.input(f"past.{number}.{side}", FLOAT, self._kept("before")) for side in _KV]
        new = [f"present.{number}.{side}" for side in _KV]
        for name in new:
            graph.output(name, FLOAT, self._kept("after"))
        seen = graph.node(
            "GroupQueryAttention",
            [qkv, "", "", *kept, "last_place", "total", "cos", "sin"],
            [f"{number}.seen", *new],
            contributed=True,
            num_heads=shape.heads,
            kv_num_heads=shape.kv_heads,
            do_rotary=1,
        )
        if last:
            # Nothing after the last layer's attention is needed but for the last token.
            seen = graph.node("Gather", [seen, "last"], [f"{number}.seen.last"], axis=1)
            states = graph.node("Gather", [states, "last"], ["states.last"], axis=1)
        states, normed = self._added(
            f"{number}.attended",
            self._linear(number, "o", seen, "o"),
            states,
            f"blk.{number}.ffn_norm.weight",
        )
        gate = self._linear(number, "gate", normed, "g")
        opened = graph.node("QuickGelu", [gate], [f"{number}.opened"], contributed=True, alpha=1.0)
        product = graph.node(
            "Mul", [opened, self._linear(number, "up", normed, "u")], [f"{number}.product"]
        )
        next_norm = "output_norm.weight" if last else f"blk.{number + 1}.attn_norm.weight"
        return self._added(
            f"{number}.out", self._linear(number, "down", product, "dn"), states, next_norm
        )

    def _kept(self, length: str) -> list[int | str]:
        return [1, self.shape.kv_heads, length, self.shape.head_size]

    def _added(self, name: str, change: str, states: str, norm: str) -> tuple[str, str]:
        """States with a change added, and these normalised."""
        weight = self.graph.constant(f"{name}.norm", self.model.vector(norm))
        normed = self.graph.node(
            "SkipSimplifiedLayerNormalization",
            [change, states, weight],
            [f"{name}.normed", "", "", f"{name}.states"],
            contributed=True,
            epsilon=self.shape.epsilon,
        )
        return f"{name}.states", normed

    def _linear(self, number: int, label: str, values: str, *names: str) -> str:
        """Linear maps that read the same values, their outputs side by side."""
        parts = []
        for name in names:
            weight = self.model.matrix(f"blk.{number}.{MAPS[name]}.weight")
            parts.append(weight + self.adapter.product(number, name))
        weight = parts[0] if len(parts) == 1 else np.concatenate(parts)
        outputs, inputs = weight.shape
        key = f"{number}.{label}"
        numbers, scales = rounded(weight, self.rounding)
        return self.graph.node(
            "MatMulNBits",
            [
                values,
                self.graph.constant(f"{key}.numbers", numbers),
                self.graph.constant(f"{key}.scales", scales),
            ],
            [key],
            contributed=True,
            K=inputs,
            N=outputs,
            bits=self.rounding.bits,
            block_size=self.rounding.block,
            accuracy_level=_INT8_ACTIVATIONS,
        )


_KV = ("key", "value")


def rounded(
    weight: NDArray[np.float32], rounding: Rounding
) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """Whole numbers (outputs x blocks x bytes) and scales (outputs x blocks) of a matrix.

    A weight is (number - 2**(bits - 1)) x scale.
    """
    outputs, inputs = weight.shape
    block = rounding.block
    missing = -inputs % block
    if missing:
        weight = np.pad(weight, ((0, 0), (0, missing)))
    runs = weight.reshape(outputs, -1, block)
    zero = 1 << (rounding.bits - 1)
    scales = np.maximum(np.abs(runs).max(-1) / (zero - 1), 1e-12).astype(np.float32)
    numbers = np.rint(runs / scales[:, :, None]).astype(np.int16) + zero
    codes = numbers.astype(np.uint8)
    if rounding.bits == 4:
        codes = codes[:, :, 0::2] | (codes[:, :, 1::2] << 4)
    return codes, scales
