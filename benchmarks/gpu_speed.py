"""How fast the verifier is on a GPU, and what share of the chip's matrix peak it reaches.

    python -m benchmarks.gpu_speed WORK --model base

WORK holds the trained model (`base/`), `mpnet/tokenizer.json` and what
`training.base.evaluate prepare` wrote. Needs torch, numpy, safetensors, tokenizers.

Three things are timed in one run: a large bf16 product (the measured peak), full batches of
one length through each way of computing attention, and the claim x window pairs of
QAGS-CNN/DM, every one of them, through the fastest way. The arithmetic counted is that of
the products of the layers and of attention, for real tokens only, without padding.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.base.encoder import Encoder, Layer

RESULTS = Path(__file__).parent / "results" / "gpu.json"
Attend = Callable[[Tensor, Tensor, Tensor], Tensor]
LENGTHS = (64, 128, 256, 512)
BATCH_TOKENS = 131_072


@dataclass(frozen=True)
class Timing:
    """The speed of one way to compute attention at one length."""

    way: str
    length: int
    rows: int
    tokens_per_second: int
    tflops: float
    share_of_peak: float
    largest_logit_error: float


class Ways:
    """The same network with attention computed in different ways.

    The relative position bias depends on the length alone, so rows of one length can share it;
    a mask for padding makes it one bias per row, `batch` times as much memory to read.
    """

    def __init__(self, model: Encoder, dtype: torch.dtype = torch.bfloat16) -> None:
        self.model = model
        self.dtype = dtype  # that of attention

    def table(self, length: int) -> Tensor:
        """(heads, length, length), or zeros for a network without relative positions."""
        device = self.model.words.weight.device
        steps = torch.arange(length, device=device)
        if self.model.distance is None:
            return torch.zeros(1, length, length, device=device, dtype=self.dtype)
        buckets = self.model._bucket(steps[None, :] - steps[:, None])
        return self.model.distance(buckets).permute(2, 0, 1).to(self.dtype).contiguous()

    def masked(self, mask: Tensor) -> Attend:
        """As in training: bias and padding mask in one tensor per row."""
        hidden = (1.0 - mask[:, None, None, :].to(self.dtype)) * -30000.0
        bias = hidden + self.table(mask.shape[1])[None]
        return lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    def shared(self, mask: Tensor) -> Attend:
        """One bias for all rows; right only where no row is padded."""
        bias = self.table(mask.shape[1])[None].expand(mask.shape[0], self.heads, -1, -1)
        return lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)

    @property
    def heads(self) -> int:
        """The number of attention heads."""
        return int(self.model.shape.heads)

    def flex(self, mask: Tensor) -> Attend:
        """No mask in memory: each score looks its bias up, and knows how long its row is."""
        from torch.nn.attention.flex_attention import flex_attention

        length = mask.shape[1]
        lengths = mask.sum(1).to(torch.int32)
        full = self.table(length)
        # Bias by distance: first row reversed, then the first column.
        strip = torch.cat([full[:, :, 0].flip(1), full[:, 0, 1:]], 1).contiguous()
        if strip.shape[0] == 1:
            strip = strip.expand(self.heads, -1).contiguous()

        def near(score: Tensor, b: Tensor, h: Tensor, q: Tensor, k: Tensor) -> Tensor:
            return torch.where(k < lengths[b], score + strip[h, k - q + length - 1], -30000.0)

        return lambda q, k, v: flex_attention(q, k, v, score_mod=near)

    def forward(self, ids: Tensor, attend: Attend) -> Tensor:
        """The logits of a batch, with attention computed by `attend`."""
        model = self.model
        steps = torch.arange(ids.shape[1], device=ids.device)
        first = model.shape.pad + 1 if model.shape.kind == "mpnet" else 0
        x = model.words(ids) + model.places(steps + first)
        if model.segments is not None:
            ends = (ids == model.shape.separator).long()
            x = x + model.segments((ends.cumsum(1) - ends).clamp(max=1))
        x = model.norm(x)
        for layer in model.layers:
            assert isinstance(layer, Layer)
            x = through(layer, x, attend)
        out: Tensor = model.classify(torch.tanh(model.dense(x[:, 0])))
        return out


def through(layer: Layer, x: Tensor, attend: Attend) -> Tensor:
    """The output of a layer, with attention computed by `attend`."""
    batch, length, width = x.shape
    qkv = layer.qkv(x).view(batch, length, 3, layer.heads, width // layer.heads)
    q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
    mixed = attend(q, k, v).transpose(1, 2).reshape(batch, length, width)
    x = layer.attention_norm(x + layer.out(mixed))
    out: Tensor = layer.norm(x + layer.down(functional.gelu(layer.up(x))))
    return out


@contextmanager
def backend(name: str | None) -> Iterator[None]:
    """Restrict scaled_dot_product_attention to one backend; None for the default."""
    if name is None:
        yield
        return
    from torch.nn.attention import SDPBackend, sdpa_kernel

    with sdpa_kernel(getattr(SDPBackend, name)):
        yield


# name: (how attention is computed, fused kernel asked for, compiled)
WAYS: dict[str, tuple[str, str | None, bool]] = {
    "mask a row": ("masked", None, False),
    "shared bias": ("shared", "EFFICIENT_ATTENTION", False),
    "shared bias, cudnn": ("shared", "CUDNN_ATTENTION", False),
    "mask a row, compiled": ("masked", None, True),
    "shared bias, compiled": ("shared", "EFFICIENT_ATTENTION", True),
    "shared bias, cudnn, compiled": ("shared", "CUDNN_ATTENTION", True),
    "flex, compiled": ("flex", None, True),
}
FITS_PADDING = ("mask a row", "mask a row, compiled", "flex, compiled")


def build(ways: Ways, name: str, dynamic: bool = False) -> Callable[[Tensor, Tensor], Tensor]:
    """A function of token ids and mask. Compiled once for each length, or once for all."""
    kind, kernel, compiled = WAYS[name]

    def run(ids: Tensor, mask: Tensor) -> Tensor:
        return ways.forward(ids, getattr(ways, kind)(mask))

    ready = torch.compile(run, dynamic=dynamic) if compiled else run

    def call(ids: Tensor, mask: Tensor) -> Tensor:
        with torch.inference_mode(), backend(kernel):
            return ready(ids, mask)

    return call


def flops(shape: Any, lengths: np.ndarray) -> float:
    """Of the layers' products and of attention: two for each multiplication."""
    token = 2 * shape.layers * (4 * shape.hidden**2 + 2 * shape.hidden * shape.inner)
    attention = 4 * shape.layers * shape.hidden
    return float(token * lengths.sum() + attention * (lengths.astype(np.float64) ** 2).sum())


