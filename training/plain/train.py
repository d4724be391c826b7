"""Train a student on twins with a margin between them, mixed with bags.

    python -m training.plain.train WORK --start shipped --out plain --seconds 380

The claims are those of WORK/answers.npz (`training.plain.teach`): mined pairs and the answered
claims of the mixture. Beside the losses of `training.base.train_bags`, a right sentence must have
more support than its wrong twin: softplus(margin - difference of their log-odds).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.base.encoder import Encoder
from training.base.rounded import RoundedWeights
from training.base.train_bags import (
    Batch,
    Known,
    bag_losses,
    greatest,
    known_of,
    log_one_minus_exp,
    made,
    objective,
    optimizer_of,
    rate,
    save,
)
from training.plain import windows


def training_set(work: Path, share: float, seed: int) -> tuple[windows.Corpus, np.ndarray]:
    """Return the claims to train on with the answers of the large verifier.

    `share` is the most that mined claims may be of all tokens; the surplus is left out at random.
    """
    with np.load(work / "answers.npz") as found:
        mined, plain, mixture = found["mined"], found["plain"], found["mixture"]
    others = windows.Stored(work / "mixture.npz")
    if len(mixture) != len(others.kinds):
        raise SystemExit("the answers were given to another mixture")
    kept = np.flatnonzero(~np.isnan(mixture[:, 0]))
    first, second = windows.Stored(work / "plain_train.npz").corpus(mined), others.corpus(kept)
    room = share / (1 - share) * len(second.bags.ids)
    if len(first.bags.ids) > room:
        count = int(len(mined) // 2 * room / len(first.bags.ids))
        pairs = np.sort(np.random.default_rng(seed).permutation(len(mined) // 2)[:count])
        rows = (2 * pairs[:, None] + np.arange(2)).ravel()
        first, plain = windows.Stored(work / "plain_train.npz").corpus(mined[rows]), plain[rows]
    for name, part in (("mined", first), ("mixture", second)):
        print(f"{name}: {len(part.kinds):,} claims, {len(part.bags.ids):,} tokens", flush=True)
    return windows.Corpus.joined([first, second]), np.concatenate([plain, mixture[kept]])


def units(corpus: windows.Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Return the first claim of each unit and its number of claims: two for twins."""
    kinds = corpus.kinds
    right = (kinds != windows.NO_KIND) & (np.arange(len(kinds)) % 2 == 0)
    first = np.flatnonzero(right | (kinds == windows.NO_KIND))
    return first, np.where(right[first], 2, 1)


def batches(
    corpus: windows.Corpus, tokens: int, block: int, pad: int, device: str, seed: int
) -> Iterator[Batch]:
    """Yield batches of about `tokens` tokens without end; twins stay together."""
    bags = corpus.bags
    sizes = bags.offsets[bags.first[1:]] - bags.offsets[bags.first[:-1]]
    first, counts = units(corpus)
    weights = np.add.reduceat(sizes, first)

    def claims() -> Iterator[np.ndarray]:
        epoch = 0
        while True:
            order = np.random.default_rng([seed, epoch]).permutation(len(first))
            ends = np.cumsum(weights[order]) // tokens
            for part in np.split(order, np.flatnonzero(np.diff(ends)) + 1):
                starts = first[part]
                both = starts[counts[part] == 2]
                alone = starts[counts[part] == 1]
                # Twins come first, the right one before the wrong one.
                yield np.concatenate([np.stack([both, both + 1], 1).ravel(), alone])
            epoch += 1
            print(f"{epoch} passes", flush=True)

    with ThreadPoolExecutor(6) as pool:
        waiting: list[Any] = []
        for chosen in claims():
            waiting.append(pool.submit(made, bags, chosen, block, pad, device == "cuda"))
            if len(waiting) >= 18:
                yield waiting.pop(0).result().to(device)


def margin_loss(logits: Tensor, batch: Batch, twins: int, margin: float) -> Tensor:
    """Return the mean loss of the order of the first `twins` pairs of the batch."""
    log = functional.log_softmax(logits.float(), dim=-1)
    best = greatest(log[:, 0], batch.bag, len(batch.claims), -30.0)[: 2 * twins].clamp(max=-1e-6)
    odds = best - log_one_minus_exp(best)
    return functional.softplus(margin - (odds[::2] - odds[1::2])).mean()


