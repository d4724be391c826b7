"""Make an fp32 ONNX classifier small: weights stored in 4 bits, arithmetic in 8, 4-bit tables.

- Products: MatMulIntegerToFloat with signed weights per output channel and uint8 activations per
  row. The usual dynamic quantisation has one activation range for the whole tensor, which is less
  exact and makes a pair's result depend on its batch. The fast kernels of x86 chips are for
  uint8 x int8; older ones add two products in 16 bits, which weights from -63 to 63 do not
  overflow.
- The weights are stored in 4 bits, in a second file, and unpacked when the model is loaded
  (`halldetect.verification.verifiers.onnx`).
- Table rows are gathered before they are dequantised, so no fp32 table is ever in memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper, version_converter

from halldetect.verification.verifiers.onnx import packed_beside
from training.base.rounding import (
    TINY,
    Floats,
    as_half,
    int4_blocks,
    packed_columns,
)

# Smaller constants (the output layer, the relative position biases) stay as they are.
SMALLEST = 1 << 16


def quantise(fp32_onnx: Path, out: Path, block: int = 64) -> None:
    """Write a quantised copy of the model, and its packed weights beside it."""
    if block < 16 or block & (block - 1):
        raise ValueError(f"block must be a power of two from 16 on, not {block}")
    model = _converted(onnx.load(str(fp32_onnx)), 21)  # QuantizeLinear in blocks came with 21
    graph = _Graph(model)
    for node in list(model.graph.node):
        if node.op_type == "Gather" and graph.table(node) is not None:
            graph.replace(node, graph.gather4(node))
        elif node.op_type in ("MatMul", "Gemm") and graph.weight(node) is not None:
            graph.replace(node, graph.matmul8(node, block))
    graph.finish()
    out.write_bytes(model.SerializeToString())  # not onnx.save, which needs the external weights
    packed_beside(out).unlink(missing_ok=True)
    if graph.packed:
        with packed_beside(out).open("wb") as file:
            np.savez(file, **graph.packed)  # type: ignore[arg-type]


def _converted(model: onnx.ModelProto, version: int) -> onnx.ModelProto:
    """Return the model with at least that version of the operators."""
    has = next(item.version for item in model.opset_import if item.domain in ("", "ai.onnx"))
    return model if has >= version else version_converter.convert_version(model, version)


class _Graph:
    """A model being changed: its constants, and new ones, each added once."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.model = model
        self.constants = {item.name: item for item in model.graph.initializer}
        self.rows: dict[str, tuple[str, str]] = {}
        self.replaced: dict[str, list[onnx.NodeProto]] = {}
        self.added: dict[str, onnx.TensorProto] = {}
        self.packed: dict[str, NDArray[Any]] = {}

    def table(self, node: onnx.NodeProto) -> Floats | None:
        """Return the fp32 table of a Gather."""
        axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
        return None if axis != 0 else self._floats(node.input[0])

    def weight(self, node: onnx.NodeProto) -> Floats | None:
        """Return the constant weights (inputs, outputs) of a plain linear layer, or None."""
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

    def replace(self, node: onnx.NodeProto, by: list[onnx.NodeProto]) -> None:
        self.replaced[node.output[0]] = by

    def gather4(self, node: onnx.NodeProto, block: int = 32) -> list[onnx.NodeProto]:
        """Return the nodes that gather rows of 4-bit codes and then unpack them.

        The runtime's own operator (GatherBlockQuantized) works value by value and took 6 % of a
        run. The low bits hold the first half of a row, the high bits the second.
        """
        name, indices, output = node.input[0], node.input[1], node.output[0]
        table = self.table(node)
        assert table is not None
        width = table.shape[1]
        if width % (2 * block):
            raise ValueError(f"{name}: its width {width} must be a multiple of {2 * block}")
        codes, scales, zeros = int4_blocks(table, block)
        blocks = width // block
        grouped = self.constant(f"{name}_blocks", np.array([-1, blocks, block], np.int64))
        single = self.constant(f"{name}_single", np.array([-1, blocks, 1], np.int64))
        last = self.constant(f"{name}_width", np.array([width], np.int64))
        stored = self.constant(f"{name}_scale", as_half(scales).astype(np.float16))
        part = {step: f"{output}_{step}" for step in ("codes", "zeros", "half", "scale", "steps")}
        return [
            *self._nibbles(f"{name}_int4", codes, indices, grouped, part["codes"]),
            *self._nibbles(f"{name}_zero", zeros, indices, single, part["zeros"]),
            helper.make_node("Gather", [stored, indices], [part["half"]]),
            helper.make_node("Cast", [part["half"]], [f"{output}_wide"], to=TensorProto.FLOAT),
            helper.make_node("Reshape", [f"{output}_wide", single], [part["scale"]]),
            helper.make_node("Sub", [part["codes"], part["zeros"]], [part["steps"]]),
            helper.make_node("Mul", [part["steps"], part["scale"]], [f"{output}_blocks"]),
            helper.make_node("Shape", [indices], [f"{output}_many"]),
            helper.make_node("Concat", [f"{output}_many", last], [f"{output}_shape"], axis=0),
            helper.make_node("Reshape", [f"{output}_blocks", f"{output}_shape"], [output]),
        ]

    def _nibbles(
        self, name: str, codes: NDArray[np.uint8], indices: str, shape: str, output: str
    ) -> list[onnx.NodeProto]:
        half = codes.shape[1] // 2
        stored = self.constant(name, codes[:, :half] | (codes[:, half:] << 4))
        mask = self.constant("low_bits", np.array(15, np.uint8))
        four = self.constant("four", np.array(4, np.uint8))
        part = {step: f"{output}_{step}" for step in ("bytes", "low", "high", "both", "floats")}
        return [
            helper.make_node("Gather", [stored, indices], [part["bytes"]]),
            helper.make_node("BitwiseAnd", [part["bytes"], mask], [part["low"]]),
            helper.make_node("BitShift", [part["bytes"], four], [part["high"]], direction="RIGHT"),
            helper.make_node("Concat", [part["low"], part["high"]], [part["both"]], axis=-1),
            helper.make_node("Cast", [part["both"]], [part["floats"]], to=TensorProto.FLOAT),
            helper.make_node("Reshape", [part["floats"], shape], [output]),
        ]

    def matmul8(self, node: onnx.NodeProto, block: int) -> list[onnx.NodeProto]:
        """Return nodes for 8-bit products; the weights are packed in 4 bits each."""
        weight = self.weight(node)
        assert weight is not None
        name, output = node.input[1], node.output[0]
        before: list[onnx.NodeProto] = []
        if node.input[0] not in self.rows:
            before = self._quantised_rows(node.input[0], weight.shape[0])
        activations, row_scale = self.rows[node.input[0]]
        stored = f"{name}_int8"
        codes, zeros, steps, values, scales = packed_columns(weight, block)
        for part, value in (("codes", codes), ("zeros", zeros), ("steps", steps)):
            self.packed[f"{stored}.{part}"] = value
        self.added[stored] = _elsewhere(stored, values)
        middle = self.constant("row_zero", np.array(128, np.uint8))
        one = self.constant("row_one", np.array(1, np.float32))
        scale = self.constant(f"{name}_scale", scales)
        nothing = self.constant(f"{name}_zero", np.zeros(len(scales), np.int8))
        product = output if node.op_type == "MatMul" else f"{output}_product"
        columns = f"{output}_columns"
        return [
            *before,
            _contrib(
                "MatMulIntegerToFloat",
                [activations, stored, one, scale, middle, nothing],
                [columns],
            ),
            helper.make_node("Mul", [columns, row_scale], [product]),
            *_bias(node, product),
        ]

    def _quantised_rows(self, name: str, width: int) -> list[onnx.NodeProto]:
        """Return nodes for uint8 activations around 128 with one scale per row.

        Rows are independent. The runtime has a fast operator for rows as blocks.
        """
        last = self.constant("last_axis", np.array([-1], np.int64))
        top = self.constant("row_top", np.array(127, np.float32))
        tiny = self.constant("row_tiny", np.array(TINY, np.float32))
        middle = self.constant("row_zero", np.array(128, np.uint8))
        steps = ("high", "low", "depth", "safe", "scale", "shape", "middle", "uint8")
        part = {step: f"{name}_row_{step}" for step in steps}
        self.rows[name] = (part["uint8"], part["scale"])
        return [
            helper.make_node("ReduceMax", [name, last], [part["high"]], keepdims=1),
            helper.make_node("ReduceMin", [name, last], [part["low"]], keepdims=1),
            helper.make_node("Neg", [part["low"]], [part["depth"]]),
            helper.make_node("Max", [part["high"], part["depth"], tiny], [part["safe"]]),
            helper.make_node("Div", [part["safe"], top], [part["scale"]]),
            helper.make_node("Shape", [part["scale"]], [part["shape"]]),
            helper.make_node("Expand", [middle, part["shape"]], [part["middle"]]),
            helper.make_node(
                "QuantizeLinear",
                [name, part["scale"], part["middle"]],
                [part["uint8"]],
                axis=-1,
                block_size=width,
            ),
        ]

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


def _elsewhere(name: str, values: NDArray[Any]) -> onnx.TensorProto:
    """Return a constant that is supplied when the model is loaded."""
    item = TensorProto(name=name, data_type=TensorProto.INT8, dims=values.shape)
    item.data_location = TensorProto.EXTERNAL
    for key, value in (("location", "unpacked"), ("offset", "0"), ("length", str(values.size))):
        item.external_data.add(key=key, value=value)
    return item


def _contrib(kind: str, inputs: list[str], outputs: list[str], **settings: Any) -> onnx.NodeProto:
    return helper.make_node(kind, inputs, outputs, domain="com.microsoft", **settings)
