"""The large verifier in training: a frozen Qwen2 model with trainable low-rank maps.

Every linear map of a layer computes y = Wx + B(Ax). W is dequantised from the GGUF file of the
base, bf16 and frozen; A and B are trained in float32 and used in bf16. The last token of a claim
gives the answer: the logits of " Yes", " Maybe" and " No" are entailment, neutral and
contradiction.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from halldetect.large.answer_prompt import Prompt
from halldetect.large.gguf import GgufFile, dequantise
from halldetect.large.shape import Shape, head_tensor
from halldetect.large.torch_model import rotated

Attend = Callable[[Tensor, Tensor, Tensor, Any], Tensor]


def dense(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Return the attention with an additive mask; query heads share keys and values in groups."""
    times = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
    return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)


def attention(kind: str, alone: bool = False) -> Attend:
    """Return the attention function: `flex` (a block mask) or `dense` (a boolean mask).

    With `alone` the kernel is compiled here, for a layer that is not compiled.
    """
    from torch.nn.attention import flex_attention as module

    flex_attention: Any = module.flex_attention
    if alone:
        flex_attention = torch.compile(flex_attention, dynamic=False)

    def flex(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
        return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)

    return {"flex": flex, "dense": dense}[kind]


def normalised(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Return the root-mean-square norm, computed in float32."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return wide.to(x.dtype) * weight


def layer_function(shape: Shape, attend: Attend) -> Callable[..., Tensor]:
    """Return the computation of one layer; all layers share it, so it is compiled once."""
    heads, kv_heads, size = shape.heads, shape.kv_heads, shape.head_size

    def low(x: Tensor, lora: tuple[Tensor, ...]) -> Tensor:
        """Return B(Ax) of maps with the same input, with concatenated outputs."""
        downs, ups = lora[0::2], lora[1::2]
        down = functional.linear(x, torch.cat(downs).to(x.dtype))
        parts = down.split([matrix.shape[0] for matrix in downs], -1)
        found = [functional.linear(part, up.to(x.dtype)) for part, up in zip(parts, ups)]  # noqa: B905
        return torch.cat(found, -1) if len(found) > 1 else found[0]

    def layer(
        x: Tensor,
        cos: Tensor,
        sin: Tensor,
        mask: Any,
        frozen: tuple[Tensor, ...],
        lora: tuple[Tensor, ...],
    ) -> Tensor:
        norm1, w_qkv, b_qkv, w_o, norm2, w_gu, w_down = frozen
        batch, tokens, _ = x.shape
        h = normalised(x, norm1, shape.epsilon)
        qkv = functional.linear(h, w_qkv, b_qkv) + low(h, lora[0:6])
        q, k, v = qkv.split([heads * size, kv_heads * size, kv_heads * size], -1)
        q = rotated(q.reshape(batch, tokens, heads, size).transpose(1, 2), cos, sin)
        k = rotated(k.reshape(batch, tokens, kv_heads, size).transpose(1, 2), cos, sin)
        v = v.reshape(batch, tokens, kv_heads, size).transpose(1, 2)
        h = attend(q, k, v, mask).transpose(1, 2).reshape(batch, tokens, heads * size)
        x = x + functional.linear(h, w_o) + low(h, lora[6:8])
        h = normalised(x, norm2, shape.epsilon)
        gate, up = (functional.linear(h, w_gu) + low(h, lora[8:12])).chunk(2, -1)
        h = functional.silu(gate) * up
        return x + functional.linear(h, w_down) + low(h, lora[12:14])

    return layer


@dataclass
class Batch:
    """Packed rows on a device, as `pack.to_device` makes them."""

    ids: Tensor  # rows x tokens
    positions: Tensor  # rows x tokens
    mask: Any  # a BlockMask, or a boolean tensor
    answers: Tensor  # index of every claim's last token in the flattened rows


class Verifier:
    """The model with its adapter. Not an nn.Module: only the low-rank maps have gradients."""

    def __init__(self, base: Path, *, device: str = "cuda", rank: int = 64, seed: int = 0) -> None:
        """Load the base: bfloat16, block masks and a compiled layer on a GPU; float32 on a CPU.

        Runs whose new low-rank maps have one seed can be averaged.
        """
        self.device = device
        self.dtype = dtype = torch.bfloat16 if device == "cuda" else torch.float32
        model = GgufFile(base)
        self.shape = shape = Shape.of(model)

        def get(name: str) -> Tensor:
            raw = torch.from_numpy(np.array(model.raw(name))).to(device)
            return dequantise(raw, model.tensors[name].kind).to(dtype)

        def vector(name: str) -> Tensor:
            return get(name).reshape(-1)

        self.embedding = get("token_embd.weight")
        self.norm = vector("output_norm.weight")
        head = model.rows(head_tensor(model), Prompt(model).answers)
        self.head = torch.from_numpy(head).to(device)
        self.frozen = [
            (
                vector(f"blk.{number}.attn_norm.weight"),
                torch.cat([get(f"blk.{number}.attn_{part}.weight") for part in "qkv"]),
                torch.cat([vector(f"blk.{number}.attn_{part}.bias") for part in "qkv"]),
                get(f"blk.{number}.attn_output.weight"),
                vector(f"blk.{number}.ffn_norm.weight"),
                torch.cat([get(f"blk.{number}.ffn_{part}.weight") for part in ("gate", "up")]),
                get(f"blk.{number}.ffn_down.weight"),
            )
            for number in range(shape.layers)
        ]
        steps = torch.arange(0, shape.head_size, 2, device=device, dtype=torch.float32)
        self.rates = 1.0 / shape.theta ** (steps / shape.head_size)
        self.lora = drawn(shape, rank, seed, device)
        self.layer: Callable[..., Tensor]
        self.set_attention("flex" if device == "cuda" else "dense", compiled=device == "cuda")

    def set_attention(self, kind: str, compiled: bool) -> None:
        """Set the kind of attention and the compilation of the layer."""
        self.kind = kind
        # Without a kernel flex_attention would hold all scores in memory.
        attend = attention(kind, alone=not compiled and self.device == "cuda")

        plain = layer_function(self.shape, attend)
        self.layer = torch.compile(plain, dynamic=False, fullgraph=True) if compiled else plain

    def parameters(self) -> list[Tensor]:
        return list(self.lora.values())

    def load(self, tensors: dict[str, Tensor], rank: int | None = None) -> None:
        """Load an adapter; lower ranks are padded to `rank`, or to the highest of the adapter."""
        known = {name: value for name, value in tensors.items() if name in self.lora}
        missing = self.lora.keys() - known.keys()
        if missing:
            raise ValueError(
                f"the adapter lacks {len(missing)} tensors, for instance {min(missing)}"
            )
        top = max(value.shape[0] for name, value in known.items() if name.endswith(".A"))
        top = max(top, rank or 0)
        for name, value in known.items():
            value = value.to(self.device, torch.float32)
            short = top - value.shape[0 if name.endswith(".A") else 1]
            old = self.lora[name]
            if name.endswith(".A") and old.shape[0] == top:
                # B is zero for the rows added to A, which are not zero and so can learn.
                value = torch.cat([value, old.detach()[top - short :]])
            else:
                extra = (0, 0, 0, short) if name.endswith(".A") else (0, short)
                value = functional.pad(value, extra).contiguous()
            if old.shape == value.shape:
                old.data.copy_(value)
            else:
                self.lora[name] = value.requires_grad_(old.requires_grad)

    def state(self) -> dict[str, Tensor]:
        return {name: value.detach() for name, value in self.lora.items()}

    def states(self, batch: Batch, train: bool = False) -> Tensor:
        """Return the normalised last states of every claim's last token."""
        x = functional.embedding(batch.ids, self.embedding)
        if train:
            # A clone is not a leaf, so the compiler treats the first layer like all others.
            x = x.requires_grad_().clone()
        angles = batch.positions[:, None, :, None].float() * self.rates
        cos, sin = angles.cos(), angles.sin()
        names = [f"{short}.{side}" for short in self.shape.maps for side in "AB"]
        for number, frozen in enumerate(self.frozen):
            lora = tuple(self.lora[f"layers.{number}.{name}"] for name in names)
            x = self.layer(x, cos, sin, batch.mask, frozen, lora)
        return normalised(x.flatten(0, 1)[batch.answers], self.norm, self.shape.epsilon)

    def __call__(self, batch: Batch, train: bool = False) -> Tensor:
        """Return the logits of entailment, neutral and contradiction of every claim, float32."""
        return functional.linear(self.states(batch, train).float(), self.head)


def drawn(shape: Shape, rank: int, seed: int, device: str) -> dict[str, Tensor]:
    """Return a new adapter: A is random, B is zero, so that it changes nothing yet."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for number in range(shape.layers):
        for short, (inputs, outputs) in shape.maps.items():
            bound = 1 / math.sqrt(inputs)
            a = torch.empty(rank, inputs).uniform_(-bound, bound, generator=generator)
            found[f"layers.{number}.{short}.A"] = a.to(device).requires_grad_()
            b = torch.zeros(outputs, rank, device=device)
            found[f"layers.{number}.{short}.B"] = b.requires_grad_()
    return found
