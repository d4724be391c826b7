"""Sizes of a Qwen2 model from its GGUF file, and the names of its maps."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect.errors import ModelError
from halldetect.models.gguf import GgufFile

# Short name of a linear map of a layer -> its name in a GGUF file.
MAPS = {
    "q": "attn_q",
    "k": "attn_k",
    "v": "attn_v",
    "o": "attn_output",
    "g": "ffn_gate",
    "u": "ffn_up",
    "dn": "ffn_down",
}


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Qwen2 model.

    Attributes:
        layers: number of layers.
        hidden: width of a token's state.
        heads: number of query heads.
        kv_heads: number of key and value heads, shared by groups of query heads.
        ffn: width of the feed-forward part.
        context: most tokens that the model was trained to read.
        theta: base of the rotary angles.
        epsilon: added to the mean square in a norm.
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
        """Return the sizes of a model; raise ModelError if it is not a usable Qwen2 model."""
        if model.value("general.architecture") != "qwen2":
            raise ModelError(f"{model.path} is not a Qwen2 model")
        try:
            shape = cls(
                layers=int(model.value("qwen2.block_count")),
                hidden=int(model.value("qwen2.embedding_length")),
                heads=int(model.value("qwen2.attention.head_count")),
                kv_heads=int(model.value("qwen2.attention.head_count_kv")),
                ffn=int(model.value("qwen2.feed_forward_length")),
                context=int(model.value("qwen2.context_length")),
                theta=float(model.value("qwen2.rope.freq_base")),
                epsilon=float(model.value("qwen2.attention.layer_norm_rms_epsilon")),
            )
        except (TypeError, ValueError) as error:
            raise ModelError(f"{model.path} states a size that is not a number") from error
        if min(shape.layers, shape.heads, shape.kv_heads) < 1 or shape.hidden % shape.heads:
            raise ModelError(f"{model.path} states sizes that make no sense")
        return shape

    @property
    def head_size(self) -> int:
        """Return the width of one head."""
        return self.hidden // self.heads

    @property
    def maps(self) -> dict[str, tuple[int, int]]:
        """Return inputs and outputs of every linear map of a layer, by its short name."""
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
        """Return the number of weights of all layers: two operations per token each."""
        return self.layers * sum(inputs * outputs for inputs, outputs in self.maps.values())


def head_tensor(model: GgufFile) -> str:
    """Return the tensor that gives the logits of the vocabulary; it may be the embedding."""
    return "output.weight" if "output.weight" in model.tensors else "token_embd.weight"
