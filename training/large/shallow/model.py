"""Teacher and student: the merged large verifier, and the same with fewer and narrower layers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from halldetect.large.shape import Shape
from halldetect.large.torch_model import rotated
from training.large import pack
from training.large.adapter import Adapter
from training.large.model import Attend, Verifier, attention, drawn, normalised
from training.large.shallow.rows import Level, Step
from training.large.shallow.setting import Setting

Weights = tuple[Tensor, ...]


class Angles(NamedTuple):
    """Cosines and sines of the positions of some tokens."""

    cos: Tensor
    sin: Tensor


class Memory(NamedTuple):
    """Tokens without a state in this layer: their last states, and the maps to keys and values."""

    states: Tensor
    angles: Angles
    weight: Tensor
    bias: Tensor


def unit(x: Tensor, epsilon: float) -> Tensor:
    """Return states divided by their root mean square."""
    wide = x.float()
    return (wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)).to(x.dtype)


def low(x: Tensor, lora: Weights) -> Tensor:
    """Return B(Ax) of maps with the same input, with concatenated outputs."""
    downs, ups = lora[0::2], lora[1::2]
    down = functional.linear(x, torch.cat(downs).to(x.dtype))
    parts = down.split([matrix.shape[0] for matrix in downs], -1)
    pairs = zip(parts, ups)  # noqa: B905, which the compiler does not know
    return torch.cat([functional.linear(part, up.to(x.dtype)) for part, up in pairs], -1)


def plus_low(y: Tensor, x: Tensor, lora: Weights) -> Tensor:
    """Return y with the output of low-rank maps, if there are any."""
    return y + low(x, lora) if lora else y


def in_heads(x: Tensor, count: int) -> Tensor:
    """Return rows x heads x tokens x size."""
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


@dataclass(frozen=True)
class Layer:
    """One layer in two halves, with keys and values of tokens that have no state in it."""

    shape: Shape
    attend: Attend

    def attended(
        self,
        x: Tensor,
        angles: Angles,
        memories: Sequence[Memory],
        mask: Any,
        frozen: Weights,
        lora: Weights,
    ) -> Tensor:
        """Return the states after the attention."""
        heads, kv_heads, size = self.shape.heads, self.shape.kv_heads, self.shape.head_size
        h = normalised(x, frozen[0], self.shape.epsilon)
        qkv = plus_low(functional.linear(h, frozen[1], frozen[2]), h, lora[0:6])
        q, k, v = qkv.split([heads * size, kv_heads * size, kv_heads * size], -1)
        keys, values = [], []
        for memory in memories:
            weight, bias = memory.weight.to(x.dtype), memory.bias.to(x.dtype)
            old, value = functional.linear(memory.states, weight, bias).chunk(2, -1)
            keys.append(rotated(in_heads(old, kv_heads), *memory.angles))
            values.append(in_heads(value, kv_heads))
        keys.append(rotated(in_heads(k, kv_heads), *angles))
        values.append(in_heads(v, kv_heads))
        q = rotated(in_heads(q, heads), *angles)
        seen = self.attend(q, torch.cat(keys, 2), torch.cat(values, 2), mask)
        h = seen.transpose(1, 2).flatten(2)
        return x + plus_low(functional.linear(h, frozen[3]), h, lora[6:8])

    def channels(self, x: Tensor, frozen: Weights, lora: Weights) -> Tensor:
        """Return the channels of the feed-forward part, from the states after the attention."""
        h = normalised(x, frozen[4], self.shape.epsilon)
        gate, up = plus_low(functional.linear(h, frozen[5]), h, lora[8:12]).chunk(2, -1)
        return functional.silu(gate) * up

    def fed(self, x: Tensor, frozen: Weights, lora: Weights) -> Tensor:
        """Return the states after the layer, from those after the attention."""
        h = self.channels(x, frozen, lora)
        return x + plus_low(functional.linear(h, frozen[6]), h, lora[12:14])

    def __call__(
        self,
        x: Tensor,
        angles: Angles,
        memories: Sequence[Memory],
        mask: Any,
        frozen: Weights,
        lora: Weights,
    ) -> Tensor:
        return self.fed(self.attended(x, angles, memories, mask, frozen, lora), frozen, lora)


class Reading(NamedTuple):
    """What a verifier makes of a step."""

    logits: Tensor  # of all claims
    lower: Tensor  # states after the layers that all tokens go through
    upper: Tensor  # states after the layers that claims go through
    final: Tensor  # normalised last state of the claims' last tokens


class Teacher:
    """The large verifier with its adapter merged into it."""

    def __init__(self, base: Verifier, adapter: Adapter, *, eager: bool = False) -> None:
        """Merge the adapter into the base; `eager` compiles the attention alone."""
        self.base, self.shape, self.device = base, base.shape, base.device
        for number, frozen in enumerate(base.frozen):
            base.frozen[number] = merged(frozen, adapter, number, base.dtype)
        self.layer = Layer(self.shape, attention(base.kind, alone=eager))
        self.compiled = compiler(self.device, eager)
        self.attended = self.compiled(self.layer.attended)
        self.fed = self.compiled(self.layer.fed)

    def angles(self, positions: Tensor) -> Angles:
        """Return the angles of tokens: rows x 1 x tokens x half a head."""
        angles = positions[:, None, :, None].float() * self.base.rates
        return Angles(angles.cos(), angles.sin())

    def __call__(
        self,
        rows: pack.Packed,
        setting: Setting,
        each: Callable[[int, Tensor, Tensor], None] = lambda *_: None,
    ) -> Reading:
        """Read the rows; `each` gets every layer's number, its input and what it feeds forward."""
        with torch.no_grad():
            batch = pack.to_device(rows, self.device, self.base.kind)
            x = functional.embedding(batch.ids, self.base.embedding)
            angles = self.angles(batch.positions)
            kept = [x, x]
            for number, frozen in enumerate(self.base.frozen):
                middle = self.attended(x, angles, (), batch.mask, frozen, ())
                each(number, x, middle)
                x = self.fed(middle, frozen, ())
                for at, layers in enumerate((setting.source, setting.claim)):
                    if number + 1 == layers:
                        kept[at] = x
            final = normalised(x.flatten(0, 1)[batch.answers], self.base.norm, self.shape.epsilon)
            return Reading(
                functional.linear(final.float(), self.base.head), kept[0], kept[1], final
            )


