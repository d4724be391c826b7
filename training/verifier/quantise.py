"""Make an fp32 ONNX classifier small: 4-bit weights or 8-bit arithmetic, 8- or 4-bit tables.

    python -m training.verifier.quantise model_fp32.onnx model.onnx --bits 4 --block 64

- bits=4: MatMulNBits. Weights in blocks along the input axis, each with a zero point and a
  scale fitted to its codes. With `accuracy_level=4` activations are int8 in blocks of each row,
  with 0 they stay fp32.
- bits=8: MatMulInteger with uint8 weights per output channel and uint8 activations per row. The
  usual dynamic quantisation takes one activation range over the whole tensor instead, which
  is less exact and lets a pair's result move with the others of its batch. uint8 on both
  sides, because the mixed-sign kernels of older x86 chips saturate.
- Tables are gathered first and dequantised after, so no fp32 table is ever in memory.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any, Literal

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from training.verifier.rounding import (
    TINY,
    Floats,
    as_half,
    int4_blocks,
    int8_rows,
    nibbles,
    uint8_columns,
)

# Smaller constants (the output layer, the relative position biases) stay as they are.
SMALLEST = 1 << 16


def quantise(
    fp32_onnx: Path,
    out: Path,
    *,
    bits: int = 4,
    block: int = 64,
    embeddings: Literal["int8", "int4"] = "int8",
    accuracy_level: int = 4,
) -> None:
    """Write a quantised copy of the model, in one file."""
    if bits not in (4, 8):
        raise ValueError(f"bits must be 4 or 8, not {bits}")
    if embeddings not in ("int8", "int4"):
        raise ValueError(f"embeddings must be int8 or int4, not {embeddings!r}")
    if block < 16 or block & (block - 1):
        raise ValueError(f"block must be a power of two from 16 on, not {block}")
    model = onnx.load(str(fp32_onnx))
    graph = _Graph(model)
    for node in list(model.graph.node):
        if node.op_type == "Gather" and graph.table(node) is not None:
            graph.replace(
                node, graph.gather8(node) if embeddings == "int8" else graph.gather4(node)
            )
        elif node.op_type in ("MatMul", "Gemm") and graph.weight(node) is not None:
            if bits == 4:
                graph.replace(node, graph.matmul4(node, block, accuracy_level))
            else:
                graph.replace(node, graph.matmul8(node))
    graph.finish()
    onnx.checker.check_model(model)
    onnx.save(model, str(out))


class _Graph:
    """A model under change: its constants, and new ones added once each."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.constants = {item.name: item for item in model.graph.initializer}
        self.rows: dict[str, tuple[str, str]] = {}
        self.replaced: dict[str, list[onnx.NodeProto]] = {}
        self.added: dict[str, onnx.TensorProto] = {}

    def table(self, node: onnx.NodeProto) -> Floats | None:
        """The fp32 table a Gather looks rows up in."""
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        return None if axis != 0 else self._floats(node.input[0])

    def weight(self, node: onnx.NodeProto) -> Floats | None:
        """The constant right-hand side as (inputs, outputs), if this is a plain linear layer."""
        weight = self._floats(node.input[1])
        if weight is None or node.op_type == "MatMul":
            return weight
        attributes = {a.name: helper.get_attribute_value(a) for a in node.attribute}
        if attributes.get("transA", 0) or attributes.get("alpha", 1.0) != 1.0:
            return None
        if attributes.get("beta", 1.0) != 1.0:
            return None
        return weight.T if attributes.get("transB", 0) else weight

    def _floats(self, name: str) -> Floats | None:
        item = self.constants.get(name)
        if item is None or item.data_type != TensorProto.FLOAT or len(item.dims) != 2:
            return None
        if item.dims[0] * item.dims[1] < SMALLEST:
            return None
        return numpy_helper.to_array(item).astype(np.float32)

    def constant(self, name: str, value: NDArray[Any]) -> str:
        if name not in self.added:
            self.added[name] = numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def half(self, name: str, value: Floats) -> tuple[str, list[onnx.NodeProto]]:
        """Scales stored in fp16; the runtime folds the cast away when it loads the model."""
        stored = self.constant(f"{name}_half", value.astype(np.float16))
        full = f"{name}_{len(self.replaced)}"
        return full, [helper.make_node("Cast", [stored], [full], to=TensorProto.FLOAT)]

    def replace(self, node: onnx.NodeProto, by: list[onnx.NodeProto]) -> None:
        self.replaced[node.output[0]] = by

    def gather8(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        name, indices, output = node.input[0], node.input[1], node.output[0]
        table = self.table(node)
        assert table is not None
        codes, scales = int8_rows(table)
        stored = self.constant(f"{name}_int8", codes)
        scale = self.constant(f"{name}_scale", scales.astype(np.float16))
        parts = [f"{output}_{part}" for part in ("codes", "floats", "half", "scale")]
        return [
            helper.make_node("Gather", [stored, indices], [parts[0]]),
            helper.make_node("Cast", [parts[0]], [parts[1]], to=TensorProto.FLOAT),
            helper.make_node("Gather", [scale, indices], [parts[2]]),
            helper.make_node("Cast", [parts[2]], [parts[3]], to=TensorProto.FLOAT),
            helper.make_node("Mul", [parts[1], parts[3]], [output]),
        ]

    def gather4(self, node: onnx.NodeProto, block: int = 32) -> list[onnx.NodeProto]:
        name, indices, output = node.input[0], node.input[1], node.output[0]
        table = self.table(node)
        assert table is not None
        rows, width = table.shape
        if width % block:
            return self.gather8(node)
        codes, scales, zeros = int4_blocks(table, block)
        stored, zero = f"{name}_int4", f"{name}_zero"
        for item, values in ((stored, codes.reshape(rows, width)), (zero, zeros)):
            packed = helper.make_tensor(
                item, TensorProto.UINT4, values.shape, nibbles(values).tobytes(), raw=True
            )
            self.added.setdefault(item, packed)
        scale, cast = self.half(f"{name}_scale", as_half(scales))
        settings = {"gather_axis": 0, "quantize_axis": 1, "block_size": block}
        inputs = [stored, indices, scale, zero]
        return [*cast, _contrib("GatherBlockQuantized", inputs, [output], **settings)]

    def matmul4(
        self, node: onnx.NodeProto, block: int, accuracy_level: int
    ) -> list[onnx.NodeProto]:
        weight = self.weight(node)
        assert weight is not None
        inputs, outputs = weight.shape
        name = node.input[1]
        codes, scales, zeros = int4_blocks(weight.T, block)
        stored = self.constant(f"{name}_int4", nibbles(codes).reshape(outputs, -1, block // 2))
        zero = self.constant(f"{name}_zero", nibbles(zeros))
        scale, cast = self.half(f"{name}_scale", as_half(scales).reshape(-1))
        product = node.output[0] if node.op_type == "MatMul" else f"{node.output[0]}_product"
        multiply = _contrib(
            "MatMulNBits",
            [node.input[0], stored, scale, zero],
            [product],
            K=inputs,
            N=outputs,
            bits=4,
            block_size=block,
            accuracy_level=accuracy_level,
        )
        return [*cast, multiply, *_bias(node, product)]

    def matmul8(self, node: onnx.NodeProto) -> list[onnx.NodeProto]:
        weight = self.weight(node)
        assert weight is not None
        name, output = node.input[1], node.output[0]
        codes, scales, zeros = uint8_columns(weight)
        before: list[onnx.NodeProto] = []
        if node.input[0] not in self.rows:
            before = self._quantised_rows(node.input[0])
        activations, row_scale = self.rows[node.input[0]]
        middle = self.constant("row_zero", np.array(128, np.uint8))
        stored = self.constant(f"{name}_uint8", codes)
        zero = self.constant(f"{name}_zero", zeros)
        scale = self.constant(f"{name}_scale", scales)
        parts = [f"{output}_{part}" for part in ("integers", "floats", "rows")]
        product = output if node.op_type == "MatMul" else f"{output}_product"
        return [
            *before,
            helper.make_node("MatMulInteger", [activations, stored, middle, zero], [parts[0]]),
            helper.make_node("Cast", [parts[0]], [parts[1]], to=TensorProto.FLOAT),
            helper.make_node("Mul", [parts[1], row_scale], [parts[2]]),
            helper.make_node("Mul", [parts[2], scale], [product]),
            *_bias(node, product),
        ]

    def _quantised_rows(self, name: str) -> list[onnx.NodeProto]:
        """uint8 activations around 128 with one scale a row: no row sees another's range."""
        last = self.constant("last_axis", np.array([-1], np.int64))
        top = self.constant("row_top", np.array(127, np.float32))
        tiny = self.constant("row_tiny", np.array(TINY, np.float32))
        centre = self.constant("row_centre", np.array(128, np.float32))
        steps = ("abs", "top", "safe", "scale", "ratio", "round", "shift", "uint8")
        part = {step: f"{name}_row_{step}" for step in steps}
        self.rows[name] = (part["uint8"], part["scale"])
        peak = (
            helper.make_node("ReduceMax", [part["abs"], last], [part["top"]], keepdims=1)
            if self._opset() >= 18
            else helper.make_node("ReduceMax", [part["abs"]], [part["top"]], axes=[-1], keepdims=1)
        )
        return [
            helper.make_node("Abs", [name], [part["abs"]]),
            peak,
            helper.make_node("Max", [part["top"], tiny], [part["safe"]]),
            helper.make_node("Div", [part["safe"], top], [part["scale"]]),
            helper.make_node("Div", [name, part["scale"]], [part["ratio"]]),
            helper.make_node("Round", [part["ratio"]], [part["round"]]),
            helper.make_node("Add", [part["round"], centre], [part["shift"]]),
            helper.make_node("Cast", [part["shift"]], [part["uint8"]], to=TensorProto.UINT8),
        ]

    def _opset(self) -> int:
        return next(o.version for o in self.model.opset_import if o.domain in ("", "ai.onnx"))

    def finish(self) -> None:
        graph = self.model.graph
        nodes = [new for node in graph.node for new in self.replaced.get(node.output[0], [node])]
        del graph.node[:]
        graph.node.extend(nodes)
        used = {name for node in nodes for name in node.input}
        kept = [item for item in graph.initializer if item.name in used]
        kept += [item for item in self.added.values() if item.name in used]
        del graph.initializer[:]
        graph.initializer.extend(kept)
        del graph.value_info[:]
        if not any(o.domain == "com.microsoft" for o in self.model.opset_import):
            self.model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
        self.model.ir_version = max(self.model.ir_version, 10)  # 4-bit tensors


def _bias(node: onnx.NodeProto, product: str) -> list[onnx.NodeProto]:
    if product == node.output[0]:
        return []
    if len(node.input) < 3:
        return [helper.make_node("Identity", [product], [node.output[0]])]
    return [helper.make_node("Add", [product, node.input[2]], [node.output[0]])]


def _contrib(kind: str, inputs: list[str], outputs: list[str], **settings: int) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, outputs, domain="com.microsoft", **settings)


def main() -> None:
    parser = argparse.ArgumentParser(description="Quantise an fp32 ONNX classifier.")
    parser.add_argument("model", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--bits", type=int, default=4, choices=(4, 8))
    parser.add_argument("--block", type=int, default=64)
    parser.add_argument("--embeddings", default="int8", choices=("int8", "int4"))
    parser.add_argument("--accuracy-level", type=int, default=4, choices=(0, 1, 4))
    options = parser.parse_args()
    quantise(
        options.model,
        options.out,
        bits=options.bits,
        block=options.block,
        embeddings=options.embeddings,
        accuracy_level=options.accuracy_level,
    )


if __name__ == "__main__":
    main()
