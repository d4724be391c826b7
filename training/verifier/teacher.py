"""Step 3: a larger teacher, trained on the labelled pairs, that labels what the students read.

    python -m training.verifier.teacher train WORK --seconds 400
    python -m training.verifier.teacher label WORK pairs.jsonl.xz --seconds 240

The teacher is Qwen2.5-Coder-1.5B-Instruct, dequantised from its GGUF file, with a three-way head
on the last token. Sequences are padded on the right and attention is causal, so no padding mask
is needed at all: that keeps the fused kernel and rules out rows in which everything is masked,
which is where bf16 runs of such models turn to NaN. Master weights stay in fp32.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from training.verifier import batches as B
from training.verifier.train import endless, objective, rate

NAMES = {
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
GGUF = "qwen2.5-coder-1.5b.gguf"
# The head starts from the model's own words for the three answers.
ANSWERS = (" true", " unknown", " false")


def tokenizer_of(work: Path):  # type: ignore[no-untyped-def]
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(work / "qwen-tokenizer.json"))


def save_tokenizer(work: Path) -> None:
    """The tokenizer out of the GGUF file, once, on the machine that fetched it."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(work), gguf_file=GGUF)
    tokenizer.backend_tokenizer.save(str(work / "qwen-tokenizer.json"))


def dequantise(path: Path) -> dict[str, Tensor]:
    """The tensors of a Qwen2 GGUF file under the names transformers gives them."""
    from gguf import GGUFReader
    from gguf.quants import dequantize

    reader = GGUFReader(str(path))

    def convert(tensor) -> tuple[str, Tensor]:  # type: ignore[no-untyped-def]
        values = torch.from_numpy(
            np.ascontiguousarray(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        ).to(torch.bfloat16)
        name = tensor.name
        if name == "token_embd.weight":
            return "embed_tokens.weight", values
        if name == "output_norm.weight":
            return "norm.weight", values
        if not name.startswith("blk."):
            return "", values
        _, layer, part, kind = name.split(".")
        return f"layers.{layer}.{NAMES[part]}.{kind}", values

    with ThreadPoolExecutor(12) as pool:
        found = dict(pool.map(convert, reader.tensors))
    found.pop("", None)
    return found


def configuration(path: Path):  # type: ignore[no-untyped-def]
    from gguf import GGUFReader
    from transformers import Qwen2Config

    fields = GGUFReader(str(path)).fields

    def value(name: str) -> float:
        field = fields[f"qwen2.{name}"]
        return field.parts[field.data[0]][0].item()

    return Qwen2Config(
        vocab_size=len(fields["tokenizer.ggml.tokens"].data),
        hidden_size=int(value("embedding_length")),
        intermediate_size=int(value("feed_forward_length")),
        num_hidden_layers=int(value("block_count")),
        num_attention_heads=int(value("attention.head_count")),
        num_key_value_heads=int(value("attention.head_count_kv")),
        max_position_embeddings=int(value("context_length")),
        rms_norm_eps=value("attention.layer_norm_rms_epsilon"),
        rope_theta=value("rope.freq_base"),
        tie_word_embeddings=True,
        attn_implementation="sdpa",
    )


class Teacher(nn.Module):
    def __init__(self, body: nn.Module, width: int) -> None:
        super().__init__()
        self.body = body
        self.head = nn.Linear(width, 3)

    def forward(self, ids: Tensor, lengths: Tensor) -> Tensor:
        hidden = self.body(input_ids=ids, use_cache=False).last_hidden_state
        last = hidden[torch.arange(len(ids), device=ids.device), lengths - 1]
        return self.head(last)


def base(work: Path) -> Teacher:
    from transformers import Qwen2Model

    config = configuration(work / GGUF)
    body = Qwen2Model(config)
    # Rotary frequencies are computed, not stored.
    missing, unexpected = body.load_state_dict(dequantise(work / GGUF), strict=False)
    if unexpected or [name for name in missing if "rotary" not in name]:
        raise ValueError(f"weights do not fit: {missing} {unexpected}")
    teacher = Teacher(body, config.hidden_size)
    tokenizer = tokenizer_of(work)
    rows = [tokenizer.encode(answer).ids[0] for answer in ANSWERS]
    with torch.no_grad():
        teacher.head.weight.copy_(body.embed_tokens.weight[rows].float())
        teacher.head.bias.zero_()
    return teacher


def pair_encoder(work: Path, limit: int):  # type: ignore[no-untyped-def]
    tokenizer = tokenizer_of(work)
    before = tokenizer.encode("Text:\n").ids
    between = tokenizer.encode("\n\nClaim: ").ids
    after = tokenizer.encode(
        "\n\nIs the claim true, false or unknown given only the text? It is"
    ).ids

    def encode(pairs) -> list[list[int]]:  # type: ignore[no-untyped-def]
        premises = tokenizer.encode_batch([premise for premise, _ in pairs])
        claims = tokenizer.encode_batch([claim for _, claim in pairs])
        encoded = []
        for premise, claim in zip(premises, claims, strict=True):
            tail = [*between, *claim.ids[:200], *after]
            encoded.append([*before, *premise.ids[: limit - len(before) - len(tail)], *tail])
        return encoded

    return encode


def train(options: argparse.Namespace) -> None:
    torch.manual_seed(options.seed)
    started = time.monotonic()
    teacher = base(options.work).to(options.device).train()
    print(f"loaded in {time.monotonic() - started:.0f} s", flush=True)
    data = B.encode_file(
        options.work / options.pairs, "qwen", pair_encoder(options.work, options.limit)
    )
    print(f"{len(data):,} pairs, {len(data.ids):,} tokens", flush=True)
    if not options.no_compile:
        for layer in teacher.body.layers:
            layer.compile(dynamic=True)
    optimizer = torch.optim.AdamW(
        [
            {"params": teacher.body.parameters(), "base": options.rate},
            {"params": teacher.head.parameters(), "base": 10 * options.rate},
        ],
        lr=options.rate, betas=(0.9, 0.98), weight_decay=0.01, fused=options.device == "cuda",
    )  # fmt: skip
    labels = torch.from_numpy(data.labels).to(options.device)
    lengths = torch.from_numpy(data.lengths).to(options.device)
    nothing = torch.full((1, 3), float("nan"), device=options.device)
    began = time.monotonic()
    seen = step = 0
    losses: list[Tensor] = []
    for rows_of, ids, _ in endless(data, options.tokens, 0, options.device, options.seed):
        elapsed = time.monotonic() - began
        progress = elapsed / options.seconds if options.seconds else step / options.steps
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = group["base"] * rate(progress)
        index = torch.from_numpy(rows_of).to(options.device)
        with torch.autocast(options.device, dtype=torch.bfloat16):
            logits = teacher(ids, lengths[index])
        loss = objective(logits, labels[index], nothing.expand(len(index), 3), 0.0).mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
        optimizer.step()
        step += 1
        seen += ids.numel()
        losses.append(loss.detach())
        if step % 50 == 0:
            mean = torch.stack(losses).mean().item()
            losses.clear()
            speed = seen / (time.monotonic() - began)
            print(
                f"step {step} {progress:.2f} loss {mean:.4f} norm {norm:.2f} {speed:,.0f} tok/s",
                flush=True,
            )
            if not np.isfinite(mean):
                raise SystemExit("the loss is not finite")
    torch.save(
        {k: v.to(torch.bfloat16) for k, v in teacher.state_dict().items()},
        options.work / "teacher.pt",
    )
    print(
        json.dumps({"steps": step, "tokens": seen, "seconds": time.monotonic() - began}), flush=True
    )


def load(work: Path, device: str) -> Teacher:
    from transformers import Qwen2Model

    config = configuration(work / GGUF)
    torch.set_default_dtype(torch.bfloat16)
    with torch.device(device):
        teacher = Teacher(Qwen2Model(config), config.hidden_size)
    torch.set_default_dtype(torch.float32)
    teacher.load_state_dict(torch.load(work / "teacher.pt", map_location=device))
    return teacher.eval()


def label(options: argparse.Namespace) -> None:
    """Probabilities for the rows of a file, in random order, until the time is up."""
    teacher = load(options.work, options.device)
    encoder = pair_encoder(options.work, options.limit)
    rows = B.read_pairs(options.work / options.pairs)[: options.rows]
    order = np.random.default_rng(options.seed).permutation(len(rows))
    began = time.monotonic()
    answers = np.full((len(rows), 3), np.nan, np.float32)
    seen = 0
    with torch.inference_mode():
        for start in range(0, len(rows), 20_000):
            if options.seconds and time.monotonic() - began > options.seconds:
                break
            part = order[start : start + 20_000]
            data = B.encode([rows[i] for i in part], encoder)
            lengths = torch.from_numpy(data.lengths).to(options.device)
            groups = B.batches(data, options.tokens * 2, None)
            for rows_of, ids, _ in B.prefetched(data, groups, 0, options.device):
                index = torch.from_numpy(rows_of).to(options.device)
                logits = teacher(ids, lengths[index]).float()
                answers[part[rows_of]] = torch.softmax(logits, -1).cpu().numpy()
                seen += ids.numel()
    spent = time.monotonic() - began
    done = int((~np.isnan(answers[:, 0])).sum())
    np.save(options.work / options.out, answers)
    gold = np.array([B.CODES[str(row.get("label") or "")] for row in rows])
    known = (gold < 3) & ~np.isnan(answers[:, 0])
    right = (answers[known].argmax(1) == gold[known]).mean() if known.any() else float("nan")
    print(
        f"{done:,} of {len(rows):,} rows, {seen / spent:,.0f} tok/s, agrees with gold {right:.4f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=("tokenizer", "encode", "train", "label"))
    parser.add_argument("work", type=Path)
    parser.add_argument("--pairs", default="teacher_pairs.jsonl.xz")
    parser.add_argument("--out", default="labels.npy")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--tokens", type=int, default=16384)
    parser.add_argument("--rate", type=float, default=1e-5)
    parser.add_argument("--limit", type=int, default=576)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    options = parser.parse_args()
    if options.command == "tokenizer":
        save_tokenizer(options.work)
    elif options.command == "encode":
        B.encode_file(
            options.work / options.pairs, "qwen", pair_encoder(options.work, options.limit)
        )
    else:
        {"train": train, "label": label}[options.command](options)


if __name__ == "__main__":
    main()
