"""Train a student on claims with several windows each (`training.base.bags`).

    python -m training.base.train_bags WORK --start round4 --taught WORK/labels --out base \\
        --seconds 420

The support of a claim is the greatest P(E) x (1 - P(C)) of its windows, as in `halldetect.scoring`.
Its contradiction is the greatest P(C) of the pages and of the short windows, averaged. The targets
of both come from the label and the answer for the whole source. A window that is the whole source
also learns the three-way answer.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.base.bags import STEP, Bags
from training.base.encoder import Encoder
from training.base.rounded import RoundedWeights

SCALES = 2  # pages and short windows
LEAST = 1e-4  # the least distance of a probability from 0 and 1


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


def answers_in(folder: Path, count: int) -> np.ndarray:
    """Return the answers of the large verifier for `count` claims; NaN without an answer."""
    found = np.full((count, 3), np.nan, np.float32)
    for part in sorted(folder.glob("labels_*.npz")):
        if not part.name.endswith(".partial.npz"):
            with np.load(part) as given:
                found[int(given["first"]) : int(given["last"])] = given["probabilities"]
    found /= found.sum(1, keepdims=True)  # they were stored in 16 bits
    return found


@dataclass
class Known:
    """The targets of claims: support and contradiction, with their weights."""

    support: np.ndarray
    contradiction: np.ndarray
    weighs: np.ndarray
    answers: np.ndarray  # of the large verifier; NaN without an answer


def known(labels: np.ndarray, folder: Path, mix: float) -> Known:
    """Return labels (`bags.CODES`) and answers of the large verifier as targets.

    `folder` may hold answers for some claims only; `mix` is the weight of an answer if the claim
    also has a label.
    """
    return known_of(labels, answers_in(folder, len(labels)), mix)


def known_of(labels: np.ndarray, answers: np.ndarray, mix: float) -> Known:
    """Return labels and answers (NaN without one) as targets; see `known`."""
    asked = ~np.isnan(answers[:, 0])
    gold = labels < 4
    share = np.where(asked, np.where(gold, mix, 1.0), 0.0)
    given = np.nan_to_num(answers)
    support = (1 - share) * (labels == 0) + share * given[:, 0]
    # A label that only excludes entailment does not cover contradiction: the answer counts there.
    open_label = (labels == 3) | ~gold
    share = np.where(open_label, asked.astype(float), share)
    contradiction = (1 - share) * (labels == 2) + share * given[:, 2]
    return Known(
        support.astype(np.float32),
        contradiction.astype(np.float32),
        np.where(open_label & ~asked, 0.0, 1.0).astype(np.float32),
        answers,
    )


@dataclass
class Batch:
    """Claims with their pairs: blocks of similar length, and the claim of each pair."""

    claims: Tensor
    bag: Tensor  # per pair, the index of its claim in `claims`
    scales: Tensor
    whole: Tensor
    blocks: list[tuple[Tensor, Tensor]]

    def to(self, device: str) -> Batch:
        """Return the batch on a device."""

        def move(item: Tensor) -> Tensor:
            return item.to(device, non_blocking=True)

        return Batch(
            move(self.claims),
            move(self.bag),
            move(self.scales),
            move(self.whole),
            [(move(ids), move(mask)) for ids, mask in self.blocks],
        )


def made(bags: Bags, claims: np.ndarray, block: int, pad: int, pin: bool) -> Batch:
    """Return the batch of some claims, with pairs sorted by length and cut into blocks."""
    pairs = np.concatenate([np.arange(bags.first[at], bags.first[at + 1]) for at in claims])
    bag = np.repeat(np.arange(len(claims)), bags.first[claims + 1] - bags.first[claims])
    order = np.argsort(bags.lengths[pairs], kind="stable")
    pairs, bag = pairs[order], bag[order]
    widths = (STEP * -(-bags.lengths[pairs] // STEP)).tolist()
    blocks, start = [], 0
    while start < len(pairs):
        stop = start + 1
        while stop < len(pairs) and widths[stop] * (stop + 1 - start) <= block:
            stop += 1
        blocks.append(bags.padded(pairs[start:stop], pad))
        start = stop
    batch = Batch(
        torch.from_numpy(claims),
        torch.from_numpy(bag),
        torch.from_numpy(bags.scales[pairs].astype(np.int64)),
        torch.from_numpy(bags.whole[pairs]),
        blocks,
    )
    if pin:
        batch.blocks = [(ids.pin_memory(), mask.pin_memory()) for ids, mask in batch.blocks]
    return batch


def endless(
    bags: Bags, usable: np.ndarray, tokens: int, block: int, pad: int, device: str, seed: int
) -> Iterator[Batch]:
    """Yield batches of about `tokens` tokens without end, built by threads."""
    sizes = bags.offsets[bags.first[1:]] - bags.offsets[bags.first[:-1]]

    def claims() -> Iterator[np.ndarray]:
        epoch = 0
        while True:
            order = np.random.default_rng([seed, epoch]).permutation(usable)
            ends = np.cumsum(sizes[order]) // tokens
            yield from np.split(order, np.flatnonzero(np.diff(ends)) + 1)
            epoch += 1

    with ThreadPoolExecutor(6) as pool:
        waiting: list[Any] = []
        for chosen in claims():
            waiting.append(pool.submit(made, bags, chosen, block, pad, device == "cuda"))
            if len(waiting) >= 18:
                yield waiting.pop(0).result().to(device)


def log_one_minus_exp(x: Tensor) -> Tensor:
    """Return log(1 - e^x) for negative x, exact near both ends."""
    x = x.clamp(max=-1e-7)
    return torch.where(x > -0.6931, torch.log(-torch.expm1(x)), torch.log1p(-torch.exp(x)))


def greatest(values: Tensor, bag: Tensor, count: int, floor: float) -> Tensor:
    """Return the greatest value of each bag."""
    start = values.new_full((count,), floor)
    return start.scatter_reduce(0, bag, values, "amax")


def bag_losses(
    logits: Tensor, batch: Batch, support: Tensor, contradiction: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the losses of support and contradiction for each claim."""
    log = functional.log_softmax(logits.float(), dim=-1)
    count = len(batch.claims)
    pairs = log[:, 0] + torch.logaddexp(log[:, 0], log[:, 1])
    best = greatest(pairs, batch.bag, count, -50.0)
    first = -(support * best + (1 - support) * log_one_minus_exp(best))
    denied = log[:, 2].exp()
    total, scales = torch.zeros_like(support), torch.zeros_like(support)
    for bit in range(SCALES):
        here = (batch.scales >> bit & 1).bool()
        most = greatest(denied[here], batch.bag[here], count, -1.0)
        there = most >= 0
        total = total + torch.where(there, most, 0.0)
        scales = scales + there
    said = (total / scales.clamp(min=1)).clamp(LEAST, 1 - LEAST)
    second = functional.binary_cross_entropy(said, contradiction, reduction="none")
    return first, second