def seconds(run: Callable[[], object], least: float = 1.0) -> float:
    """Of one call, the median of several on a warm device."""
    for _ in range(3):
        run()
    times: list[float] = []
    began = time.perf_counter()
    while time.perf_counter() - began < least or len(times) < 5:
        torch.cuda.synchronize()
        start = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def peak(device: str) -> dict[str, float]:
    """bf16 products of several sizes, in TFLOP/s, each of random numbers (zeros run faster)."""
    found = {}
    for size in (4096, 8192, 16384):
        a, b = (torch.randn(size, size, device=device, dtype=torch.bfloat16) for _ in range(2))
        found[str(size)] = round(2 * size**3 / seconds(lambda a=a, b=b: a @ b) / 1e12, 1)  # type: ignore[misc]
    return found


def full_batches(
    ways: Ways, exact: Encoder, lengths: tuple[int, ...], top: float, device: str, until: float
) -> list[Timing]:
    """Time every way at every length, until the time is up."""
    rng = torch.Generator().manual_seed(1)
    found: list[Timing] = []
    for name in WAYS:
        for length in lengths:
            if time.monotonic() > until:
                print("out of time: the rest of the ways is left out", flush=True)
                return found
            rows = BATCH_TOKENS // length
            ids = torch.randint(1000, 20000, (rows, length), generator=rng).to(device)
            mask = torch.ones_like(ids)
            run = build(ways, name)
            try:
                said = run(ids, mask)[:8].float()
                with torch.inference_mode():
                    error = (said - exact(ids[:8], mask[:8])).abs().max().item()
                spent = seconds(lambda run=run, ids=ids, mask=mask: run(ids, mask))  # type: ignore[misc]
            except Exception as problem:  # a kernel this chip or build does not have
                print(f"{name}, {length}: {str(problem).strip().splitlines()[0][:150]}", flush=True)
                break
            done = flops(ways.model.shape, np.full(rows, length)) / spent / 1e12
            pace = round(rows * length / spent)
            timing = Timing(
                name, length, rows, pace, round(done, 1), round(done / top, 3), round(error, 3)
            )
            found.append(timing)
            print(json.dumps(asdict(timing)), flush=True)
        torch._dynamo.reset()
    return found


