"""The verifier that suits this machine, from the time of one check."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from halldetect.cli import demo
from halldetect.verification.presets import CASCADE, DEFAULT, LARGE, memory_needed, uses_openvino

if TYPE_CHECKING:
    from halldetect.detector import Detector

# Tokens that `base` reads for a news summary of three sentences, how many times as long `large`
# takes (docs/speed.md), and the share of responses that `auto` asks it about.
BASE_TOKENS, SLOWER, SLOWER_ON_OPENVINO, ASKED = 700, 44, 25, 0.3
# Most seconds that people wait for `large`, or for `auto` on average.
PATIENCE = 5.0


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
    large = base * (SLOWER_ON_OPENVINO if uses_openvino() else SLOWER)
    free, needed, on_gpu = free_memory(), memory_needed(LARGE), torch_device("auto") == "cuda"
    return recommended(base, large, free=free, needed=needed, on_gpu=on_gpu)


def free_memory() -> int | None:
    """Return the bytes that programs can still take, None where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        sizes = dict(line.split()[:2] for line in lines)
        return int(sizes["MemAvailable:"]) << 10
    except (OSError, KeyError, ValueError):
        return None
