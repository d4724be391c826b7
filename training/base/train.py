"""Train a student on labelled pairs and on the answers of the large verifier.

    python -m training.base.train WORK --start shipped --taught WORK/labels --out base --seconds 540

The schedule follows the elapsed share of the time (or of the steps), so a run always ends with a
fully decayed learning rate. With --restartable an interrupted run continues from its checkpoint.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.base import batches as B
from training.base import taught as T
from training.base.encoder import TOKENIZER, Encoder, from_base
from training.base.rounded import RoundedWeights


def objective(logits: Tensor, labels: Tensor, taught: Tensor | None, mix: float) -> Tensor:
    """Return the loss of each pair: that of its label, mixed with that of a teacher's answer.

    A two-way label ("not_entailment") only excludes entailment and does not distinguish neutral
    from contradiction. A pair without a label learns from the teacher alone.
    """
    log = functional.log_softmax(logits.float(), dim=-1)
    denied = torch.logaddexp(log[:, 1], log[:, 2])
    known = -log.gather(1, labels.clamp(max=2)[:, None]).squeeze(1)
    gold = torch.where(labels == 3, -denied, known)
    gold = torch.where(labels == 4, torch.zeros_like(gold), gold)
    if taught is None:
        return gold
    asked = ~taught[:, 0].isnan()
    share = torch.where(labels == 4, 1.0, mix) * asked
    return (1 - share) * gold - share * (taught.nan_to_num() * log).sum(-1)


def rate(progress: float, warm: float = 0.06) -> float:
    """Return the learning rate as a share of its peak: linear warm-up, then linear decay."""
    return progress / warm if progress < warm else max(0.0, (1 - progress) / (1 - warm))


def optimizer_of(model: Encoder, peak: float, device: str) -> torch.optim.Optimizer:
    """Return AdamW, without decay for norms and biases."""
    no_decay = ("norm", "bias")
    groups: list[dict[str, Any]] = [
        {"params": [], "weight_decay": 0.01},
        {"params": [], "weight_decay": 0.0},
    ]
    for name, value in model.named_parameters():
        if value.requires_grad:
            groups[any(part in name for part in no_decay)]["params"].append(value)
    return torch.optim.AdamW(groups, lr=peak, betas=(0.9, 0.98), fused=device == "cuda")


def save(model: Encoder, folder: Path, outcome: dict[str, Any], options: Any) -> None:
    """Write a trained student and its training record."""
    model.save(folder)
    outcome["options"] = {name: str(value) for name, value in vars(options).items()}
    (folder / "training.json").write_text(json.dumps(outcome, indent=1))
    print(json.dumps({k: v for k, v in outcome.items() if k != "curve"}), flush=True)


def endless(
    data: B.Encoded, tokens: int, most: int, pad: int, device: str, seed: int
) -> Iterator[tuple[np.ndarray, Tensor, Tensor]]:
    """Yield batches without end, in another order in each epoch."""
    epoch = 0
    while True:
        rng = np.random.default_rng([seed, epoch])
        yield from B.prefetched(data, B.batches(data, tokens, rng, most), pad, device)
        epoch += 1


def train(
    model: Encoder,
    data: B.Encoded,
    *,
    seconds: float | None,
    steps: int | None,
    tokens: int,
    most: int,
    peak: float,
    mix: float,
    seed: int,
    device: str,
    compile_layers: bool,
    rounded: float = 0.0,
    checkpoint: Path | None = None,
    every: float = 120.0,
) -> dict[str, Any]:
    """Train in place, with rounded weights in the last share `rounded` of the run."""
    if seconds is None and steps is None:
        raise ValueError("training needs an end: seconds or steps")
    model.to(device).train()
    if compile_layers:
        for layer in model.layers:
            layer.compile(dynamic=True)
    rounding = RoundedWeights(model)
    optimizer = optimizer_of(model, peak, device)
    labels = torch.from_numpy(data.labels).to(device)
    weights = torch.from_numpy(data.weights).to(device)
    answers = None if data.taught is None else torch.from_numpy(data.taught).to(device)
    seen = step = 0
    spent_before = 0.0
    losses: list[Tensor] = []
    curve: list[tuple[int, float]] = []
    if checkpoint is not None and checkpoint.exists():
        saved = torch.load(checkpoint, map_location=device)
        model.load_state_dict(saved["model"])
        optimizer.load_state_dict(saved["optimizer"])
        step, seen, spent_before, curve = saved["progress"]
        seed += 1000 + step  # other batches than before the interruption
    started = last_saved = time.monotonic()
    for rows, ids, mask in endless(data, tokens, most, model.shape.pad, device, seed):
        elapsed = spent_before + time.monotonic() - started
        progress = elapsed / seconds if seconds else step / (steps or 1)
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = peak * rate(progress)
        index = torch.from_numpy(rows).to(device)
        taught = None if answers is None else answers[index]
        optimizer.zero_grad(set_to_none=True)
        with rounding.applied() if progress > 1 - rounded else nullcontext():
            # fp32 on a CPU, where bf16 is slow or not available.
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = model(ids, mask)
            each = objective(logits, labels[index], taught, mix)
            loss = (each * weights[index]).sum() / weights[index].sum()
            loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        seen += ids.numel()
        losses.append(loss.detach())
        if step % 200 == 0:
            mean = torch.stack(losses).mean().item()
            losses.clear()
            curve.append((step, round(mean, 4)))
            speed = seen / elapsed
            print(f"step {step} {progress:.2f} loss {mean:.4f} {speed:,.0f} tok/s", flush=True)
            if not np.isfinite(mean):
                raise SystemExit("the loss is not finite")
        if checkpoint is not None and time.monotonic() - last_saved > every:
            state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
            partial = checkpoint.with_suffix(".partial")
            torch.save({**state, "progress": (step, seen, elapsed, curve)}, partial)
            partial.rename(checkpoint)
            last_saved = time.monotonic()
    spent = spent_before + time.monotonic() - started
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    return {"steps": step, "tokens": seen, "seconds": spent, "curve": curve}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--keep", help="keep only these layers, for instance 0,2,4,6,8,11")
    parser.add_argument("--taught", type=Path, help="answers of the large verifier, for taught.npz")
    parser.add_argument("--plain", type=float, default=1.0, help="share kept of plain neutrals")
    parser.add_argument("--rounded", type=float, default=0.0, help="last share with 4-bit weights")
    parser.add_argument("--restartable", action="store_true", help="save a checkpoint now and then")
    parser.add_argument("--out", required=True)
    parser.add_argument("--pairs", nargs="*", default=[])
    parser.add_argument("--shares", nargs="*", type=float, default=[], help="part of each file")
    parser.add_argument("--start", help="continue from this trained student instead of the base")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--tokens", type=int, default=24576)
    parser.add_argument("--most", type=int, default=256, help="pairs in a batch")
    parser.add_argument("--rate", type=float, default=6e-5)
    parser.add_argument("--dropout", type=float, default=0.1, help="0 with much data, seen once")
    parser.add_argument("--mix", type=float, default=0.5)
    parser.add_argument("--limit", type=int, default=512)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--prepare", action="store_true", help="only encode the pairs")
    parser.add_argument("--no-compile", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    encoder = B.pair_encoder(options.work / TOKENIZER, options.limit)
    parts = []
    for number, name in enumerate(options.pairs):
        part = B.encode_file(options.work / name, TOKENIZER, encoder)
        share = options.shares[number] if number < len(options.shares) else 1.0
        parts.append(part.sample(share, options.seed) if share < 1 else part)
    if options.taught:
        pairs = options.work / "taught.npz"
        parts.append(T.load(pairs, options.taught, options.plain, options.seed))
    data = B.joined(parts)
    print(f"{len(data):,} pairs, {len(data.ids):,} tokens", flush=True)
    if options.prepare:
        return
    kept = tuple(map(int, options.keep.split(","))) if options.keep else None
    torch.manual_seed(0)  # the same head in every run, so that runs can be averaged
    if options.start:
        model = Encoder.load(options.work / options.start, dropout=options.dropout, layers=kept)
    else:
        model = from_base(options.work / TOKENIZER, layers=kept)
    torch.manual_seed(options.seed)
    (options.work / options.out).mkdir(exist_ok=True)
    outcome = train(
        model, data, seconds=options.seconds, steps=options.steps, tokens=options.tokens,
        most=options.most, peak=options.rate, mix=options.mix, seed=options.seed,
        device=options.device,
        compile_layers=not options.no_compile,
        rounded=options.rounded,
        checkpoint=options.work / options.out / "checkpoint.pt" if options.restartable else None,
    )  # fmt: skip
    save(model, options.work / options.out, outcome, options)


if __name__ == "__main__":
    main()
