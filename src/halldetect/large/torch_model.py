"""The model in torch: the base dequantised on the device, with the adapter merged into it.

The weights of a GGUF file stay on the CPU as they are stored; one tensor at a time is moved,
dequantised to float32 on the device, given what the adapter adds, and rounded to the type of the
computation. So a GPU never holds more than its own weights and one tensor in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from halldetect.errors import ModelError
from halldetect.large.adapter import MAPS, Adapter
from halldetect.large.gguf_tensors import GgufFile
from halldetect.large.shape import Shape, head_tensor

# Rows that are dequantised at once: 16,384 rows of 1,536 numbers are 100 MB of float32.
_ROWS = 16384
Past = tuple[Tensor, Tensor]
Attend = Callable[[Tensor, Tensor, Tensor, Any], Tensor]
Layer = Callable[..., tuple[Tensor, Tensor, Tensor]]


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
        flex: bool = False,
        compiled: bool = False,
    ) -> None:
        """Load the weights.

        Args:
            model: the base.
            adapter: what is added to it.
            answers: tokens of the three answers.
            device: "cpu", "cuda" or "mps".
            dtype: type of weights and states.
            flex: use flex_attention, whose mask is a BlockMask; otherwise masks are added.
            compiled: compile the layer; it takes a minute or so and pays for long runs.
        """
        self.shape = shape = Shape.of(model)
        self.device, self.dtype, self.flex, self.compiled = device, dtype, flex, compiled
        self._model = model

        def get(name: str) -> Tensor:
            return _loaded(model, name, device)

        def merged(number: int, *names: str) -> Tensor:
            parts = []
            for name in names:
                a, b = (torch.from_numpy(side).to(device) for side in adapter.map(number, name))
                weight = get(f"blk.{number}.{MAPS[name]}.weight")
                parts.append(weight.addmm_(b, a).to(dtype))
            return torch.cat(parts)

        def vector(name: str) -> Tensor:
            return get(name).reshape(-1).to(dtype)

        self._layers = []
        for number in range(shape.layers):
            bias = [vector(f"blk.{number}.attn_{part}.bias") for part in "qkv"]
            self._layers.append(
                (
                    vector(f"blk.{number}.attn_norm.weight"),
                    merged(number, "q", "k", "v"),
                    torch.cat(bias),
                    merged(number, "o"),
                    vector(f"blk.{number}.ffn_norm.weight"),
                    merged(number, "g", "u"),
                    merged(number, "dn"),
                )
            )
        self._norm = vector("output_norm.weight")
        head = model.rows(head_tensor(model), answers)
        self._head = torch.from_numpy(head).to(device)
        # A CPU takes the few rows that it needs from the file itself.
        self._embedding = None if device == "cpu" else _embedding(model, device, dtype)
        size = shape.head_size
        steps = torch.arange(0, size, 2, device=device, dtype=torch.float32)
        self._rates = 1.0 / shape.theta ** (steps / size)
        layer = _layer_function(shape, _flex if flex else _dense)
        self._layer: Layer = (
            torch.compile(layer, dynamic=False, fullgraph=True) if compiled else layer
        )

    def states(
        self,
        ids: Tensor,
        positions: Tensor,
        mask: Any,
        past: Sequence[Past] | None = None,
        *,
        keep: bool = False,
    ) -> tuple[Tensor, list[Past]]:
        """States after the last layer; keys and values of every layer, if they are to be kept.

        Args:
            ids: rows x tokens.
            positions: rows x tokens, where each token stands.
            mask: which token sees which (see `flex` above); None for tokens in plain order.
            past: keys and values of tokens before these.
            keep: whether to return keys and values, which takes memory until the end.
        """
        if self._embedding is None:
            rows = self._model.rows("token_embd.weight", ids.reshape(-1).numpy())
            x = torch.from_numpy(rows).reshape(*ids.shape, -1).to(self.dtype)
        else:
            x = functional.embedding(ids, self._embedding)
        angles = positions[:, None, :, None].float() * self._rates
        cos, sin = angles.cos(), angles.sin()
        kept = []
        for number, weights in enumerate(self._layers):
            before = None if past is None else past[number]
            x, k, v = self._layer(x, cos, sin, mask, weights, before)
            if keep:
                kept.append((k, v))
        return x, kept

    def logits(self, states: Tensor) -> Tensor:
        """Logits of the three answers, float32, of some states (claims x hidden)."""
        normed = _normalised(states, self._norm, self.shape.epsilon)
        return functional.linear(normed.float(), self._head)


def _layer_function(shape: Shape, attend: Attend) -> Layer:
    """The computation of one layer, the same function for all of them: it is compiled once."""
    heads, kv_heads, size = shape.heads, shape.kv_heads, shape.head_size

    def layer(
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        mask: Any,
        weights: tuple[Tensor, ...],
        past: Past | None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        norm1, w_qkv, b_qkv, w_o, norm2, w_gu, w_down = weights
        rows, tokens, _ = x.shape
        qkv = functional.linear(_normalised(x, norm1, shape.epsilon), w_qkv, b_qkv)
        q, k, v = qkv.split([heads * size, kv_heads * size, kv_heads * size], -1)
        q = _turned(q.reshape(rows, tokens, heads, size).transpose(1, 2), cos, sin)
        k = _turned(k.reshape(rows, tokens, kv_heads, size).transpose(1, 2), cos, sin)
        v = v.reshape(rows, tokens, kv_heads, size).transpose(1, 2)
        if past is not None:
            k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        h = attend(q, k, v, mask).transpose(1, 2).reshape(rows, tokens, heads * size)
        x = x + functional.linear(h, w_o)
        h = functional.linear(_normalised(x, norm2, shape.epsilon), w_gu)
        gate, up = h.chunk(2, -1)
        return x + functional.linear(functional.silu(gate) * up, w_down), k, v

    return layer


def _dense(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    times = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)


def _flex(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
    from torch.nn.attention.flex_attention import flex_attention

    return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)


def _normalised(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Root-mean-square norm, computed in float32."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return wide.to(x.dtype) * weight


def _turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Queries or keys turned by the angles of their positions."""
    first, second = x.float().chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


