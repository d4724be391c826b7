"""The student: an MPNet encoder with a three-way head, written for fast training.

The weights are those of the published base models. Attention is fused; the relative position bias
of MPNet is computed once for all layers and kept fixed, so that the fused kernel can use it as a
mask.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn import functional

LABELS = ("entailment", "neutral", "contradiction")
TOKENIZER = "mpnet"  # the folder of the tokenizer for students of every size


@dataclass(frozen=True)
class Shape:
    """The sizes and special tokens of an encoder."""

    kind: str  # "mpnet"
    vocabulary: int
    hidden: int
    layers: int
    heads: int
    inner: int
    positions: int
    pad: int
    separator: int
    epsilon: float
    buckets: int = 32


class Layer(nn.Module):
    """One transformer layer with fused attention."""

    def __init__(self, shape: Shape, dropout: float) -> None:
        super().__init__()
        self.heads = shape.heads
        self.qkv = nn.Linear(shape.hidden, 3 * shape.hidden)
        self.out = nn.Linear(shape.hidden, shape.hidden)
        self.attention_norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.up = nn.Linear(shape.hidden, shape.inner)
        self.down = nn.Linear(shape.inner, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Return the output of the layer; `bias` is added to the attention scores."""
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, width // self.heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        mixed = mixed.transpose(1, 2).reshape(batch, length, width)
        x = self.attention_norm(x + self.dropout(self.out(mixed)))
        return self.norm(x + self.dropout(self.down(functional.gelu(self.up(x)))))


class Encoder(nn.Module):
    """An encoder with a classification head on its first token."""

    def __init__(self, shape: Shape, dropout: float = 0.1) -> None:
        super().__init__()
        self.shape = shape
        self.words = nn.Embedding(shape.vocabulary, shape.hidden, padding_idx=shape.pad)
        self.places = nn.Embedding(shape.positions, shape.hidden)
        self.norm = nn.LayerNorm(shape.hidden, eps=shape.epsilon)
        self.distance = nn.Embedding(shape.buckets, shape.heads)
        self.distance.weight.requires_grad_(False)
        self.layers = nn.ModuleList(Layer(shape, dropout) for _ in range(shape.layers))
        self.dense = nn.Linear(shape.hidden, shape.hidden)
        self.classify = nn.Linear(shape.hidden, len(LABELS))
        self.dropout = nn.Dropout(dropout)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Return the logits of a batch of pairs."""
        length = input_ids.shape[1]
        steps = torch.arange(length, device=input_ids.device)
        x = self.dropout(self.embedded(input_ids, steps))
        hidden = (1.0 - attention_mask[:, None, None, :].to(x.dtype)) * -30000.0
        bias = hidden.to(self.qkv_dtype(x))
        bias = bias + self.relative(steps).to(bias.dtype)
        for layer in self.layers:
            x = layer(x, bias)
        return self.classify(self.dropout(torch.tanh(self.dense(self.dropout(x[:, 0])))))

    def embedded(self, input_ids: Tensor, steps: Tensor) -> Tensor:
        """Return the embeddings of tokens at the positions `steps`."""
        return self.norm(self.words(input_ids) + self.places(steps + self.shape.pad + 1))

    def relative(self, steps: Tensor) -> Tensor:
        """Return the attention bias for the distance of two tokens, (1, heads, length, length)."""
        far = self.distance(self._bucket(steps[None, :] - steps[:, None]))
        return far.permute(2, 0, 1)[None]

    @staticmethod
    def qkv_dtype(x: Tensor) -> torch.dtype:
        """Return the type of attention: the fused kernel needs a mask of the same type."""
        device = x.device.type
        return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype

    def _bucket(self, distance: Tensor) -> Tensor:
        """Return MPNet's buckets: a quarter exact in each direction, then logarithmic up to 128."""
        half = self.shape.buckets // 2
        exact = half // 2
        n = -distance
        side = (n < 0).long() * half
        n = n.abs()
        ratio = torch.log(n.float().clamp(min=1) / exact) / math.log(128 / exact)
        large = (exact + (ratio * (half - exact)).long()).clamp(max=half - 1)
        return side + torch.where(n < exact, n, large)

    def save(self, folder: Path) -> None:
        """Write the weights in fp16, and the shape."""
        folder.mkdir(parents=True, exist_ok=True)
        state = {name: value.half().contiguous() for name, value in self.state_dict().items()}
        save_file(state, folder / "model.safetensors")
        (folder / "shape.json").write_text(json.dumps(asdict(self.shape)))

    @classmethod
    def load(cls, folder: Path, dropout: float = 0.0) -> Encoder:
        """Return a trained student."""
        shape = Shape(**json.loads((folder / "shape.json").read_text()))
        model = cls(shape, dropout)
        state = load_file(folder / "model.safetensors")
        model.load_state_dict({name: value.float() for name, value in state.items()})
        return model
