"""A Qwen2 model in torch: the base dequantised on the device, with the adapter merged into it.

The weights of a GGUF file stay on the CPU in their stored form. One tensor at a time is moved,
dequantised to float32 on the device, merged with the adapter, and rounded to the type of the
computation. A GPU never holds more than its own weights and one tensor in float32.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from halldetect.large.adapter import Adapter
from halldetect.large.shape import MAPS, Shape, head_tensor
from halldetect.models.gguf import GgufFile, dequantise

# Rows to dequantise at once: 16,384 rows of 1,536 numbers are 100 MB of float32.
_ROWS = 16384


class TorchModel:
    """Weights of base and adapter on a device, and the computation of the layers."""

    def __init__(
        self,
        model: GgufFile,
        adapter: Adapter,
        answers: Sequence[int],
        *,
        device: str,
        dtype: torch.dtype,
    ) -> None:
        """Load the weights; `answers` are the tokens of the three answers."""
        self.shape = shape = Shape.of(model)
        self.device, self.dtype = device, dtype

        def merged(number: int, *names: str) -> Tensor:
            parts = []
            for name in names:
                a, b = (torch.from_numpy(side).to(device) for side in adapter.map(number, name))
                weight = loaded(model, f"blk.{number}.{MAPS[name]}.weight", device)
                parts.append(weight.addmm_(b, a).to(dtype))
            return torch.cat(parts)

        def vector(name: str) -> Tensor:
            return loaded(model, name, device).reshape(-1).to(dtype)

        self._layers = [
            (
                vector(f"blk.{number}.attn_norm.weight"),
                merged(number, "q", "k", "v"),
                torch.cat([vector(f"blk.{number}.attn_{part}.bias") for part in "qkv"]),
                merged(number, "o"),
                vector(f"blk.{number}.ffn_norm.weight"),
                merged(number, "g", "u"),
                merged(number, "dn"),
            )
            for number in range(shape.layers)
        ]
        self._norm = vector("output_norm.weight")
        self._head = torch.from_numpy(model.rows(head_tensor(model), answers)).to(device)
        self._embedding = _embedding(model, device, dtype)
        steps = torch.arange(0, shape.head_size, 2, device=device, dtype=torch.float32)
        self._rates = 1.0 / shape.theta ** (steps / shape.head_size)

    def states(self, ids: Tensor, positions: Tensor, mask: Tensor) -> Tensor:
        """Return the states after the last layer: rows x tokens x hidden.

        `ids` and `positions` are rows x tokens, `mask` is added to the attention scores.
        """
        x = functional.embedding(ids, self._embedding)
        angles = positions[:, None, :, None].float() * self._rates
        cos, sin = angles.cos(), angles.sin()
        for weights in self._layers:
            x = layer(self.shape, x, cos, sin, mask, weights)
        return x

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the three answers, float32, of some states (claims x hidden)."""
        normed = normalised(states, self._norm, self.shape.epsilon)
        return functional.linear(normed.float(), self._head)


def layer(
    shape: Shape, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor, weights: tuple[Tensor, ...]
) -> Tensor:
    """Compute one layer of Qwen2."""
    norm1, w_qkv, b_qkv, w_o, norm2, w_gu, w_down = weights
    heads, kv_heads, size = shape.heads, shape.kv_heads, shape.head_size
    rows, tokens, _ = x.shape
    qkv = functional.linear(normalised(x, norm1, shape.epsilon), w_qkv, b_qkv)
    q, k, v = qkv.split([heads * size, kv_heads * size, kv_heads * size], -1)
    q = rotated(q.reshape(rows, tokens, heads, size).transpose(1, 2), cos, sin)
    k = rotated(k.reshape(rows, tokens, kv_heads, size).transpose(1, 2), cos, sin)
    v = v.reshape(rows, tokens, kv_heads, size).transpose(1, 2)
    h = attention(q, k, v, mask).transpose(1, 2).reshape(rows, tokens, heads * size)
    x = x + functional.linear(h, w_o)
    h = functional.linear(normalised(x, norm2, shape.epsilon), w_gu)
    gate, up = h.chunk(2, -1)
    return x + functional.linear(functional.silu(gate) * up, w_down)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return the attention with an additive mask; query heads share keys and values in groups."""
    times = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def normalised(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Return the root-mean-square norm, computed in float32 by one kernel."""
    return functional.rms_norm(x, weight.shape, weight, epsilon)


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate queries or keys by the angles of their positions."""
    first, second = x.float().chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


def _embedding(model: GgufFile, device: str, dtype: torch.dtype) -> Tensor:
    name = "token_embd.weight"
    rows = model.tensors[name].rows
    parts = (loaded(model, name, device, at, at + _ROWS) for at in range(0, rows, _ROWS))
    return torch.cat([part.to(dtype) for part in parts])


def loaded(
    model: GgufFile, name: str, device: str, first: int = 0, last: int | None = None
) -> Tensor:
    """Return rows of a tensor of the base, float32, on the device."""
    raw = torch.from_numpy(np.array(model.raw(name)[first:last])).to(device)
    values: Tensor = dequantise(raw, model.tensors[name].kind)
    return values