def train(
    model: Encoder,
    bags: Bags,
    targets: Known,
    options: argparse.Namespace,
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
        for item in (
            targets.support, targets.contradiction, targets.weighs, targets.answers, bags.labels,
        )
    )  # fmt: skip
    usable = np.flatnonzero((bags.labels < 4) | ~np.isnan(targets.answers[:, 0]))
    step = seen = 0
    sums = torch.zeros(3, device=device)
    curve = []
    started = time.monotonic()
    stream = endless(
        bags, usable, options.tokens, options.block, model.shape.pad, device, options.seed
    )
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
            parts = torch.stack(
                [
                    first.mean(),
                    (second * weighs[at]).mean(),
                    third.sum() / len(at),
                ]
            )
            loss = parts[0] + options.contradiction * parts[1] + options.whole * parts[2]
            loss.backward()
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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--start", required=True, help="the student to start from")
    parser.add_argument("--taught", type=Path, required=True, help="answers of the large verifier")
    parser.add_argument("--out", required=True)
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--steps", type=int, default=1000, help="without --seconds")
    parser.add_argument("--tokens", type=int, default=49_152, help="of a step")
    parser.add_argument("--block", type=int, default=16_384, help="tokens of a forward pass")
    parser.add_argument("--rate", type=float, default=4e-5)
    parser.add_argument("--dropout", type=float, default=0.05)
    parser.add_argument("--mix", type=float, default=0.5)
    parser.add_argument("--contradiction", type=float, default=0.5, help="weight of its loss")
    parser.add_argument("--whole", type=float, default=0.5, help="weight of the three-way loss")
    parser.add_argument("--rounded", type=float, default=0.5, help="last share with 4-bit weights")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=200, help="steps between two lines")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--no-compile", action="store_true")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    bags = Bags.load(options.work / "bags.npz")
    stated = options.taught / "claims.sha256"
    if stated.is_file() and stated.read_text().split()[0] != str(bags.digest):
        raise SystemExit(f"the answers in {options.taught} were given to other claims")
    targets = known(bags.labels, options.taught, options.mix)
    answered = int((~np.isnan(targets.answers[:, 0])).sum())
    if not answered:
        raise SystemExit(f"{options.taught} holds no answers of the large verifier")
    print(
        f"{len(bags.labels):,} claims, {len(bags.lengths):,} pairs, {len(bags.ids):,} tokens, "
        f"{answered:,} answers",
        flush=True,
    )
    model = Encoder.load(options.work / options.start, dropout=options.dropout)
    torch.manual_seed(options.seed)
    (options.work / options.out).mkdir(exist_ok=True)
    outcome = train(model, bags, targets, options)
    save(model, options.work / options.out, outcome, options)


if __name__ == "__main__":
    main()
