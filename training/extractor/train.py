"""Step 3: train the adapter.

    python -m training.extractor.train WORK --base FOLDER --seconds 180

reads WORK/examples.jsonl and, if it is there, WORK/taught.jsonl, and writes WORK/NAME.safetensors
with WORK/NAME.json (settings and what the held-out sentences say). The loss is on the answer only.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor
from torch.nn import functional

from halldetect.claims.extractors import codes
from training.extractor import data, decode, lora
from training.extractor.score import agreement

# How often an example of each kind is seen in one pass: people first, rules so that they are known.
SHARES = {"factscore": 1.0, "rose": 1.0, "factcheckgpt": 1.0, "rule": 0.5}
TAUGHT = 0.7


def encoded(rows: list[dict[str, Any]], tokenizer: Any) -> list[tuple[list[int], int]]:
    """The tokens of each example, and where its answer begins."""
    end = tokenizer.token_to_id("<|im_end|>")
    found = []
    for row in rows:
        prompt = tokenizer.encode(codes.prompt(data.from_row(row))).ids
        answer = tokenizer.encode(codes.answer(row["chosen"])).ids
        found.append(([*prompt, *answer, end], len(prompt)))
    return found


def batches(
    examples: list[tuple[list[int], int]], weights: list[float], tokens: int, chance: random.Random
) -> Iterator[tuple[Tensor, Tensor]]:
    """One pass: like lengths together, in random order; targets of -100 do not count."""
    chosen = [
        item for item, weight in zip(examples, weights, strict=True) if chance.random() < weight
    ]
    chosen.sort(key=lambda item: len(item[0]) + chance.random() * 8)
    groups: list[list[tuple[list[int], int]]] = [[]]
    for item in chosen:
        if groups[-1] and (len(groups[-1]) + 1) * len(item[0]) > tokens:
            groups.append([])
        groups[-1].append(item)
    chance.shuffle(groups)
    for group in groups:
        width = max(len(ids) for ids, _ in group)
        ids = torch.zeros((len(group), width), dtype=torch.long)
        targets = torch.full((len(group), width), -100)
        for row, (tokens_of, start) in enumerate(group):
            ids[row, : len(tokens_of)] = torch.tensor(tokens_of)
            targets[row, start : len(tokens_of)] = torch.tensor(tokens_of[start:])
        yield ids, targets


def loss_of(model: Any, ids: Tensor, targets: Tensor) -> Tensor:
    """Padding is on the right and attention causal: no mask is needed."""
    hidden = model.model(input_ids=ids, use_cache=False).last_hidden_state[:, :-1]
    wanted = targets[:, 1:]
    counted = wanted != -100
    logits = model.lm_head(hidden[counted]).float()
    return functional.cross_entropy(logits, wanted[counted])


def train(options: argparse.Namespace) -> dict[str, Any]:
    torch.manual_seed(options.seed)
    on_gpu = options.device == "cuda"
    dtype = torch.bfloat16 if on_gpu else torch.float32
    model, tokenizer = decode.load(options.base, options.device, dtype)
    adapters = lora.adapt(model, options.rank, options.alpha, options.dropout)
    rows = data.read(options.work / "examples.jsonl")
    weights = [SHARES[row["source"]] for row in rows]
    taught = options.work / "taught.jsonl"
    if taught.exists() and not options.without_teacher:
        more = data.read(taught)
        rows += more
        weights += [TAUGHT] * len(more)
    if options.examples:
        picked = random.Random(options.seed).sample(range(len(rows)), options.examples)
        rows, weights = [rows[at] for at in picked], [weights[at] for at in picked]
    examples = encoded(rows, tokenizer)
    parameters = [p for layer in adapters.values() for p in (layer.a, layer.b)]
    optimiser = torch.optim.AdamW(parameters, lr=options.rate, weight_decay=0.0)
    chance = random.Random(options.seed)
    steps_a_pass = len(list(batches(examples, weights, options.tokens, random.Random(0))))
    total = steps_a_pass * options.passes
    began = time.monotonic()
    step, seen = 0, 0.0
    model.train()
    for number in range(options.passes):
        for ids, targets in batches(examples, weights, options.tokens, chance):
            spent = (time.monotonic() - began) / options.seconds
            done = max(step / total, spent)
            if spent >= 1:
                break
            for group in optimiser.param_groups:
                group["lr"] = options.rate * min(1.0, (step + 1) / 20) * max(0.02, 1 - done)
            loss = loss_of(model, ids.to(options.device), targets.to(options.device))
            optimiser.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(parameters, 1.0)
            optimiser.step()
            seen = loss.item() if step == 0 else 0.95 * seen + 0.05 * loss.item()
            step += 1
            if step % options.every == 0:
                spent_s = time.monotonic() - began
                print(
                    f"pass {number} step {step}/{total} loss {seen:.3f} {spent_s:.0f} s", flush=True
                )
    model.eval()
    held_out = data.read(options.work / "held_out.jsonl")[: options.held_out]
    splits = [data.from_row(row) for row in held_out]
    found = decode.decode(model, tokenizer, splits)
    result = {
        "rank": options.rank,
        "alpha": options.alpha,
        "examples": len(rows),
        "passes": options.passes,
        "steps": step,
        "seconds": round(time.monotonic() - began, 1),
        "loss": round(seen, 4),
        "held_out": {
            name: agreement(*(list(part) for part in zip(*rows_of, strict=True)))
            for name, rows_of in _by_part(held_out, splits, found).items()
        },
    }
    save_file(lora.state(adapters), options.work / f"{options.name}.safetensors")
    (options.work / f"{options.name}.json").write_text(json.dumps(result, indent=1) + "\n")
    data.write(
        options.work / f"{options.name}_held_out.jsonl",
        ({"sentence": s.sentence, "claims": f} for s, f in zip(splits, found, strict=True)),
    )
    return result


def _by_part(held_out: list[dict[str, Any]], splits: Any, found: Any) -> dict[str, list[Any]]:
    """Sentence, wanted and found claims, apart for the sets that are trained on and the one not."""
    parts: dict[str, list[Any]] = {}
    for row, split, claims in zip(held_out, splits, found, strict=True):
        name = "propsegment" if row["source"] == "propsegment" else "trained sets"
        parts.setdefault(name, []).append((split, row["chosen"], claims))
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("work", type=Path)
    add("--base", type=Path, required=True, help="folder of the dequantised base model")
    add("--name", default="adapter")
    add("--rank", type=int, default=8)
    add("--alpha", type=float, default=16.0)
    add("--dropout", type=float, default=0.1)
    add("--rate", type=float, default=5e-4)
    add("--passes", type=int, default=4)
    add("--seconds", type=float, default=240.0)
    add("--tokens", type=int, default=2048, help="tokens a batch")
    add("--examples", type=int, help="a random sample of so many")
    add("--held-out", type=int, help="only so many of the held-out sentences")
    add("--without-teacher", action="store_true")
    add("--every", type=int, default=20)
    add("--seed", type=int, default=0)
    add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    print(json.dumps(train(parser.parse_args())))


if __name__ == "__main__":
    main()
