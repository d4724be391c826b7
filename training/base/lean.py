"""The student as a fast ONNX graph for one unpadded pair.

- Only the first token of the last layer is used, so this layer has one query: keys and values are
  those of all tokens, everything after them is one row.
- Without padding it needs no mask.
- Attention with its relative positions is one operator. (A sum with its norm is not:
  onnxruntime's SkipLayerNormalization takes three times as long as the two operators.)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.onnx.ops import symbolic

from training.base.encoder import Encoder, Layer


class Lean(nn.Module):
    """The logits of one pair, for export; torch alone cannot run its operators."""

    def __init__(self, model: Encoder) -> None:
        super().__init__()
        self.model = model
        *lower, last = model.layers
        self.far = Far(model)
        self.layers = nn.ModuleList([*map(LeanLayer, lower), LeanLayer(last, first_only=True)])

    def forward(self, input_ids: Tensor) -> Tensor:
        """Return the logits of one pair."""
        model = self.model
        length = input_ids.shape[1]
        x = model.embedded(input_ids, torch.arange(length))
        far = self.far(model.distance.weight)[:, :, :length, :length]
        for layer in self.layers:
            x = layer(x, far)
        return model.classify(torch.tanh(model.dense(x[:, 0])))


class Far(nn.Module):
    """The attention bias for the distance of any two tokens of the longest pair.

    It is constant, so the runtime computes it once, when it loads the model; the file holds the
    bucket of each distance.
    """

    def __init__(self, model: Encoder) -> None:
        super().__init__()
        steps = torch.arange(model.shape.positions - model.shape.pad - 1)
        buckets = model._bucket(steps[None, :] - steps[:, None])
        self.register_buffer("buckets", buckets.to(torch.uint8))

    def forward(self, table: Tensor) -> Tensor:
        """Return the bias of every two positions, from the table of distances."""
        return functional.embedding(self.buckets.int(), table).permute(2, 0, 1)[None]


class LeanLayer(nn.Module):
    """A layer with its weights in the layout of the runtime, under clear names."""

    def __init__(self, layer: Layer, first_only: bool = False) -> None:
        super().__init__()
        self.layer = layer
        qkv = layer.qkv.weight.detach().T
        query = qkv.shape[0] if first_only else 0
        self.query = nn.Parameter(qkv[:, :query].contiguous()) if first_only else None
        self.qkv = nn.Parameter(qkv[:, query:].contiguous())
        for name in ("out", "up", "down"):
            weight = getattr(layer, name).weight.detach()
            self.register_parameter(name, nn.Parameter(weight.T.contiguous()))

    def forward(self, x: Tensor, far: Tensor) -> Tensor:
        """Return the output of the layer; `far` is the bias for distances."""
        layer, width = self.layer, x.shape[-1]
        parts = (x @ self.qkv).split(width, -1)
        if self.query is not None:
            x = x[:, :1]
            far = far[:, :, :1]
            parts = (x @ self.query, *parts)
        mixed = symbolic(
            "com.microsoft::MultiHeadAttention",
            [*parts, layer.qkv.bias, None, far],
            {"num_heads": layer.heads},
            dtype=x.dtype,
            shape=x.shape,
            version=1,
        )
        x = layer.attention_norm(mixed @ self.out + layer.out.bias + x)
        inner = functional.gelu(x @ self.up + layer.up.bias)
        return layer.norm(inner @ self.down + layer.down.bias + x)