def _embedding(model: GgufFile, device: str, dtype: torch.dtype) -> Tensor:
    name = "token_embd.weight"
    rows = model.tensor(name).rows
    parts = (_loaded(model, name, device, at, at + _ROWS) for at in range(0, rows, _ROWS))
    return torch.cat([part.to(dtype) for part in parts])


def _loaded(
    model: GgufFile, name: str, device: str, first: int = 0, last: int | None = None
) -> Tensor:
    """Rows of a tensor of the base, float32, on the device."""
    raw = torch.from_numpy(np.array(model.raw(name)[first:last])).to(device)
    return dequantised(raw, model.tensor(name).kind)


def dequantised(raw: Tensor, kind: str) -> Tensor:
    """Values of stored rows, float32, on the device they are on; see `gguf.dequantise`.

    Args:
        raw: bytes, one row per row.
        kind: F32, F16, Q8_0, Q4_K or Q6_K.
    """
    rows = len(raw)
    if kind == "F32":
        return raw.view(torch.float32)
    if kind == "F16":
        return raw.view(torch.float16).float()
    if kind == "Q8_0":
        block = raw.reshape(-1, 34)
        numbers = block[:, 2:].contiguous().view(torch.int8).float()
        return (numbers * _halves(block[:, :2])).reshape(rows, -1)
    if kind == "Q4_K":
        block = raw.reshape(-1, 144)
        low, mid, high = block[:, 4:8], block[:, 8:12], block[:, 12:16]
        scales = torch.cat([low & 63, (high & 15) | ((low >> 6) << 4)], 1).float()
        minima = torch.cat([mid & 63, (high >> 4) | ((mid >> 6) << 4)], 1).float()
        pairs = block[:, 16:].reshape(-1, 4, 32)
        numbers = torch.stack([pairs & 15, pairs >> 4], 2).reshape(-1, 8, 32).float()
        values = numbers * (scales * _halves(block[:, 0:2]))[:, :, None]
        values -= (minima * _halves(block[:, 2:4]))[:, :, None]
        return values.reshape(rows, -1)
    if kind == "Q6_K":
        block = raw.reshape(-1, 210)
        low = block[:, :128].reshape(-1, 2, 2, 32)
        high = block[:, 128:192].reshape(-1, 2, 1, 32)
        scales = block[:, 192:208].contiguous().view(torch.int8).float()
        nibbles = torch.cat([low & 15, low >> 4], 2)
        tops = torch.cat([(high >> shift) & 3 for shift in (0, 2, 4, 6)], 2)
        numbers = (nibbles | (tops << 4)).float() - 32.0
        values = numbers.reshape(-1, 16, 16) * (scales * _halves(block[:, 208:210]))[:, :, None]
        return values.reshape(rows, -1)
    raise ModelError(f"tensors of kind {kind} cannot be read")


def _halves(raw: Tensor) -> Tensor:
    return raw.contiguous().view(torch.float16).float()
