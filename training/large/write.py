"""Texts about training documents, written by the base model itself: its own real errors.

    python -m training.large.write prompts WORK          # write_prompts.jsonl.xz
    python -m training.large.write run WORK --seconds S  # written.jsonl.xz, on a GPU

A language model that summarises or explains a document makes the mistakes that a verifier has to
find. The sentences it writes are judged later (`label`) and become claims of those documents.
"""

from __future__ import annotations

import argparse
import json
import lzma
import random
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from training.large.model import read_base

TASKS = {
    "summary": "Summarise the text below in two or three sentences.",
    "brief": "What is the main point of the text below? Answer in one sentence.",
    "facts": "List four facts that the text below states, one full sentence per line.",
    "explain": "Explain the text below to a friend in one paragraph of four to six sentences.",
    "report": "Write a short, detailed report (about 90 words) on the text below. "
    "Mention names, numbers and dates.",
    "question": "Ask one question that the text below answers, then answer it in a full sentence.",
    "false": "Write three sentences about the text below. Each one must sound right but "
    "contain one wrong detail (a number, a name, a place, a date or a cause).",
}
SHARES = {
    "summary": 6, "brief": 3, "facts": 4, "explain": 4, "report": 4, "question": 2, "false": 3,
}  # fmt: skip
START, END, STOP = 151644, 151645, 151643  # <|im_start|>, <|im_end|>, <|endoftext|>


def read(path: Path) -> Iterator[dict[str, Any]]:
    """Records of an xz-compressed file of JSON lines."""
    with lzma.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def prompts(options: argparse.Namespace) -> None:
    """Draw documents evenly over the sets they come from, and a task for each."""
    rng = random.Random(options.seed)
    by_source: defaultdict[str, list[str]] = defaultdict(list)
    for group in read(options.work / "train_groups.jsonl.xz"):
        if 50 <= len(group["premise"].split()) <= 700:
            by_source[group["source"]].append(group["premise"])
    pools = {name: sorted(set(texts)) for name, texts in by_source.items()}
    for texts in pools.values():
        rng.shuffle(texts)
    tasks = [task for task, share in SHARES.items() for _ in range(share)]
    rows: list[dict[str, str]] = []
    # Each round takes one document of every set; long texts are worth more than short ones.
    while len(rows) < options.count and any(pools.values()):
        for name, texts in pools.items():
            if texts:
                rows.append({"source": name, "premise": texts.pop(), "task": rng.choice(tasks)})
    rng.shuffle(rows)
    with lzma.open(options.work / "write_prompts.jsonl.xz", "wt", encoding="utf-8") as file:
        for row in rows[: options.count]:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(f"{min(len(rows), options.count)} prompts from {len(pools)} sets")


def network(path: Path, device: str, dtype: torch.dtype) -> Any:
    """The base as a transformers model, its vocabulary head tied to its embedding."""
    from transformers import Qwen2Config, Qwen2ForCausalLM

    shape, tensors = read_base(path, device, dtype)
    config = Qwen2Config(
        vocab_size=tensors["token_embd.weight"].shape[0],
        hidden_size=shape.hidden,
        intermediate_size=shape.ffn,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads,
        rms_norm_eps=shape.epsilon,
        rope_parameters={"rope_type": "default", "rope_theta": shape.theta},
        max_position_embeddings=32768,
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        model = Qwen2ForCausalLM(config)
    names = {
        "token_embd.weight": "model.embed_tokens.weight",
        "output_norm.weight": "model.norm.weight",
    }
    parts = {
        "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
        "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
        "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
        "ffn_down": "mlp.down_proj",
    }  # fmt: skip
    for number in range(shape.layers):
        for ours, theirs in parts.items():
            for kind in ("weight", "bias"):
                names[f"blk.{number}.{ours}.{kind}"] = f"model.layers.{number}.{theirs}.{kind}"
    state = {names[name]: value for name, value in tensors.items() if name in names}
    state["lm_head.weight"] = state["model.embed_tokens.weight"]
    model.load_state_dict(state, strict=True, assign=True)
    # Buffers such as the rotary frequencies are not in the state.
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config).to(device)
    return model.eval()


def prompt_ids(tokenizer: Any, task: str, premise: str) -> list[int]:
    """Token numbers of one request in the chat form of the model."""

    def ids(text: str) -> list[int]:
        return list(tokenizer.encode(text, add_special_tokens=False).ids)

    asked = f"{TASKS[task]}\n\n{premise}"
    return [START, *ids("user\n"), *ids(asked), END, *ids("\n"), START, *ids("assistant\n")]


@torch.no_grad()  # type: ignore[untyped-decorator]
def write(model: Any, batch: Sequence[list[int]], tokens: int, seed: int) -> list[list[int]]:
    """Go on with every prompt of a batch, by at most so many tokens."""
    longest = max(map(len, batch))
    device = model.device
    ids = torch.tensor([[STOP] * (longest - len(row)) + row for row in batch], device=device)
    mask = torch.tensor(
        [[0] * (longest - len(row)) + [1] * len(row) for row in batch], device=device
    )
    torch.manual_seed(seed)
    out = model.generate(
        input_ids=ids, attention_mask=mask, max_new_tokens=tokens, do_sample=True,
        temperature=0.8, top_p=0.95, top_k=50, eos_token_id=[END, STOP], pad_token_id=STOP,
    )  # fmt: skip
    written = []
    for row in out[:, longest:].tolist():
        ends = [place for place, token in enumerate(row) if token in (END, STOP)]
        written.append(row[: ends[0]] if ends else row)
    return written


def run(options: argparse.Namespace) -> None:
    """Write texts until the prompts or the time are used up; what is done is kept."""
    from tokenizers import Tokenizer

    started = time.monotonic()
    tokenizer = Tokenizer.from_file(str(options.base.parent / "tokenizer.json"))
    dtype = torch.float32 if options.device == "cpu" else torch.bfloat16
    model = network(options.base, options.device, dtype)
    rows = list(read(options.work / "write_prompts.jsonl.xz"))[: options.most]
    jobs = sorted(
        ((prompt_ids(tokenizer, row["task"], row["premise"]), row) for row in rows),
        key=lambda job: len(job[0]),
    )
    batches = [jobs[first : first + options.batch] for first in range(0, len(jobs), options.batch)]
    random.Random(0).shuffle(batches)
    count = 0
    with lzma.open(options.out, "wt", encoding="utf-8", preset=2) as file:
        for number, batch in enumerate(batches):
            if time.monotonic() - started > options.seconds:
                break
            texts = write(model, [ids for ids, _ in batch], options.tokens, number)
            for (_, row), ids in zip(batch, texts, strict=True):
                text = tokenizer.decode(ids)
                ended = len(ids) < options.tokens
                record = {**row, "text": text, "ended": ended}
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += len(batch)
            print(f"{count} texts, {time.monotonic() - started:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(required=True)
    step = steps.add_parser("prompts")
    step.add_argument("work", type=Path)
    step.add_argument("--count", type=int, default=16_000)
    step.add_argument("--seed", type=int, default=5)
    step.set_defaults(run=prompts)
    step = steps.add_parser("run")
    step.add_argument("work", type=Path)
    step.add_argument("--base", type=Path, required=True, help="base.safetensors")
    step.add_argument("--out", type=Path, required=True)
    step.add_argument("--device", default="cuda")
    step.add_argument("--batch", type=int, default=448)
    step.add_argument("--tokens", type=int, default=140)
    step.add_argument("--most", type=int, default=10**9)
    step.add_argument("--seconds", type=float, default=150)
    step.set_defaults(run=run)
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    main()
