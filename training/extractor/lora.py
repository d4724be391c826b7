"""Low-rank adapters on the linear layers of a model, and their GGUF form."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

# The linear layers of a Llama block, by the name llama.cpp gives them.
NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}


class Adapted(nn.Module):
    """A frozen linear layer and what is added to it: x -> Wx + scale B(Ax)."""

    def __init__(self, base: nn.Linear, rank: int, alpha: float, dropout: float) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.empty(rank, base.in_features, dtype=torch.float32))
        self.b = nn.Parameter(torch.zeros(base.out_features, rank, dtype=torch.float32))
        nn.init.kaiming_uniform_(self.a, a=math.sqrt(5))
        self.scale = alpha / rank
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        a, b = self.a.to(x.dtype), self.b.to(x.dtype)
        low = functional.linear(functional.linear(self.dropout(x), a), b)
        return self.base(x) + self.scale * low


def adapt(model: Any, rank: int, alpha: float, dropout: float = 0.0) -> dict[str, Adapted]:
    """Put an adapter on every linear layer of the blocks; returns them by llama.cpp's names."""
    model.requires_grad_(False)
    found: dict[str, Adapted] = {}
    for number, block in enumerate(model.model.layers):
        for path, name in NAMES.items():
            parent, leaf = path.split(".")
            layer = Adapted(getattr(getattr(block, parent), leaf), rank, alpha, dropout)
            layer.to(layer.base.weight.device)
            setattr(getattr(block, parent), leaf, layer)
            found[f"blk.{number}.{name}.weight"] = layer
    return found


def state(adapters: dict[str, Adapted]) -> dict[str, Tensor]:
    return {
        f"{name}.{part}": getattr(layer, part).detach().cpu().half().contiguous()
        for name, layer in adapters.items()
        for part in ("a", "b")
    }


def load_state(adapters: dict[str, Adapted], tensors: dict[str, Tensor]) -> None:
    for name, layer in adapters.items():
        layer.a.data.copy_(tensors[f"{name}.a"])
        layer.b.data.copy_(tensors[f"{name}.b"])


def write_gguf(path: Path, tensors: dict[str, Tensor], alpha: float, heads: dict[str, int]) -> None:
    """The adapter as llama.cpp loads it beside the base model.

    llama.cpp keeps the rows of Llama's queries and keys in another order than transformers, so
    the B of those two goes through the same turn as the weights did.
    """
    import gguf

    writer = gguf.GGUFWriter(path, "llama")
    writer.add_type("adapter")
    writer.add_string("adapter.type", "lora")
    writer.add_float32("adapter.lora.alpha", alpha)
    writer.add_string("general.name", "HallDetect claim splitter for SmolLM2-135M-Instruct")
    writer.add_string("general.license", "apache-2.0")
    for key, tensor in tensors.items():
        name, part = key.rsplit(".", 1)
        kind = name.split(".")[2]
        values = tensor.float().numpy()
        if part == "b" and kind in heads:
            rows = values.reshape(heads[kind], 2, values.shape[0] // heads[kind] // 2, -1)
            values = rows.swapaxes(1, 2).reshape(values.shape)
        writer.add_tensor(f"{name}.lora_{part}", values.astype("float16"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def read_gguf(path: Path, heads: dict[str, int]) -> tuple[dict[str, Tensor], float]:
    """The tensors and alpha of an adapter file, turned back to the order of transformers."""
    import gguf

    reader = gguf.GGUFReader(path)
    found: dict[str, Tensor] = {}
    for tensor in reader.tensors:
        name, part = tensor.name.rsplit(".lora_", 1)
        values = torch.from_numpy(tensor.data.astype("float32"))
        count = heads.get(name.split(".")[2])
        if part == "b" and count:
            rows = values.reshape(count, values.shape[0] // count // 2, 2, -1)
            values = rows.transpose(1, 2).reshape(values.shape)
        found[f"{name}.{part}"] = values
    return found, float(reader.fields["adapter.lora.alpha"].contents())
