"""A tiny random model of the Qwen2 architecture with an adapter, written on the spot."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.large.adapter import Adapter
from halldetect.large.shape import MAPS, Shape
from halldetect.machine.integrity import digest_of

SHAPE = Shape(
    layers=3, hidden=64, heads=4, kv_heads=2, ffn=96, context=1024, theta=1e6, epsilon=1e-6
)
RANK = 4
SPECIAL = "<|im_end|>"


@dataclass(frozen=True)
class TinyModel:
    """Files of a tiny model, and the weights in them."""

    base: Path
    adapter: Path
    tensors: dict[str, NDArray[Any]]
    vocabulary: list[str]


def vocabulary() -> tuple[list[str], list[str]]:
    """All bytes and the three answers, with the merges that lead to them, and a special token."""
    from tokenizers import pre_tokenizers

    tokens = sorted(pre_tokenizers.ByteLevel.alphabet())
    merges = []
    for word in ("ĠYes", "ĠMaybe", "ĠNo"):
        for end in range(1, len(word)):
            merges.append(f"{word[:end]} {word[end]}")
            tokens.append(word[: end + 1])
    tokens = list(dict.fromkeys(tokens))
    return [*tokens, SPECIAL], list(dict.fromkeys(merges))


def write_tiny(folder: Path, *, seed: int = 0, half: bool = False) -> TinyModel:
    """Write `base.gguf` and `adapter.lora8`.

    Args:
        folder: where to.
        seed: of the random weights.
        half: store the matrices as float16 instead of float32.
    """
    random = np.random.default_rng(seed)
    tokens, merges = vocabulary()

    def drawn(*sizes: int, scale: float) -> NDArray[Any]:
        values = random.normal(0.0, scale, sizes).astype(np.float32)
        return values.astype(np.float16) if half and len(sizes) == 2 else values

    tensors = {
        "token_embd.weight": drawn(len(tokens), SHAPE.hidden, scale=1.0),
        "output.weight": drawn(len(tokens), SHAPE.hidden, scale=0.3),
        "output_norm.weight": 1 + drawn(SHAPE.hidden, scale=0.1),
    }
    adapter = {}
    for layer in range(SHAPE.layers):
        for name in ("attn_norm", "ffn_norm"):
            tensors[f"blk.{layer}.{name}.weight"] = 1 + drawn(SHAPE.hidden, scale=0.1)
        for short, (inputs, outputs) in SHAPE.maps.items():
            key = f"blk.{layer}.{MAPS[short]}"
            tensors[f"{key}.weight"] = drawn(outputs, inputs, scale=inputs**-0.5)
            if short in "qkv":
                tensors[f"{key}.bias"] = drawn(outputs, scale=0.2)
            a = random.normal(0.0, inputs**-0.5, (RANK, inputs)).astype(np.float32)
            b = random.normal(0.0, 0.3, (outputs, RANK)).astype(np.float32)
            adapter[f"layers.{layer}.{short}.A"] = a
            adapter[f"layers.{layer}.{short}.B"] = b
    metadata = {
        "general.architecture": "qwen2",
        "general.name": "tiny",
        "qwen2.block_count": SHAPE.layers,
        "qwen2.context_length": SHAPE.context,
        "qwen2.embedding_length": SHAPE.hidden,
        "qwen2.feed_forward_length": SHAPE.ffn,
        "qwen2.attention.head_count": SHAPE.heads,
        "qwen2.attention.head_count_kv": SHAPE.kv_heads,
        "qwen2.rope.freq_base": SHAPE.theta,
        "qwen2.attention.layer_norm_rms_epsilon": SHAPE.epsilon,
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen2",
        "tokenizer.ggml.tokens": tokens,
        "tokenizer.ggml.token_type": [1] * (len(tokens) - 1) + [3],
        "tokenizer.ggml.merges": merges,
        "tokenizer.ggml.eos_token_id": len(tokens) - 1,
        "tokenizer.ggml.add_bos_token": False,
    }
    base, file = folder / "base.gguf", folder / "adapter.lora8"
    write_gguf(base, metadata, tensors)
    write_adapter(file, Adapter(adapter, digest_of(base), 1.25, ("en",)))
    calibration = {"slope": 1.5, "offset": 0.25}
    (folder / "config.json").write_text(json.dumps({"calibration": calibration}))
    return TinyModel(base, file, tensors, tokens)


def write_adapter(path: Path, adapter: Adapter) -> None:
    """Write a `.lora8` file, rounded to 8 bits."""
    from safetensors.numpy import save_file

    stored: dict[str, NDArray[Any]] = {}
    for name, values in adapter.tensors.items():
        stored[name], stored[f"{name}.scale"] = rounded_to_8_bits(name, values)
    about = {
        "languages": json.dumps(adapter.languages),
        "format": "halldetect-lora8",
        "base_sha256": adapter.base_sha256,
        "temperature": repr(float(adapter.temperature)),
    }
    save_file(stored, path, metadata=about)


def rounded_to_8_bits(
    name: str, values: NDArray[np.float32]
) -> tuple[NDArray[np.int8], NDArray[np.float16]]:
    """Return the numbers and scales of a map, as the file has them."""
    rows = np.ascontiguousarray(values.T) if name.endswith(".B") else values
    runs = rows.reshape(rows.shape[0], -1, math.gcd(rows.shape[1], 64))
    # The scale is rounded first, so that the numbers fit the scale that is stored.
    scale = np.maximum(np.abs(runs).max(-1) / 127, 6e-8).astype(np.float16)
    numbers = np.rint(runs / scale.astype(np.float32)[:, :, None]).clip(-127, 127)
    return numbers.astype(np.int8).reshape(rows.shape), scale


def write_gguf(
    path: Path, metadata: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> None:
    """Write a GGUF file with the `gguf` package, independent of our reader."""
    import gguf

    writer = gguf.GGUFWriter(path, metadata["general.architecture"])
    for name, value in metadata.items():
        if isinstance(value, bool):
            writer.add_bool(name, value)
        elif isinstance(value, int):
            writer.add_uint32(name, value)
        elif isinstance(value, float):
            writer.add_float32(name, value)
        elif isinstance(value, list):
            writer.add_array(name, value)
        elif name != "general.architecture":  # the writer has added it
            writer.add_string(name, value)
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def reference_logits(
    tiny: TinyModel, adapter: Adapter | None, tokens: Sequence[int], answers: Sequence[int]
) -> NDArray[np.float64]:
    """Logits of the answers after the last token, written down plainly in float64.

    Args:
        tiny: the model.
        adapter: what is added to its weights; None for the base alone.
        tokens: passage and claim, one after the other.
        answers: tokens of the answers.
    """
    weights = {name: values.astype(np.float64) for name, values in tiny.tensors.items()}

    def linear(layer: int, short: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        key = f"blk.{layer}.{MAPS[short]}"
        weight = weights[f"{key}.weight"]
        if adapter is not None:
            weight = weight + adapter.product(layer, short)
        return x @ weight.T + weights.get(f"{key}.bias", 0.0)

    def norm(name: str, x: NDArray[np.float64]) -> NDArray[np.float64]:
        mean = (x**2).mean(-1, keepdims=True)
        result: NDArray[np.float64] = x / np.sqrt(mean + SHAPE.epsilon) * weights[name]
        return result

    size, count = SHAPE.head_size, len(tokens)
    rates = SHAPE.theta ** -(np.arange(0, size, 2) / size)
    angles = np.arange(count)[:, None] * rates
    later = np.triu(np.ones((count, count), bool), 1)

    def heads(x: NDArray[np.float64], turned: bool) -> NDArray[np.float64]:
        x = x.reshape(count, -1, size).transpose(1, 0, 2)
        if not turned:
            return x
        a, b = x[..., : size // 2], x[..., size // 2 :]
        cos, sin = np.cos(angles), np.sin(angles)
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)

    x = weights["token_embd.weight"][np.array(tokens)]
    for layer in range(SHAPE.layers):
        h = norm(f"blk.{layer}.attn_norm.weight", x)
        q, k = (heads(linear(layer, name, h), True) for name in "qk")
        v = heads(linear(layer, "v", h), False)
        times = SHAPE.heads // SHAPE.kv_heads
        scores = q @ k.repeat(times, 0).transpose(0, 2, 1) / np.sqrt(size)
        scores[:, later] = -np.inf
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        seen = (shares @ v.repeat(times, 0)).transpose(1, 0, 2).reshape(count, -1)
        x = x + linear(layer, "o", seen)
        h = norm(f"blk.{layer}.ffn_norm.weight", x)
        gate = linear(layer, "g", h)
        x = x + linear(layer, "dn", gate / (1 + np.exp(-gate)) * linear(layer, "u", h))
    last = norm("output_norm.weight", x[-1:])[0]
    return np.asarray(weights["output.weight"][np.array(answers)] @ last)