class Student:
    """Fewer layers, of fewer channels; its low-rank maps and its keys and values are trained."""

    def __init__(
        self, teacher: Teacher, setting: Setting, kept: Sequence[Tensor], seed: int
    ) -> None:
        """Prune the teacher's layers to the channels `kept` of each."""
        self.teacher, self.setting, self.kept = teacher, setting, list(kept)
        self.shape, self.device = teacher.shape, teacher.device
        self.frozen = [
            pruned(frozen, channels.to(self.device))
            for frozen, channels in zip(teacher.base.frozen, kept, strict=True)
        ]
        self.lora: dict[str, Tensor] = {}
        for number, channels in enumerate(kept):
            one = replace(self.shape, layers=1, ffn=len(channels))
            for name, value in drawn(one, setting.rank, seed + number, self.device).items():
                self.lora[name.replace("layers.0.", f"layers.{number}.")] = value
        self.maps: dict[str, Tensor] = {}
        wide, narrow = self.shape.hidden, 2 * self.shape.kv_heads * self.shape.head_size
        for name, first in (("source", setting.source), ("claim", setting.claim)):
            for number in range(first, self.shape.layers):
                for end, sizes in (("weight", (narrow, wide)), ("bias", (narrow,))):
                    value = torch.zeros(sizes, device=self.device).requires_grad_()
                    self.maps[f"{name}.{number}.{end}"] = value
        self.parts = [teacher.compiled(Layer.__call__) for _ in range(3)]
        self.names = [f"{short}.{side}" for short in self.shape.maps for side in "AB"]

    def layers(self, part: int) -> range:
        """Return the numbers of the layers of a part."""
        setting = self.setting
        ends = (0, setting.source, setting.claim, self.shape.layers)
        return range(ends[part], ends[part + 1])

    def __call__(self, step: Step, depth: int = 3) -> Reading:
        """Read the rows; with less `depth`, only through the first parts, without answers.

        Gradients are always kept, so that one compiled graph serves training and evaluation.
        """
        rows, base, epsilon = step.student, self.teacher.base, self.shape.epsilon
        batch = pack.to_device(rows, self.device, base.kind)
        x = functional.embedding(batch.ids, base.embedding)
        # A clone is not a leaf, so the compiler treats the first layer like all others.
        x = x.requires_grad_().clone()
        sources = self.teacher.angles(batch.positions)
        x = lower = self.through(0, x, sources, (), batch.mask)
        if depth == 1:
            return Reading(x, lower, lower, x)
        memory = ("source", unit(x, epsilon), sources)
        claims = self.teacher.angles(self.moved(step.claims.positions))
        x = picked(x, self.moved(step.claims_at))
        mask = self.mask(step.claims, step.claims_keys)
        x = upper = self.through(1, x, claims, (memory,), mask)
        if depth == 2:
            return Reading(x, lower, upper, x)
        memories = (memory, ("claim", unit(x, epsilon), claims))
        angles = self.teacher.angles(self.moved(step.last.positions))
        x = picked(x, self.moved(step.last_at))
        mask = self.mask(step.last, step.last_keys)
        x = self.through(2, x, angles, memories, mask)
        final = normalised(x.flatten(0, 1)[self.moved(step.answers)], base.norm, epsilon)
        return Reading(functional.linear(final.float(), base.head), lower, upper, final)

    def through(
        self,
        part: int,
        x: Tensor,
        angles: Angles,
        memories: Sequence[tuple[str, Tensor, Angles]],
        mask: Any,
    ) -> Tensor:
        """Return the states after the layers of a part."""
        for number in self.layers(part):
            own = tuple(
                Memory(states, theirs, self.maps[f"{name}.{number}.weight"],
                       self.maps[f"{name}.{number}.bias"])
                for name, states, theirs in memories
            )  # fmt: skip
            lora = tuple(self.lora[f"layers.{number}.{name}"] for name in self.names)
            layer = self.teacher.layer
            x = self.parts[part](layer, x, angles, own, mask, self.frozen[number], lora)
        return x

    def moved(self, values: NDArray[Any]) -> Tensor:
        """Return an array on the device."""
        tensor = torch.from_numpy(np.ascontiguousarray(values))
        on_gpu = self.device == "cuda"
        return tensor.pin_memory().to(self.device, non_blocking=True) if on_gpu else tensor

    def mask(self, queries: Level, keys: Level) -> Any:
        """Return which keys the queries see: a block mask on a GPU, else a boolean one."""
        # One more dimension to index, as both kinds of mask need it.
        mine, theirs = ([self.moved(v) for v in vars(level).values()] for level in (queries, keys))
        group, claim, order, _ = (value[:, :, None] for value in mine)
        group_k, claim_k, order_k, _ = (value[:, None] for value in theirs)
        seen = (group == group_k) & ((claim_k == 0) | (claim == claim_k)) & (order >= order_k)
        if self.teacher.base.kind == "dense":
            return seen[:, None]
        blocks = seen.unflatten(2, (-1, pack.BLOCK)).unflatten(1, (-1, pack.BLOCK))
        some, full = blocks.any(4).any(2), blocks.all(4).all(2)
        (group, claim, order, _), (group_k, claim_k, order_k, _) = mine, theirs

        def visible(b: Any, h: Any, q: Any, k: Any) -> Any:
            same = group[b, q] == group_k[b, k]
            seen = (claim_k[b, k] == 0) | (claim[b, q] == claim_k[b, k])
            return same & seen & (order[b, q] >= order_k[b, k])

        return pack.sparse(some & ~full, full, visible)