def training_pace(work: Path, model: str, device: str, length: int = 128) -> dict[str, int]:
    """Tokens per second forward and backward, in bf16 over fp32 weights, no dropout."""
    ways = Ways(Encoder.load(work / model).to(device).train())
    ids = torch.randint(1000, 20000, (BATCH_TOKENS // 2 // length, length)).to(device)
    mask = torch.ones_like(ids)
    found = {}
    for name in FITS_PADDING:
        kind, _, compiled = WAYS[name]

        def forward(ids: Tensor, mask: Tensor, kind: str = kind) -> Tensor:
            return ways.forward(ids, getattr(ways, kind)(mask)).float().pow(2).mean()

        ready = torch.compile(forward, dynamic=False) if compiled else forward

        def step(ready: Callable[..., Tensor] = ready) -> None:
            with torch.autocast("cuda", torch.bfloat16):
                loss = ready(ids, mask)
            loss.backward()
            ways.model.zero_grad()

        try:
            found[name] = round(ids.numel() / seconds(step))
        except Exception as problem:  # as above
            print(f"training, {name}: {str(problem).strip().splitlines()[0][:150]}", flush=True)
        print("training", found, flush=True)
        torch._dynamo.reset()
    return found


def responses(ways: Ways, name: str, work: Path, top: float, device: str) -> dict[str, Any]:
    """Every claim against every window of QAGS-CNN/DM, host memory to answers."""
    from training.base import batches as B
    from training.base.evaluate import assembled, load_rows

    rows, texts, windows = load_rows(work)
    rows = [row for row in rows if row["dataset"] == "qags-cnndm"]
    tokenizer = "minilm" if ways.model.shape.kind == "bert" else "mpnet"
    data = assembled(work / tokenizer, rows, texts, windows)
    run = build(ways, name, dynamic=True)
    groups = B.batches(data, BATCH_TOKENS, None)

    def judge() -> None:
        for _, ids, mask in B.prefetched(data, groups, ways.model.shape.pad, device):
            run(ids, mask).float().cpu()

    judge()
    spent = seconds(judge, 2.0)
    padded = sum(int(B.padded(data, rows_of, 0)[0].numel()) for rows_of in groups)
    done = flops(ways.model.shape, data.lengths) / spent / 1e12
    return {
        "way": name,
        "responses": len(rows),
        "pairs": len(data),
        "tokens": int(data.lengths.sum()),
        "padding_percent": round(100 * (1 - data.lengths.sum() / padded), 1),
        "seconds": round(spent, 3),
        "responses_per_second": round(len(rows) / spent, 1),
        "tokens_per_second": round(data.lengths.sum() / spent),
        "tflops": round(done, 1),
        "share_of_peak": round(done / top, 3),
    }


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path)
    parser.add_argument("--model", default="base")
    parser.add_argument("--lengths", default=",".join(map(str, LENGTHS)))
    parser.add_argument("--seconds", type=float, default=300.0, help="for the full batches")
    parser.add_argument("--train", action="store_true", help="time forward and back too")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    device = "cuda"
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("highest")
    torch._dynamo.config.cache_size_limit = 64
    exact = Encoder.load(options.work / options.model).to(device).eval()
    ways = Ways(Encoder.load(options.work / options.model).to(device, torch.bfloat16).eval())
    products = peak(device)
    top = max(products.values())
    print("peak", products, flush=True)
    until = time.monotonic() + options.seconds
    lengths = tuple(map(int, options.lengths.split(",")))
    timings = full_batches(ways, exact, lengths, top, device, until)
    best = max(timings, key=lambda item: item.share_of_peak)
    usable = {item.way: item.tokens_per_second for item in timings if item.way in FITS_PADDING}
    qags: dict[str, Any] = {}
    for name in sorted(usable, key=lambda name: -usable[name]):
        try:
            qags = responses(ways, name, options.work, top, device)
            break
        except Exception as problem:  # not every way compiles for lengths that vary
            print(f"qags, {name}: {str(problem).strip().splitlines()[0][:150]}", flush=True)
        torch._dynamo.reset()
    result = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "model": options.model,
        "bf16_product_tflops": products,
        "best": asdict(best),
        "full_batches": [asdict(item) for item in timings],
        "qags_cnndm": qags,
    }
    if options.train:
        result["training_tokens_per_second"] = training_pace(options.work, options.model, device)
    print(json.dumps(result["best"]), json.dumps(result["qags_cnndm"]), flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
