"""Sizes of a Qwen2 model, as its GGUF file states them."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect.errors import ModelError
from halldetect.large.gguf_tensors import GgufFile


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Qwen2 model.

    layers      number of layers
    hidden      width of a token's state
    heads       query heads
    kv_heads    key and value heads, shared by groups of query heads
    ffn         width of the feed-forward part
    context     the most tokens it was trained to read
    theta       base of the rotary angles
    epsilon     added to the mean square in a norm
    """

    layers: int
    hidden: int
    heads: int
    kv_heads: int
    ffn: int
    context: int
    theta: float
    epsilon: float

    @classmethod
    def of(cls, model: GgufFile) -> Shape:
        """The sizes of a model; ModelError if it is not a Qwen2 model."""
        if model.value("general.architecture") != "qwen2":
            raise ModelError(f"{model.path} is not a Qwen2 model")
        return cls(
            layers=int(model.value("qwen2.block_count")),
            hidden=int(model.value("qwen2.embedding_length")),
            heads=int(model.value("qwen2.attention.head_count")),
            kv_heads=int(model.value("qwen2.attention.head_count_kv")),
            ffn=int(model.value("qwen2.feed_forward_length")),
            context=int(model.value("qwen2.context_length")),
            theta=float(model.value("qwen2.rope.freq_base")),
            epsilon=float(model.value("qwen2.attention.layer_norm_rms_epsilon")),
        )

    @property
    def head_size(self) -> int:
        """Width of one head."""
        return self.hidden // self.heads

    @property
    def maps(self) -> dict[str, tuple[int, int]]:
        """Inputs and outputs of every linear map of a layer, by its short name."""
        narrow = self.kv_heads * self.head_size
        return {
            "q": (self.hidden, self.hidden),
            "k": (self.hidden, narrow),
            "v": (self.hidden, narrow),
            "o": (self.hidden, self.hidden),
            "g": (self.hidden, self.ffn),
            "u": (self.hidden, self.ffn),
            "dn": (self.ffn, self.hidden),
        }

    @property
    def weights(self) -> int:
        """Weights of all layers: two operations per token each."""
        return self.layers * sum(inputs * outputs for inputs, outputs in self.maps.values())


def head_tensor(model: GgufFile) -> str:
    """The tensor whose rows give the logits of the vocabulary; it may be the embedding's."""
    return "output.weight" if "output.weight" in model.tensors else "token_embd.weight"