def compiler(device: str, eager: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return what compiles functions for shapes that never change, on a GPU."""
    if eager or device != "cuda":
        return lambda function: function
    torch._dynamo.config.recompile_limit = 64  # parts and widths share the code of one layer
    return lambda function: torch.compile(function, dynamic=False, fullgraph=True)


def picked(x: Tensor, places: Tensor) -> Tensor:
    """Return the states at some places of each row."""
    return x.gather(1, places[:, :, None].expand(-1, -1, x.shape[-1]))


def merged(frozen: Weights, adapter: Adapter, number: int, dtype: torch.dtype) -> Weights:
    """Return the weights of a layer with the adapter's products added."""
    norm1, qkv, bias, out, norm2, gate_up, down = frozen

    def change(*names: str) -> Tensor:
        keys = [f"layers.{number}.{name}" for name in names]
        sides = [[adapter[f"{key}.{side}"].to(qkv.device) for side in "BA"] for key in keys]
        return torch.cat([b @ a for b, a in sides])

    return (
        norm1, (qkv.float() + change("q", "k", "v")).to(dtype), bias,
        (out.float() + change("o")).to(dtype), norm2,
        (gate_up.float() + change("g", "u")).to(dtype), (down.float() + change("dn")).to(dtype),
    )  # fmt: skip


def pruned(frozen: Weights, channels: Tensor) -> Weights:
    """Return the weights of a layer with some of its channels."""
    norm1, qkv, bias, out, norm2, gate_up, down = frozen
    gate, up = gate_up.chunk(2)
    both = torch.cat([gate[channels], up[channels]])
    return norm1, qkv, bias, out, norm2, both, down[:, channels].contiguous()
