"""The large verifier: a frozen Qwen2 model of 4-bit weights with low-rank maps that learn.

    python -m training.large.model slim MODEL.gguf FOLDER   # base.safetensors, tokenizer.json

`slim` keeps the quantised blocks of a GGUF file as they are, leaves out the vocabulary head but
for the rows of the three answer words, and writes the tokenizer. It needs the `gguf` package;
reading the result needs torch and safetensors alone: the blocks are dequantised on the device.

Every linear map of a layer computes y = Wx + B(Ax). W is bf16 and frozen; A and B are float32
while they learn and are used in bf16. The answer to a claim is read from its last token: the
logits of " Yes", " Maybe" and " No" are entailment, neutral and contradiction.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils import checkpoint as recompute

ANSWERS = (" Yes", " Maybe", " No")
# Short name of a linear map -> the name llama.cpp gives it.
MAPS = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "g": "ffn_gate",
    "u": "ffn_up",
    "dn": "ffn_down",
}
BLOCK = 256  # weights of one block of the K formats


@dataclass(frozen=True)
class Shape:
    """Sizes of a Qwen2 model."""

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    vocabulary: int
    theta: float
    epsilon: float

    @property
    def head_size(self) -> int:
        return self.hidden // self.heads

    def sizes(self, short: str) -> tuple[int, int]:
        """(inputs, outputs) of a linear map, by its short name."""
        narrow = self.kv_heads * self.head_size
        return {
            "q": (self.hidden, self.hidden),
            "k": (self.hidden, narrow),
            "v": (self.hidden, narrow),
            "o": (self.hidden, self.hidden),
            "g": (self.hidden, self.ffn),
            "u": (self.hidden, self.ffn),
            "dn": (self.ffn, self.hidden),
        }[short]


def dequantise(raw: Tensor, kind: str, shape: list[int]) -> Tensor:
    """Values of a tensor of a GGUF file, float32, on the device of `raw`.

    Args:
        raw: the bytes of the tensor (uint8).
        kind: F32, F16, Q4_K or Q6_K.
        shape: rows and columns (or one length).
    """
    raw = raw.reshape(-1)
    if kind == "F32":
        return raw.view(torch.float32).reshape(shape)
    if kind == "F16":
        return raw.view(torch.float16).float().reshape(shape)
    if kind == "Q4_K":
        block = raw.reshape(-1, 144)
        scale = block[:, 0:2].contiguous().view(torch.float16).float()
        least = block[:, 2:4].contiguous().view(torch.float16).float()
        packed = block[:, 4:16]
        low, mid, high = packed[:, 0:4], packed[:, 4:8], packed[:, 8:12]
        scales = torch.cat([low & 63, (high & 15) | ((low >> 6) << 4)], 1)
        mins = torch.cat([mid & 63, (high >> 4) | ((mid >> 6) << 4)], 1)
        pairs = block[:, 16:].reshape(-1, 4, 32)
        values = torch.stack([pairs & 15, pairs >> 4], 2).reshape(-1, 8, 32).float()
        found = values * (scale * scales.float())[:, :, None]
        return (found - (least * mins.float())[:, :, None]).reshape(shape)
    if kind == "Q6_K":
        block = raw.reshape(-1, 210)
        low = block[:, :128].reshape(-1, 2, 2, 32)
        high = block[:, 128:192].reshape(-1, 2, 1, 32)
        scales = block[:, 192:208].contiguous().view(torch.int8).float()
        scale = block[:, 208:210].contiguous().view(torch.float16).float()
        nibbles = torch.cat([low & 15, low >> 4], 2)
        tops = torch.cat([(high >> shift) & 3 for shift in (0, 2, 4, 6)], 2)
        values = (nibbles | (tops << 4)).to(torch.int8).float() - 32
        found = values.reshape(-1, 16, 16) * (scale * scales)[:, :, None]
        return found.reshape(shape)
    raise ValueError(f"tensors of kind {kind} are not known")


def slim(path: Path, folder: Path) -> None:
    """Write what training needs of a GGUF file: base.safetensors and tokenizer.json."""
    import gguf
    import numpy as np
    from safetensors.torch import save_file

    reader = gguf.GGUFReader(path)
    fields = {name: reader.fields[name] for name in reader.fields}

    def value(name: str) -> Any:
        return fields[f"qwen2.{name}"].contents()

    vocabulary = fields["tokenizer.ggml.tokens"].contents()
    shape = Shape(
        layers=value("block_count"),
        hidden=value("embedding_length"),
        heads=value("attention.head_count"),
        kv_heads=value("attention.head_count_kv"),
        ffn=value("feed_forward_length"),
        vocabulary=len(vocabulary),
        theta=float(value("rope.freq_base")),
        epsilon=float(value("attention.layer_norm_rms_epsilon")),
    )
    place = {token: number for number, token in enumerate(vocabulary)}
    answers = [place[word.replace(" ", "Ġ")] for word in ANSWERS]
    found = {tensor.name: tensor for tensor in reader.tensors}
    # A model whose head is tied to its embedding has no tensor of its own for it.
    head = found.pop("output.weight", None) or found["token_embd.weight"]
    tensors, kinds = {}, {}
    for name, tensor in found.items():
        data = np.ascontiguousarray(tensor.data)
        tensors[name] = torch.from_numpy(data.view(np.uint8).reshape(-1).copy())
        kinds[name] = [tensor.tensor_type.name, [int(size) for size in reversed(tensor.shape)]]
    rows = np.stack([np.ascontiguousarray(head.data[row]).view(np.uint8) for row in answers])
    tensors["answers"] = torch.from_numpy(rows)
    kinds["answers"] = [head.tensor_type.name, [len(answers), shape.hidden]]
    folder.mkdir(parents=True, exist_ok=True)
    about = {"shape": json.dumps(asdict(shape)), "kinds": json.dumps(kinds)}
    save_file(tensors, folder / "base.safetensors", metadata=about)
    write_tokenizer(
        vocabulary, fields["tokenizer.ggml.merges"].contents(), folder / "tokenizer.json"
    )


# How a text is cut before pairs of pieces are merged, as llama.cpp does for "qwen2".
_CUT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


def write_tokenizer(vocabulary: list[str], merges: list[str], path: Path) -> None:
    """Write a tokenizer without special tokens: text such as "<|im_end|>" stays plain text."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    places = {token: place for place, token in enumerate(vocabulary)}
    pairs = [(pair.split(" ")[0], pair.split(" ")[1]) for pair in merges]
    tokenizer = Tokenizer(models.BPE(places, pairs, byte_fallback=False))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_CUT), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(path))


