"""A Qwen2 model in torch: the base dequantised on the device, with the adapter merged into it.

The weights of a GGUF file stay on the CPU in their stored form. One tensor at a time is moved,
dequantised to float32 on the device, merged with the adapter, and rounded to the type of the
computation. A GPU never holds more than its own weights and one tensor in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.nn.attention.bias import causal_lower_right

from halldetect.large.adapter import Adapter
from halldetect.large.gguf import GgufFile, dequantise
from halldetect.large.shape import MAPS, Shape, head_tensor

# Rows to dequantise at once: 16,384 rows of 1,536 numbers are 100 MB of float32.
_ROWS = 16384

GPU = "cuda"  # the only kind of device with a kernel for many runs

Attend = Callable[[Tensor, Tensor, Tensor], Tensor]


class Spans(NamedTuple):
    """Runs of tokens and what each attends to: keys before it, and itself up to each token.

    `keys` has the places of the keys of all runs, `queries` and `seen` the number of tokens and of
    keys of each run, `longest` and `most_seen` their maxima.
    """

    keys: Tensor
    queries: Tensor
    seen: Tensor
    longest: int
    most_seen: int


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
        self.has_kernel = has_kernel(shape, device, dtype)

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

    def states(self, ids: Tensor, positions: Tensor, spans: Spans) -> Tensor:
        """Return the states after the last layer: tokens x hidden."""
        x = functional.embedding(ids, self._embedding)
        angles = positions[:, None, None].float() * self._rates
        cos, sin = angles.cos(), angles.sin()
        attend = attention_in(spans, kernel=self.has_kernel)
        for weights in self._layers:
            x = layer(self.shape, x, cos, sin, attend, weights)
        return x

    def logits(self, states: Tensor) -> Tensor:
        """Return the logits of the three answers, float32, of some states (claims x hidden)."""
        normed = normalised(states, self._norm, self.shape.epsilon)
        return functional.linear(normed.float(), self._head)


def layer(
    shape: Shape, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend, weights: tuple[Tensor, ...]
) -> Tensor:
    """Compute one layer of Qwen2."""
    norm1, w_qkv, b_qkv, w_o, norm2, w_gu, w_down = weights
    heads, kv_heads, size = shape.heads, shape.kv_heads, shape.head_size
    qkv = functional.linear(normalised(x, norm1, shape.epsilon), w_qkv, b_qkv)
    q, k, v = qkv.unflatten(-1, (-1, size)).split([heads, kv_heads, kv_heads], 1)
    h = attend(rotated(q, cos, sin), rotated(k, cos, sin), v)
    x = x + functional.linear(h.flatten(1), w_o)
    h = functional.linear(normalised(x, norm2, shape.epsilon), w_gu)
    gate, up = h.chunk(2, -1)
    return x + functional.linear(functional.silu(gate) * up, w_down)


def attention_in(spans: Spans, *, kernel: bool) -> Attend:
    """Return the attention within spans, of queries, keys and values: tokens x heads x size.

    `kernel` computes all runs at once, on a GPU; otherwise they are computed one by one. Query
    heads share keys and values in groups.
    """
    starts = [functional.pad(counts.cumsum(0), (1, 0)).int() for counts in spans[1:3]]

    def at_once(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys, values = k[spans.keys], v[spans.keys]
        longest = (spans.longest, spans.most_seen)
        found: Tensor = torch.ops.aten._flash_attention_forward(
            q, keys, values, *starts, *longest, 0.0, True, False
        )[0]
        return found

    def one_by_one(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        times = q.shape[1] // k.shape[1]
        lengths = [counts.tolist() for counts in spans[1:3]]
        keys, values = (
            side[spans.keys].repeat_interleave(times, 1).split(lengths[1]) for side in (k, v)
        )
        found = []
        for query, key, value in zip(q.split(lengths[0]), keys, values, strict=True):
            mask = causal_lower_right(len(query), len(key))
            query, key, value = (side.transpose(0, 1)[None] for side in (query, key, value))
            found.append(functional.scaled_dot_product_attention(query, key, value, mask)[0])
        return torch.cat(found, 1).transpose(0, 1)

    return at_once if kernel else one_by_one


def has_kernel(shape: Shape, device: str, dtype: torch.dtype) -> bool:
    """Return True if the kernel for many runs is there and computes what single runs give."""
    if device != GPU or dtype == torch.float32:
        return False
    made = torch.Generator(device).manual_seed(0)
    queries, seen = torch.tensor([[40, 9, 17], [40, 49, 57]], device=device)
    passage, first, second = torch.arange(66, device=device).split(queries.tolist())
    keys = torch.cat([passage, passage, first, passage, second])
    spans = Spans(keys, queries, seen, 40, 57)
    sides = [
        torch.randn(66, heads, shape.head_size, generator=made, device=device, dtype=dtype)
        for heads in (shape.heads, shape.kv_heads, shape.kv_heads)
    ]
    try:
        found = attention_in(spans, kernel=True)(*sides)
    except (AttributeError, RuntimeError, TypeError):
        return False  # another version of torch, or a GPU that the kernel does not know
    return bool(torch.allclose(found, attention_in(spans, kernel=False)(*sides), atol=0.02))


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
