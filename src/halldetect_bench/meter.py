"""Measure the cost of work besides time: peak memory and energy.

Energy is read from the GPU through NVML (nvidia-ml-py) and from the processor through RAPL. RAPL
counts the whole processor package, including other processes and idle power. Without RAPL only the
GPU's energy is given. Without a GPU either, the energy is estimated: WATTS_PER_CORE for every
second that a core worked for this process (psutil). `Meter.energy` names the origin of a figure.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from halldetect.errors import MissingExtra

# Typical power of a busy server core: 270 W / 40 cores, 280 W / 64 cores.
WATTS_PER_CORE = 5.0
_RAPL = Path("/sys/class/powercap")
_MIB = 1 << 20


class Meter:
    """Measures pieces of work one at a time; `last` holds the latest measurement."""

    def __init__(self) -> None:
        try:
            import psutil
        except ImportError as error:
            raise MissingExtra("measuring energy and memory", "bench") from error
        self._process = psutil.Process()
        self._gpu = GpuEnergy.find()
        self._rapl = _rapl_packages()
        self.last: dict[str, Any] = {}

    @property
    def energy(self) -> str:
        """The origin of the joules; result files hold this text."""
        if self._rapl:
            return "NVML + RAPL" if self._gpu else "RAPL"
        return "NVML (GPU only)" if self._gpu else f"{WATTS_PER_CORE:g} W a busy core (model)"

    @contextmanager
    def measure(self, rows: int) -> Iterator[None]:
        """Measure the work inside the `with` block; the joules are divided by `rows`."""
        _reset_peak()
        _reset_gpu_peak()
        before = self._joules()
        yield
        joules = (self._joules() - before) / max(1, rows)
        self.last = {
            "joules": round(joules, 3),
            "energy": self.energy,
            "memory_mib": round(self._peak_bytes() / _MIB, 1),
            "gpu_memory_mib": _gpu_peak_mib(),
        }

    def _joules(self) -> float:
        total = self._gpu.joules() if self._gpu else 0.0
        if self._rapl:
            return total + sum(int(path.read_text()) for path in self._rapl) / 1e6
        if self._gpu:
            return total
        times = self._process.cpu_times()
        worked: float = times.user + times.system + times.children_user + times.children_system
        return WATTS_PER_CORE * worked

    def _peak_bytes(self) -> int:
        """Return the peak memory since `_reset_peak`, models included.

        psutil does not read Linux's resettable peak. Elsewhere the figure is the peak of the
        whole process (Windows) or the memory at the end of the work (macOS).
        """
        with suppress(OSError):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        memory = self._process.memory_info()
        return int(getattr(memory, "peak_wset", memory.rss))


class GpuEnergy:
    """The energy counters of all NVIDIA GPUs.

    Args:
        nvml: the module pynvml, initialised.
        devices: the handles of the GPUs.
    """

    def __init__(self, nvml: Any, devices: list[Any]) -> None:
        self._nvml = nvml
        self._devices = devices

    @classmethod
    def find(cls) -> GpuEnergy | None:
        """Return the GPUs of this machine; None without a GPU that counts energy."""
        try:
            import pynvml
        except ImportError as error:
            raise MissingExtra("measuring energy and memory", "bench") from error
        try:
            pynvml.nvmlInit()
            count = pynvml.nvmlDeviceGetCount()
            found = cls(pynvml, [pynvml.nvmlDeviceGetHandleByIndex(at) for at in range(count)])
            found.joules()
        except pynvml.NVMLError:
            return None
        return found if count else None

    def joules(self) -> float:
        """Return the energy since the driver was loaded, summed over the GPUs."""
        counters = map(self._nvml.nvmlDeviceGetTotalEnergyConsumption, self._devices)
        return float(sum(counters)) / 1000


def _rapl_packages() -> list[Path]:
    """Return the readable counters of whole packages, without those of their parts."""
    found = sorted(_RAPL.glob("intel-rapl:?/energy_uj"))
    return [path for path in found if os.access(path, os.R_OK)]


def _reset_peak() -> None:
    with suppress(OSError):  # if not allowed, the peak is that of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def _reset_gpu_peak() -> None:
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()


def _gpu_peak_mib() -> float | None:
    return None if (cuda := _cuda()) is None else round(cuda.max_memory_allocated() / _MIB, 1)


def _cuda() -> Any:
    """Return torch.cuda if a method has loaded PyTorch and uses a GPU, else None."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    return torch.cuda
