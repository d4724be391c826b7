"""The cores of a processor, devices of PyTorch, and their out-of-memory errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from halldetect.errors import ModelError, import_extra, one_line

# Of drivers of NVIDIA, its boards, WSL and AMD. Without one, the slow import of torch is left out.
_GPU_FILES = ("/dev/nvidiactl", "/dev/nvmap", "/dev/dxg", "/dev/kfd")


def torch_device(wanted: str) -> str:
    """Return a device; "auto" is CUDA or the CPU.

    Raises MissingExtra if PyTorch is not installed, ModelError if it does not find the device.
    """
    no_gpu = sys.platform == "linux" and not any(Path(file).exists() for file in _GPU_FILES)
    if wanted == "cpu" or (wanted == "auto" and (no_gpu or find_spec("torch") is None)):
        return "cpu"
    torch = import_extra("torch", f"the device {wanted}", "hf")
    found = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if wanted == "auto":
        return "cuda" if found["cuda"] else "cpu"
    if not found.get(wanted):
        raise ModelError(f"PyTorch finds no device {wanted} on this machine; use --device cpu")
    return wanted


def on_gpu(stated: Mapping[str, Any]) -> bool:
    """Return True if the description of a verifier says that it computes on an NVIDIA GPU."""
    return "cuda" in f"{stated.get('device')} {stated.get('runtime')}"


def out_of_memory(error: RuntimeError) -> bool:
    """Return True if a device ran out of memory; only CUDA has an error type for it."""
    text = str(error).lower()
    return "out of memory" in text or "can't allocate memory" in text


def torch_failure(name: str, error: RuntimeError, device: str) -> ModelError:
    """Return the error for a model whose computation failed."""
    why = f"the model failed: {one_line(error)}"
    if out_of_memory(error):
        why = f"not enough memory on {device}, even for one pair; use --device cpu or free some"
    return ModelError(f"{name}: {why}")


def physical_cores(topology: Path = Path("/sys/devices/system/cpu")) -> int:
    """Return the number of usable cores; hardware threads of a core count once."""
    if not hasattr(os, "sched_getaffinity"):
        return os.cpu_count() or 1
    allowed = os.sched_getaffinity(0)
    try:
        siblings = {
            (topology / f"cpu{number}" / "topology" / "thread_siblings_list").read_text()
            for number in allowed
        }
    except OSError:
        return len(allowed)
    return len(siblings)
