"""Sizes of a Qwen2 model from its GGUF file, and the names of its maps."""

from __future__ import annotations

from dataclasses import dataclass

from halldetect.large.gguf import GgufFile

# Short name of a linear map of a layer -> its name in a GGUF file.
MAPS = {
    "q": "attn_q", "k": "attn_k", "v": "attn_v", "o": "attn_output",
    "g": "ffn_gate", "u": "ffn_up", "dn": "ffn_down",
}  # fmt: skip
_KEYS = (
    "block_count", "embedding_length", "attention.head_count", "attention.head_count_kv",
    "feed_forward_length", "context_length", "rope.freq_base", "attention.layer_norm_rms_epsilon",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a Qwen2 model."""

    layers: int
    hidden: int  # width of a token's state
    heads: int  # query heads
    kv_heads: int  # key and value heads, shared by groups of query heads
    ffn: int  # width of the feed-forward part
    context: int  # most tokens that the model was trained to read
    theta: float  # base of the rotary angles
    epsilon: float  # added to the mean square in a norm

    @classmethod
    def of(cls, model: GgufFile) -> Shape:
        """Return the sizes of a model."""
        stated = [model.metadata[f"qwen2.{key}"] for key in _KEYS]
        return cls(*map(int, stated[:6]), *map(float, stated[6:]))

    @property
    def head_size(self) -> int:
        """Return the width of one head."""
        return self.hidden // self.heads

    @property
    def maps(self) -> dict[str, tuple[int, int]]:
        """Return inputs and outputs of every linear map of a layer, by its short name."""
        wide, narrow = (self.hidden, self.hidden), (self.hidden, self.kv_heads * self.head_size)
        up, down = (self.hidden, self.ffn), (self.ffn, self.hidden)
        return dict(zip(MAPS, (wide, narrow, narrow, wide, up, up, down), strict=True))

    @property
    def weights(self) -> int:
        """Return the number of weights of all layers: two operations per token each."""
        return self.layers * sum(inputs * outputs for inputs, outputs in self.maps.values())


def head_tensor(model: GgufFile) -> str:
    """Return the tensor that gives the logits of the vocabulary; it may be the embedding."""
    return "output.weight" if "output.weight" in model.tensors else "token_embd.weight"