def train(
    model: Encoder, corpus: windows.Corpus, targets: Known, options: argparse.Namespace
) -> dict[str, Any]:
    """Train in place for `options.seconds` or `options.steps`."""
    device = options.device
    model.to(device).train()
    if not options.no_compile:
        for layer in model.layers:
            layer.compile(dynamic=True)
    rounding = RoundedWeights(model)
    optimizer = optimizer_of(model, options.rate, device)
    support, contradiction, weighs, answers, labels = (
        torch.from_numpy(item).to(device)
        for item in (targets.support, targets.contradiction, targets.weighs, targets.answers,
                     corpus.bags.labels)
    )  # fmt: skip
    pairs = torch.from_numpy(corpus.kinds != windows.NO_KIND).to(device)
    step = seen = 0
    sums = torch.zeros(4, device=device)
    curve = []
    started = time.monotonic()
    stream = batches(
        corpus, options.tokens, options.block, model.shape.pad, device, options.seed
    )  # fmt: skip
    for batch in stream:
        elapsed = time.monotonic() - started
        progress = elapsed / options.seconds if options.seconds else step / options.steps
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = options.rate * rate(progress)
        optimizer.zero_grad(set_to_none=True)
        with rounding.applied() if progress > 1 - options.rounded else nullcontext():
            with torch.autocast(device, dtype=torch.bfloat16, enabled=device == "cuda"):
                logits = torch.cat([model(ids, mask) for ids, mask in batch.blocks])
            at = batch.claims
            first, second = bag_losses(logits, batch, support[at], contradiction[at])
            own = at[batch.bag[batch.whole]]
            third = objective(logits[batch.whole], labels[own], answers[own], options.mix)
            twins = int(pairs[at].sum()) // 2
            apart = margin_loss(logits, batch, twins, options.margin) if twins else 0 * first.sum()
            parts = torch.stack(
                [first.mean(), (second * weighs[at]).mean(), third.sum() / len(at), apart]
            )
            weights = parts.new_tensor([1, options.contradiction, options.whole, options.apart])
            (parts * weights).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        step += 1
        seen += sum(ids.numel() for ids, _ in batch.blocks)
        sums += parts.detach()
        if step % options.every == 0:
            means = [round(value, 4) for value in (sums / options.every).tolist()]
            sums.zero_()
            curve.append((step, *means))
            print(f"step {step} {progress:.2f} {means} {seen / elapsed:,.0f} tok/s", flush=True)
            if not np.isfinite(means).all():
                raise SystemExit("the loss is not finite")
    return {"steps": step, "tokens": seen, "seconds": time.monotonic() - started, "curve": curve}


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--start", required=True, help="the student to start from")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--steps", type=int, default=1000, help="without --seconds")
    parser.add_argument("--tokens", type=int, default=49_152, help="of a step")
    parser.add_argument("--block", type=int, default=24_576, help="tokens of a forward pass")
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--mix", type=float, default=0.5, help="weight of an answer beside a label")
    parser.add_argument("--contradiction", type=float, default=0.5, help="weight of its loss")
    parser.add_argument("--whole", type=float, default=0.5, help="weight of the three-way loss")
    parser.add_argument("--apart", type=float, default=0.3, help="weight of the loss between twins")
    parser.add_argument("--margin", type=float, default=3.0, help="in log-odds")
    parser.add_argument("--share", type=float, default=0.55, help="of mined claims, at most")
    parser.add_argument("--rounded", type=float, default=0.85, help="last share with 4-bit weights")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=100, help="steps between two lines")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    corpus, answers = training_set(options.work, options.share, options.seed)
    targets = known_of(corpus.bags.labels, answers, options.mix)
    model = Encoder.load(options.work / options.start, dropout=options.dropout)
    torch.manual_seed(options.seed)
    (options.work / options.out).mkdir(exist_ok=True)
    outcome = train(model, corpus, targets, options)
    save(model, options.work / options.out, outcome, options)
    print(json.dumps({"pairs": int((corpus.kinds != windows.NO_KIND).sum()) // 2}))


if __name__ == "__main__":
    main()
