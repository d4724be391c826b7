"""The quantiser of the shipped weights, on tiny models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from halldetect.errors import ModelError
from halldetect.verification.verifiers import onnx as packed_weights
from halldetect.verification.verifiers.onnx import OnnxVerifier
from tests.support.tiny_models import PAIRS, quantising, write_onnx

onnx = pytest.importorskip("onnx", reason="the quantiser works on onnx graphs")


@pytest.mark.parametrize("block", [16, 64])
def test_it_is_small_and_says_nearly_the_same(block: int, tmp_path: Path) -> None:
    full = write_onnx(tmp_path / "full")
    small = write_onnx(tmp_path / "small", quantisation={"block": block})
    sizes = [
        sum(file.stat().st_size for file in place.glob("model.onnx*")) for place in (full, small)
    ]
    assert sizes[1] < 0.3 * sizes[0]
    expected, found = (OnnxVerifier(place).judge(PAIRS) for place in (full, small))
    for one, other in zip(expected, found, strict=True):
        assert abs(one.entailment - other.entailment) < 0.1
        assert abs((one.contradiction or 0) - (other.contradiction or 0)) < 0.1


def test_no_fp32_weight_is_left(tmp_path: Path) -> None:
    place = write_onnx(tmp_path / "small", quantisation={"block": 16})
    graph = onnx.load(str(place / "model.onnx"), load_external_data=False).graph
    floats = [item for item in graph.initializer if item.data_type == onnx.TensorProto.FLOAT]
    assert max(int(np.prod(item.dims)) for item in floats) <= 3 * 256
    kinds = [node.op_type for node in graph.node]
    assert kinds.count("MatMulIntegerToFloat") == 3
    assert kinds.count("BitwiseAnd") == 2


def test_rows_do_not_depend_on_each_other(tmp_path: Path) -> None:
    """With one range for all of them the logits would move in the second decimal place."""
    verifier = OnnxVerifier(write_onnx(tmp_path / "small", quantisation={"block": 16}))
    ids = np.random.default_rng(0).integers(6, 90, (7, 21))
    feeds = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    together = verifier._session.run(None, feeds)[0]
    for row in range(7):
        one = {name: value[row : row + 1] for name, value in feeds.items()}
        assert np.abs(verifier._session.run(None, one)[0][0] - together[row]).max() < 1e-4


@given(st.integers(0, 2**32 - 1), st.sampled_from([16, 32, 64]), st.integers(1, 150))
def test_blocks_are_never_worse_than_plain_rounding_can_be(
    seed: int, block: int, width: int
) -> None:
    weight = np.random.default_rng(seed).standard_normal((3, width)).astype(np.float32)
    codes, scales, zeros = quantising().int4_blocks(weight, block)
    assert codes.max() <= 15
    assert zeros.max() <= 15
    steps = codes.reshape(3, -1, block).astype(np.float32) - zeros[..., None]
    back = (steps * scales[..., None]).reshape(3, -1)[:, :width]
    padded = np.pad(weight, ((0, 0), (0, -width % block))).reshape(3, -1, block)
    spread = np.maximum(padded.max(-1), 0) - np.minimum(padded.min(-1), 0)
    plain = (spread / 15) ** 2 / 4 * block  # the worst case of rounding to 16 even levels
    error = np.pad((weight - back) ** 2, ((0, 0), (0, -width % block)))
    assert (error.reshape(3, -1, block).sum(-1) <= plain * 1.05 + 1e-9).all()


@given(st.integers(0, 2**32 - 1), st.sampled_from([16, 32]), st.integers(1, 4), st.booleans())
def test_packed_weights_are_unpacked_to_nearly_the_same(
    seed: int, block: int, blocks: int, wild: bool
) -> None:
    rng = np.random.default_rng(seed)
    weight = rng.standard_normal((2 * block * blocks, 5)).astype(np.float32)
    if wild:  # one weight far outside, and a column of nothing
        weight[0, 0], weight[:, 1] = 40.0, 0.0
    codes, zeros, steps, values, scales = quantising().packed_columns(weight, block)
    assert np.array_equal(packed_weights.weights(codes, zeros, steps), values)
    assert np.abs(values.astype(int)).max() <= packed_weights.LARGEST + 1
    direct, coarse, base = quantising().int4_blocks(weight.T, block)
    four = (direct.reshape(5, -1, block) - base[..., None].astype(np.float32)) * coarse[..., None]
    spread = np.abs(weight).max(0)
    lost = np.abs(values * scales - four.reshape(5, -1).T) / np.maximum(spread, 1e-6)
    assert lost.max() < 0.03, "of the largest weight of the column, beyond what 4 bits lose"


def test_a_packed_model_without_its_weights_says_so(tmp_path: Path) -> None:
    place = write_onnx(tmp_path / "small", quantisation={"block": 16})
    whole = OnnxVerifier(place).description
    assert whole["digest of model.onnx.npz"]
    (place / "model.onnx.npz").write_bytes(b"nothing of the kind")
    with pytest.raises(ModelError, match=r"model\.onnx cannot be loaded"):
        OnnxVerifier(place)
    (place / "model.onnx.npz").unlink()
    with pytest.raises(ModelError, match=r"model\.onnx cannot be loaded"):
        OnnxVerifier(place)


def test_extreme_weights_survive() -> None:
    int4_blocks = quantising().int4_blocks
    weight = np.zeros((2, 32), np.float32)
    weight[1, 3] = -7.5
    codes, scales, zeros = int4_blocks(weight, 16)
    back = (codes.reshape(2, 2, 16).astype(np.float32) - zeros[..., None]) * scales[..., None]
    assert np.allclose(back.reshape(2, 32), weight, atol=0.01)


@pytest.mark.parametrize("block", [48, 8])
def test_blocks_that_make_no_sense_are_refused(block: int, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="block"):
        quantising().quantise(tmp_path / "in", tmp_path / "out", block)
