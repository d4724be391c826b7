"""Convert a GGUF file into a folder that transformers loads: weights in bf16, tokenizer, config.

    python -m halldetect_bench.models.gguf_to_transformers MODEL.gguf FOLDER

transformers reads GGUF files itself, but one tensor after the other, which takes minutes for a
few billion weights. Here many threads dequantise at once (numpy releases the lock), each writing
its rows to their place in the file of weights. The tokenizer comes from the GGUF file too.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import struct
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from halldetect.errors import MissingExtra, ModelError

# Weights that one thread dequantises at a time.
_PIECE = 2_000_000
_ARCHITECTURES = {
    "qwen2": ("Qwen2ForCausalLM", "qwen2"),
    "llama": ("LlamaForCausalLM", "llama"),
}
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_TENSOR = re.compile(r"(?:blk\.(\d+)\.)?(\w+)\.(weight|bias)")
# Kinds of token in the file's vocabulary.
_CONTROL, _OWN = 3, 4
# How a text is cut before pairs are merged, by the name the file gives.
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True)
class _Piece:
    """Rows of a tensor, and where their bf16 form begins in the file of weights."""

    tensor: Any
    first: int
    last: int
    heads: int | None
    offset: int


def convert(gguf_file: Path, folder: Path, *, threads: int | None = None) -> Path:
    """Convert a file; a folder that is complete is kept.

    gguf_file: the model. folder: where to write. threads: default is the number of cores.
    Returns the folder.
    """
    if (folder / "config.json").is_file():
        return folder
    reader = _reader(gguf_file)
    values = dict(reader.fields)
    config = _config(values, {tensor.name for tensor in reader.tensors}, gguf_file)
    folder.mkdir(parents=True, exist_ok=True)
    _write_tokenizer(values, folder)
    weights = folder / "model.safetensors"
    pieces = list(_lay_out(reader, config, weights))
    room = np.memmap(weights, dtype=np.uint8, mode="r+")
    with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
        list(pool.map(lambda piece: _fill(room, piece), pieces))
    room.flush()
    # Written last: a folder with a configuration is complete.
    (folder / "config.json").write_text(json.dumps(config, indent=1), encoding="utf-8")
    return folder


def _reader(path: Path) -> Any:
    try:
        import gguf
    except ImportError as error:
        raise MissingExtra("reading a GGUF file with transformers", "hf") from error
    try:
        return gguf.GGUFReader(path)
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"{path} cannot be read: {error}") from error


def _config(values: dict[str, Any], tensors: set[str], path: Path) -> dict[str, Any]:
    kind = values["general.architecture"].contents()
    if kind not in _ARCHITECTURES:
        known = " and ".join(_ARCHITECTURES)
        raise ModelError(f"{path} holds a model of kind {kind}; only {known} are known")

    def value(name: str) -> Any:
        return values[f"{kind}.{name}"].contents()

    name, model_type = _ARCHITECTURES[kind]
    heads = value("attention.head_count")
    return {
        "architectures": [name],
        "model_type": model_type,
        "hidden_size": value("embedding_length"),
        "num_hidden_layers": value("block_count"),
        "intermediate_size": value("feed_forward_length"),
        "num_attention_heads": heads,
        "num_key_value_heads": value("attention.head_count_kv"),
        "head_dim": value("embedding_length") // heads,
        "max_position_embeddings": value("context_length"),
        "rms_norm_eps": round(value("attention.layer_norm_rms_epsilon"), 12),
        "rope_theta": value("rope.freq_base"),
        "vocab_size": len(values["tokenizer.ggml.tokens"].data),
        "bos_token_id": values["tokenizer.ggml.bos_token_id"].contents(),
        "eos_token_id": values["tokenizer.ggml.eos_token_id"].contents(),
        "pad_token_id": values["tokenizer.ggml.padding_token_id"].contents(),
        "tie_word_embeddings": "output.weight" not in tensors,
        "hidden_act": "silu",
        "dtype": "bfloat16",
    }


def _lay_out(reader: Any, config: dict[str, Any], path: Path) -> Iterator[_Piece]:
    """Write the header and allocate the file; yields what is to be written where."""
    head: dict[str, Any] = {}
    at = 0
    for tensor in reader.tensors:
        shape = tuple(int(size) for size in reversed(tensor.shape))
        end = at + 2 * int(np.prod(shape))
        head[_name(tensor.name)] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, end]}
        at = end
    packed = json.dumps(head, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % 8)
    with path.open("wb") as file:
        file.write(struct.pack("<Q", len(packed)) + packed)
        file.truncate(8 + len(packed) + at)
    rotated = {
        "attn_q": config["num_attention_heads"],
        "attn_k": config["num_key_value_heads"],
    }
    for tensor in reader.tensors:
        entry = head[_name(tensor.name)]
        begin, shape = 8 + len(packed) + entry["data_offsets"][0], entry["shape"]
        part = tensor.name.split(".")[-2]
        # llama.cpp keeps Llama's queries and keys in another order.
        heads = rotated.get(part) if config["model_type"] == "llama" else None
        width = int(np.prod(shape[1:]))
        step = shape[0] if heads else max(1, _PIECE // width)
        for first in range(0, shape[0], step):
            last = min(first + step, shape[0])
            yield _Piece(tensor, first, last, heads, begin + 2 * first * width)


def _name(tensor: str) -> str:
    match = _TENSOR.fullmatch(tensor)
    if match is None or match[2] not in _NAMES:
        raise ModelError(f"the tensor {tensor} has no counterpart in transformers")
    layer = f"model.layers.{match[1]}." if match[1] else ""
    return f"{layer}{_NAMES[match[2]]}.{match[3]}"


def _fill(weights: NDArray[np.uint8], piece: _Piece) -> None:
    from gguf.quants import dequantize

    tensor = piece.tensor
    rows = dequantize(tensor.data[piece.first : piece.last], tensor.tensor_type)
    if piece.heads:
        rows = _unrotated(rows, piece.heads)
    data = _bf16(np.ascontiguousarray(rows, dtype=np.float32)).view(np.uint8).reshape(-1)
    weights[piece.offset : piece.offset + len(data)] = data


def _unrotated(rows: NDArray[Any], heads: int) -> NDArray[Any]:
    halves = rows.shape[0] // heads // 2
    return rows.reshape(heads, halves, 2, *rows.shape[1:]).swapaxes(1, 2).reshape(rows.shape)


def _bf16(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """The upper half of each number, rounded to the nearest, to even in a tie."""
    bits = values.view(np.uint32)
    rounded: NDArray[np.uint16] = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
    return rounded


def _write_tokenizer(values: dict[str, Any], folder: Path) -> None:
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers

    tokens = values["tokenizer.ggml.tokens"].contents()
    kinds = values["tokenizer.ggml.token_type"].contents()
    merges = [tuple(pair.split(" ")) for pair in values["tokenizer.ggml.merges"].contents()]
    vocabulary = {token: place for place, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, byte_fallback=False))
    cut = values["tokenizer.ggml.pre"].contents()
    if cut == "qwen2":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(_QWEN2), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )
    elif cut == "smollm":
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True),
            ]
        )
    else:
        raise ModelError(f"the tokenizer cuts texts in an unknown way: {cut}")
    tokenizer.decoder = decoders.ByteLevel()
    for kind, add in ((_CONTROL, tokenizer.add_special_tokens), (_OWN, tokenizer.add_tokens)):
        add(
            [
                AddedToken(token, special=kind == _CONTROL, normalized=False)
                for token, its in zip(tokens, kinds, strict=True)
                if its == kind
            ]
        )
    tokenizer.save(str(folder / "tokenizer.json"))

    def token(name: str) -> str:
        return str(tokens[values[f"tokenizer.ggml.{name}_token_id"].contents()])

    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "chat_template": values["tokenizer.chat_template"].contents(),
        "bos_token": token("bos"),
        "eos_token": token("eos"),
        "pad_token": token("padding"),
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--threads", type=int, help="default: as many as there are cores")
    options = parser.parse_args()
    start = time.perf_counter()
    convert(options.model, options.folder, threads=options.threads)
    print(f"{options.folder}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main()
