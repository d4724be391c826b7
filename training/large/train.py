"""Train the low-rank maps of the large verifier on sources and their claims.

    python -m training.large.train WORK --out run1 --seconds 420

WORK holds base.gguf and train_groups.jsonl.xz. The learning rate follows the
elapsed share of the time, so that a run ends on time with a rate of zero.
WORK/run1/adapter.safetensors is rewritten regularly, and WORK/run1/log.jsonl holds a line of JSON
for every report.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.large import adapter, pack
from training.large.model import Batch, Verifier


def objective(logits: Tensor, codes: Tensor, smoothing: float) -> Tensor:
    """Return the loss of each claim, from its logits and its code of `pack`.

    A two-way label only excludes entailment: its loss is -log(P(N) + P(C)). `smoothing` is the
    share of the loss towards equal probabilities.
    """
    log = functional.log_softmax(logits.float(), dim=-1)
    named = -log.gather(1, codes.clamp(max=2).long()[:, None]).squeeze(1)
    denied = -torch.logaddexp(log[:, 1], log[:, 2])
    found = torch.where(codes == pack.DENIED, denied, named)
    return (1 - smoothing) * found - smoothing * log.mean(-1)


def rate(progress: float, step: int, warm: int) -> float:
    """Return the learning rate at a step as a share of its peak."""
    return min(1.0, (step + 1) / warm) * max(0.0, 1.0 - progress)


def endless(data: pack.Groups, kept: np.ndarray, options: argparse.Namespace) -> Iterator[Any]:
    """Yield rows of all groups, in a new order in every pass."""
    epoch = 0
    while True:
        order = np.random.default_rng([options.seed, epoch]).permutation(kept)
        stream = pack.units(data, order, options.row, options.longest)
        yield from pack.packed(stream, options.row)
        epoch += 1
        print(json.dumps({"passes": epoch}), flush=True)


def chosen(data: pack.Groups, shares: list[str], seed: int) -> np.ndarray:
    """Return the numbers of the chosen groups: NAME=SHARE draws a part of a set's groups.

    The name `*` stands for all that are not named.
    """
    share = np.ones(len(data.names))
    given = dict(entry.rsplit("=", 1) for entry in shares)
    share[:] = float(given.pop("*", 1.0))
    for name, value in given.items():
        if name not in data.names:
            raise SystemExit(f"no groups of the name {name}; there are {', '.join(data.names)}")
        share[data.names.index(name)] = float(value)
    kept = np.random.default_rng(seed).random(len(data)) < share[data.kinds]
    return np.flatnonzero(kept & (np.diff(data.first) > 0))


def judged(
    model: Verifier,
    data: pack.Groups,
    groups: np.ndarray,
    row: int,
    per_step: int,
    longest: int,
    first: int = 0,
    last: int | None = None,
) -> Tensor:
    """Return the logits of the claims `first` to `last` (NaN for other groups), float32."""
    stop = data.claims if last is None else last
    found = torch.full((stop - first, 3), float("nan"), device=model.device)
    stream = pack.packed(pack.units(data, groups, row, longest), row)
    with torch.no_grad():
        for step in pack.prefetched(data, stream, row, per_step):
            batch = pack.to_device(step, model.device, model.kind)
            found[torch.from_numpy(step.claims - first).to(model.device)] = model(batch)
    return found.cpu()


def step_of(
    model: Verifier, rows: pack.Packed, tensors: dict[str, Tensor], options: argparse.Namespace
) -> Tensor:
    """Compute the gradients of one step and return its loss."""
    batch: Batch = pack.to_device(rows, model.device, model.kind)
    logits = model(batch, train=True)
    index = torch.from_numpy(rows.claims).to(model.device)
    codes, weights = tensors["codes"][index], tensors["weights"][index]
    each = objective(logits, codes, options.smoothing)
    loss = (each * weights).sum() / weights.sum().clamp(min=1e-6)
    loss.backward()
    return loss.detach()


def train(model: Verifier, data: pack.Groups, options: argparse.Namespace) -> None:
    """Train in place and write WORK/OUT."""
    out: Path = options.work / options.out
    out.mkdir(parents=True, exist_ok=True)
    log = (out / "log.jsonl").open("a", encoding="utf-8")
    start = time.monotonic()

    def say(**values: Any) -> None:
        line = json.dumps({"elapsed": round(time.monotonic() - start, 1), **values})
        print(line, flush=True)
        log.write(line + "\n")
        log.flush()

    tensors = {
        "codes": torch.from_numpy(data.codes.astype(np.int64)).to(options.device),
        "weights": torch.from_numpy(data.weights).to(options.device),
    }
    tensors["weights"][tensors["codes"] == pack.NONE] = 0.0
    kept = chosen(data, options.share, options.seed)
    say(options={name: str(value) for name, value in vars(options).items()}, groups=len(kept))
    steps = pack.prefetched(data, endless(data, kept, options), options.row, options.rows)
    rows = next(steps)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=options.rate, betas=(0.9, options.beta2),
        weight_decay=options.decay, fused=options.device == "cuda",
    )  # fmt: skip
    optimizer.zero_grad(set_to_none=True)
    step = tokens = filled = claims = 0
    losses: list[Tensor] = []
    norms: list[Tensor] = []
    ready = last = saved = time.monotonic()
    last_tokens = 0
    while True:
        elapsed = time.monotonic() - start
        progress = step / options.steps if options.steps else elapsed / options.seconds
        if progress >= 1:
            break
        for group in optimizer.param_groups:
            group["lr"] = options.rate * rate(progress, step, options.warm)
        loss = step_of(model, rows, tensors, options)
        norms.append(torch.nn.utils.clip_grad_norm_(model.parameters(), options.clip))
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        step += 1
        tokens += rows.ids.size
        filled += rows.filled
        claims += len(rows.claims)
        losses.append(loss)
        rows = next(steps)
        if step % 5 == 0:
            loss.item()  # waits for the device, for a correct time
        if step % options.every == 0 or step == 3:
            average = torch.stack(losses).mean().item()
            now = time.monotonic()
            say(
                step=step, progress=round(progress, 4), loss=round(average, 4),
                norm=round(torch.stack(norms).mean().item(), 3),
                tokens=tokens, claims=claims, padding=round(1 - filled / tokens, 4),
                tokens_per_second=round((tokens - last_tokens) / (now - last)),
                gigabytes=round(torch.cuda.max_memory_allocated() / 1e9, 1)
                if options.device == "cuda" else 0,
                graphs=torch._dynamo.utils.counters["stats"]["unique_graphs"],
            )  # fmt: skip
            losses.clear()
            norms.clear()
            last, last_tokens = now, tokens
            if not np.isfinite(average):
                raise SystemExit("the loss is not finite; the last adapter saved is kept")
        if time.monotonic() - saved > options.save_every:
            adapter.write(out / "adapter.safetensors", model.state())
            saved = time.monotonic()
    say(step=step, tokens=tokens, seconds=round(time.monotonic() - ready, 1), done=True)
    adapter.write(out / "adapter.safetensors", model.state())
    log.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("work", type=Path)
    parser.add_argument("--out", required=True, help="folder in WORK for the adapter and the log")
    parser.add_argument("--train", default="train_groups.jsonl.xz")
    parser.add_argument("--share", action="append", default=[], metavar="NAME=SHARE")
    parser.add_argument("--start", type=Path, help="an adapter to go on from")
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--warm", type=int, default=40, help="steps of rising learning rate")
    parser.add_argument("--seconds", type=float, default=420.0)
    parser.add_argument("--steps", type=int, help="a schedule by steps instead of seconds")
    parser.add_argument("--row", type=int, default=16384, help="tokens of a row")
    parser.add_argument("--rows", type=int, default=2, help="rows of a step")
    parser.add_argument("--longest", type=int, default=1536, help="tokens of a source")
    parser.add_argument("--smoothing", type=float, default=0.0)
    parser.add_argument("--decay", type=float, default=0.01)
    parser.add_argument("--beta2", type=float, default=0.98)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", type=int, default=20, help="steps between reports")
    parser.add_argument("--save-every", type=float, default=90.0, help="seconds")
    parser.add_argument("--device", default="cuda")
    options = parser.parse_args()
    torch.set_float32_matmul_precision("high")
    torch.manual_seed(options.seed)
    model = Verifier(options.work / "base.gguf", device=options.device, rank=options.rank)
    if options.start is not None:
        model.load(adapter.read(options.start), rank=options.rank)
    data = pack.load(options.work / options.train, options.work / "base.gguf")
    train(model, data, options)


if __name__ == "__main__":
    main()
