"""The verifier that suits this machine, from a measurement of about a second."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from halldetect.cli import demo
from halldetect.verification.presets import CASCADE, DEFAULT, LARGE, memory_needed, uses_openvino

if TYPE_CHECKING:
    from halldetect.detector import Detector

# Tokens that the verifiers read for a news summary of three sentences, and the share of responses
# that `auto` asks `large` about.
BASE_TOKENS, LARGE_TOKENS, ASKED = 700, 900, 0.3
# Products of two numbers per token. In 8 bits a processor reaches about the rate that it has in
# float32 with NumPy, and twice that with OpenVINO.
LARGE_PRODUCTS, OPENVINO_GAIN = 1.31e9, 2.0
# Most seconds that people wait for `large`, or for `auto` on average.
PATIENCE = 5.0
_MEASURED_SECONDS = 0.5


def recommended(
    base: float, large: float, *, free: int | None, needed: int, on_gpu: bool
) -> tuple[str, str]:
    """Return a verifier and the reason.

    `base` and `large` are seconds of a news summary on the processor, `free` and `needed` bytes of
    memory.
    """
    if on_gpu:
        return LARGE, "it runs on the GPU of this machine"
    if free is not None and free < needed:
        return DEFAULT, f"large needs {needed / 1e9:.1f} GB of memory, {free / 1e9:.1f} are free"
    auto = base + ASKED * large
    times = f"a news summary takes about {base:.1f} s with base, {auto:.1f} with auto on average"
    name = LARGE if large <= PATIENCE else CASCADE if auto <= PATIENCE else DEFAULT
    return name, f"{times}, {large:.1f} with large"


def advice(detector: Detector) -> tuple[str, str]:
    """Measure this machine with the default detector; return a verifier and the reason."""
    from halldetect.verification.devices import torch_device

    started = perf_counter()
    report = detector.check(demo.SOURCE, demo.RESPONSE, question=demo.QUESTION)
    base = (perf_counter() - started) * BASE_TOKENS / max(report.cost.verifier_tokens, 1)
    rate = product_rate() * (OPENVINO_GAIN if uses_openvino() else 1.0)
    large = LARGE_TOKENS * LARGE_PRODUCTS / rate
    free, needed, on_gpu = free_memory(), memory_needed(LARGE), torch_device("auto") == "cuda"
    return recommended(base, large, free=free, needed=needed, on_gpu=on_gpu)


def product_rate() -> float:
    """Return the products of two numbers per second in a matrix product of all cores."""
    import numpy as np

    left, right = np.ones((512, 1536), np.float32), np.ones((1536, 1536), np.float32)
    left @ right  # starts the threads
    started, done = perf_counter(), 0
    while perf_counter() - started < _MEASURED_SECONDS:
        left @ right
        done += left.size * right.shape[1]
    return done / (perf_counter() - started)


def free_memory() -> int | None:
    """Return the bytes that programs can still take, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = dict(line.split()[:2] for line in lines)
        return int(sizes["MemAvailable:"]) << 10
    except (OSError, KeyError, ValueError):
        return None