Attend = Callable[[Tensor, Tensor, Tensor, Any], Tensor]


def attention(kind: str, alone: bool = False) -> Attend:
    """How queries meet keys: `flex` or `flex-wide` (a block mask), `dense` (a boolean mask).

    `flex-wide` repeats the keys and values for every query head before it calls the kernel.

    Args:
        kind: one of the three.
        alone: compile the kernel here, for a layer that is not compiled itself.
    """
    from torch.nn.attention import flex_attention as module

    flex_attention: Any = module.flex_attention
    if alone:
        flex_attention = torch.compile(flex_attention, dynamic=False)

    def flex(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
        return flex_attention(q, k, v, block_mask=mask, enable_gqa=True)

    def wide(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
        times = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        return flex_attention(q, k, v, block_mask=mask)

    def dense(q: Tensor, k: Tensor, v: Tensor, mask: Any) -> Tensor:
        times = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(times, 1), v.repeat_interleave(times, 1)
        return functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    return {"flex": flex, "flex-wide": wide, "dense": dense}[kind]


def normalised(x: Tensor, weight: Tensor, epsilon: float) -> Tensor:
    """Root-mean-square norm, computed in float32."""
    wide = x.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return wide.to(x.dtype) * weight


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Queries or keys turned by their position."""
    first, second = x.float().chunk(2, -1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], -1).to(x.dtype)


def layer_function(shape: Shape, attend: Attend, dropout: float) -> Callable[..., Tensor]:
    """The computation of one layer; all layers share it, so it is compiled once."""
    heads, kv_heads, size = shape.heads, shape.kv_heads, shape.head_size

    def low(x: Tensor, lora: tuple[Tensor, ...]) -> Tensor:
        """B(Ax) of maps that read the same input, their outputs side by side."""
        downs, ups = lora[0::2], lora[1::2]
        if dropout:
            x = functional.dropout(x, dropout)
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
        q = turned(q.reshape(batch, tokens, heads, size).transpose(1, 2), cos, sin)
        k = turned(k.reshape(batch, tokens, kv_heads, size).transpose(1, 2), cos, sin)
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
    answers: Tensor  # place of every claim's last token in the flattened rows


class Verifier:
    """The model with its adapter. Not an nn.Module: only the low-rank maps have gradients."""

    def __init__(
        self,
        path: Path | None,
        *,
        device: str = "cuda",
        dtype: torch.dtype = torch.bfloat16,
        kind: str = "flex",
        compiled: bool = True,
        rank: int = 64,
        dropout: float = 0.0,
        seed: int = 0,
        checkpoint: bool = False,
        shape: Shape | None = None,
    ) -> None:
        """Load the base.

        Args:
            path: base.safetensors as `slim` writes it; None draws random weights of `shape`.
            device: "cuda" or "cpu".
            dtype: type of the frozen weights and of the computation.
            kind: how attention is computed, see `attention`.
            compiled: whether the layer is compiled (always the same code for all layers).
            rank: rank of the low-rank maps that are drawn anew.
            dropout: share of the inputs of the low-rank maps that is dropped.
            seed: seed of the low-rank maps.
            checkpoint: compute layers again in the backward pass instead of keeping their inputs.
            shape: sizes of a random model.
        """
        self.device, self.dtype, self.checkpoint = device, dtype, checkpoint
        if path is not None:
            shape, tensors = read_base(path, device, dtype)
        else:
            assert shape is not None
            tensors = random_base(shape, device, dtype)
        self.shape = shape
        self.embedding = tensors["token_embd.weight"]
        self.norm = tensors["output_norm.weight"]
        self.head = tensors["answers"].float()
        self.frozen: list[tuple[Tensor, ...]] = []
        for number in range(shape.layers):

            def get(name: str, number: int = number) -> Tensor:
                return tensors.pop(f"blk.{number}.{name}")

            self.frozen.append(
                (
                    get("attn_norm.weight"),
                    torch.cat([get(f"attn_{part}.weight") for part in "qkv"]),
                    torch.cat([get(f"attn_{part}.bias") for part in "qkv"]),
                    get("attn_output.weight"),
                    get("ffn_norm.weight"),
                    torch.cat([get("ffn_gate.weight"), get("ffn_up.weight")]),
                    get("ffn_down.weight"),
                )
            )
        size = shape.head_size
        self.rates = 1.0 / shape.theta ** (
            torch.arange(0, size, 2, device=device, dtype=torch.float32) / size
        )
        self.lora = drawn(shape, rank, seed, device)
        self.dropout = dropout
        self.train_layer: Callable[..., Tensor]
        self.judge_layer: Callable[..., Tensor]
        self.set_attention(kind, compiled)

    def set_attention(self, kind: str, compiled: bool) -> None:
        """Choose how attention is computed and whether the layer is compiled."""
        self.kind = kind
        # Without a kernel flex_attention would hold all scores in memory.
        attend = attention(kind, alone=not compiled and self.device == "cuda")

        def make(dropout: float) -> Callable[..., Tensor]:
            plain = layer_function(self.shape, attend, dropout)
            return torch.compile(plain, dynamic=False, fullgraph=True) if compiled else plain

        self.judge_layer = make(0.0)
        self.train_layer = make(self.dropout) if self.dropout else self.judge_layer

    def parameters(self) -> list[Tensor]:
        return list(self.lora.values())

    def load(self, tensors: dict[str, Tensor], rank: int | None = None) -> None:
        """Put in an adapter; lower ranks are filled up to one rank for all maps.

        Args:
            tensors: `layers.N.MAP.A` and `.B` for every map; other names are ignored.
            rank: the rank to fill up to, the highest of the adapter if not given.
        """
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
                # B is zero for the rows added to A; what they hold lets them learn.
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
        """Normalised last states of every claim's last token."""
        x = functional.embedding(batch.ids, self.embedding)
        if train:
            # The clone is no leaf, so that the first layer looks like all others to the compiler.
            x = x.requires_grad_().clone()
        angles = batch.positions[:, None, :, None].float() * self.rates
        cos, sin = angles.cos(), angles.sin()
        layer = self.train_layer if train else self.judge_layer
        names = [f"{short}.{side}" for short in MAPS for side in "AB"]
        for number, frozen in enumerate(self.frozen):
            lora = tuple(self.lora[f"layers.{number}.{name}"] for name in names)
            if train and self.checkpoint:
                x = recompute.checkpoint(
                    layer, x, cos, sin, batch.mask, frozen, lora, use_reentrant=False
                )
            else:
                x = layer(x, cos, sin, batch.mask, frozen, lora)
        return normalised(x.flatten(0, 1)[batch.answers], self.norm, self.shape.epsilon)

    def __call__(self, batch: Batch, train: bool = False) -> Tensor:
        """Logits of entailment, neutral and contradiction for every claim, float32."""
        return functional.linear(self.states(batch, train).float(), self.head)


def drawn(shape: Shape, rank: int, seed: int, device: str) -> dict[str, Tensor]:
    """A new adapter: A is drawn, B is zero, so that it changes nothing yet."""
    generator = torch.Generator().manual_seed(seed)
    found = {}
    for number in range(shape.layers):
        for short in MAPS:
            inputs, outputs = shape.sizes(short)
            bound = 1 / math.sqrt(inputs)
            a = torch.empty(rank, inputs).uniform_(-bound, bound, generator=generator)
            found[f"layers.{number}.{short}.A"] = a.to(device).requires_grad_()
            b = torch.zeros(outputs, rank, device=device)
            found[f"layers.{number}.{short}.B"] = b.requires_grad_()
    return found


def read_shape(path: Path) -> Shape:
    from safetensors import safe_open

    with safe_open(path, framework="pt") as file:
        return Shape(**json.loads(file.metadata()["shape"]))


def read_base(path: Path, device: str, dtype: torch.dtype) -> tuple[Shape, dict[str, Tensor]]:
    """Sizes and dequantised tensors of a base, by the names of the GGUF file."""
    from safetensors import safe_open

    tensors = {}
    with safe_open(path, framework="pt") as file:
        shape = Shape(**json.loads(file.metadata()["shape"]))
        for name, (kind, sizes) in json.loads(file.metadata()["kinds"]).items():
            raw = file.get_tensor(name).to(device)
            tensors[name] = torch.cat(
                [
                    dequantise(part, kind, [-1, *sizes[1:]]).to(dtype)
                    for part in pieces(raw.reshape(-1), sizes)
                ]
            )
    return shape, tensors


def pieces(raw: Tensor, sizes: list[int], most: int = 16384) -> Iterator[Tensor]:
    """A tensor's bytes in runs of whole rows, so that float32 copies stay small."""
    width = raw.numel() // sizes[0]
    for first in range(0, sizes[0], most):
        yield raw[first * width : (first + most) * width]


def random_base(shape: Shape, device: str, dtype: torch.dtype) -> dict[str, Tensor]:
    """Random weights by the names of the GGUF file, for tests and for compiling ahead."""
    torch.manual_seed(0)
    found: dict[str, Tensor] = {}

    def put(name: str, *sizes: int, scale: float = 0.02) -> None:
        found[name] = (torch.randn(*sizes, device=device) * scale).to(dtype)

    put("token_embd.weight", shape.vocabulary, shape.hidden, scale=1.0)
    put("answers", len(ANSWERS), shape.hidden)
    found["output_norm.weight"] = torch.ones(shape.hidden, device=device, dtype=dtype)
    for number in range(shape.layers):
        for short, name in MAPS.items():
            inputs, outputs = shape.sizes(short)
            put(f"blk.{number}.{name}.weight", outputs, inputs, scale=0.5 / math.sqrt(inputs))
            if short in "qkv":
                put(f"blk.{number}.{name}.bias", outputs)
        for name in ("attn_norm", "ffn_norm"):
            ones = torch.ones(shape.hidden, device=device, dtype=dtype)
            found[f"blk.{number}.{name}.weight"] = ones
    return found


QWEN_1_5B = Shape(
    layers=28, hidden=1536, heads=12, kv_heads=2, ffn=8960, vocabulary=151936,
    theta=1e6, epsilon=1e-6,
)  # fmt: skip


TINY = Shape(
    layers=2, hidden=64, heads=4, kv_heads=2, ffn=96, vocabulary=256, theta=1e6, epsilon=1e-6
)


def write_tiny(folder: Path) -> None:
    """Write a random model of the same architecture whose tokens are bytes, to try the steps."""
    from safetensors.torch import save_file
    from tokenizers import pre_tokenizers

    folder.mkdir(parents=True, exist_ok=True)
    tensors = random_base(TINY, "cpu", torch.float32)
    kinds = {name: ["F32", list(value.shape)] for name, value in tensors.items()}
    about = {"shape": json.dumps(asdict(TINY)), "kinds": json.dumps(kinds)}
    raw = {name: value.view(torch.uint8).reshape(-1) for name, value in tensors.items()}
    save_file(raw, folder / "base.safetensors", metadata=about)
    write_tokenizer(sorted(pre_tokenizers.ByteLevel.alphabet()), [], folder / "tokenizer.json")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("slim", help="what training needs of a GGUF file")
    command.add_argument("model", type=Path)
    command.add_argument("folder", type=Path)
    command = commands.add_parser("tiny", help="a small random model, to try the steps")
    command.add_argument("folder", type=Path)
    options = parser.parse_args()
    if options.command == "slim":
        slim(options.model, options.folder)
    else:
        write_tiny(options.folder)


if __name__ == "__main__":
    main()
