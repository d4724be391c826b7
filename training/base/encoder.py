"""The student: an MPNet encoder with a three-way head, written for fast training.

The weights are those of the published base models. Attention is fused; the relative position bias
of MPNet is computed once for all layers and kept fixed, so that the fused kernel can use it as a
mask.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, replace
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
    def load(
        cls, folder: Path, dropout: float = 0.0, layers: tuple[int, ...] | None = None
    ) -> Encoder:
        """Return a trained student, with only some of its `layers` if given."""
        shape = Shape(**json.loads((folder / "shape.json").read_text()))
        model = cls(shape, dropout)
        state = load_file(folder / "model.safetensors")
        model.load_state_dict({name: value.float() for name, value in state.items()})
        if layers is not None:
            model.layers = nn.ModuleList(model.layers[index] for index in layers)
            model.shape = replace(shape, layers=len(layers))
        return model


def from_base(folder: Path, dropout: float = 0.1, layers: tuple[int, ...] | None = None) -> Encoder:
    """Return the published MPNet with a new head, with only some of its `layers` if given."""
    config = json.loads((folder / "config.json").read_text())
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    kept = layers or tuple(range(config["num_hidden_layers"]))
    shape = Shape(
        kind=config["model_type"],
        vocabulary=config["vocab_size"],
        hidden=config["hidden_size"],
        layers=len(kept),
        heads=config["num_attention_heads"],
        inner=config["intermediate_size"],
        positions=config["max_position_embeddings"],
        pad=1,
        separator=2,
        epsilon=config["layer_norm_eps"],
    )
    if len(vocabulary) > shape.vocabulary:
        raise ValueError("the tokenizer knows more words than the model")
    model = Encoder(shape, dropout)
    old = {name: value.float() for name, value in load_file(folder / "model.safetensors").items()}
    new: dict[str, Tensor] = {
        "words.weight": old["embeddings.word_embeddings.weight"],
        "places.weight": old["embeddings.position_embeddings.weight"],
        "norm.weight": old["embeddings.LayerNorm.weight"],
        "norm.bias": old["embeddings.LayerNorm.bias"],
        "distance.weight": old["encoder.relative_attention_bias.weight"],
    }
    names = ("attention.attn.q", "attention.attn.k", "attention.attn.v")
    out, norm = "attention.attn.o", "attention.LayerNorm"
    for index, layer in enumerate(kept):
        before, after = f"encoder.layer.{layer}.", f"layers.{index}."
        for part in ("weight", "bias"):
            parts = [old[f"{before}{name}.{part}"] for name in names]
            new[f"{after}qkv.{part}"] = torch.cat(parts)
            new[f"{after}out.{part}"] = old[f"{before}{out}.{part}"]
            new[f"{after}attention_norm.{part}"] = old[f"{before}{norm}.{part}"]
            new[f"{after}up.{part}"] = old[f"{before}intermediate.dense.{part}"]
            new[f"{after}down.{part}"] = old[f"{before}output.dense.{part}"]
            new[f"{after}norm.{part}"] = old[f"{before}output.LayerNorm.{part}"]
    missing, unexpected = model.load_state_dict(new, strict=False)
    fresh = {name.split(".")[0] for name in missing}
    if fresh - {"dense", "classify"} or unexpected:
        raise ValueError(f"weights do not fit: missing {missing}, unexpected {unexpected}")
    return model
