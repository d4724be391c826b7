"""What a piece of work takes besides time: memory at its peak, and energy.

Energy is read where the machine counts it: from the GPU through NVML and from the processor
through RAPL. RAPL counts the whole package, other people's work included, and idle power too.
Where a counter is missing, the processor's part is a model: WATTS_A_CORE for every second a
core worked for this process. `energy` names what a figure was made of.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# About what server processors draw in a core at work: 270 W / 40 cores, 280 W / 64 cores.
WATTS_A_CORE = 5.0
_RAPL = Path("/sys/class/powercap")
_MIB = 1 << 20


class Meter:
    """Measures pieces of work one after the other; `taken` is the last one's."""

    def __init__(self) -> None:
        self._gpu = _Nvml.find()
        self._rapl = _rapl_packages()
        self.taken: dict[str, Any] = {}

    @property
    def energy(self) -> str:
        processor = "RAPL" if self._rapl else f"{WATTS_A_CORE:g} W a busy core (model)"
        return f"NVML + {processor}" if self._gpu else processor

    @contextmanager
    def measured(self, rows: int) -> Iterator[None]:
        """Around work on so many rows; the joules are those of one of them."""
        _forget_peak()
        _forget_gpu_peak()
        before = self._joules()
        yield
        joules = (self._joules() - before) / max(1, rows)
        self.taken = {
            "joules": round(joules, 3),
            "energy": self.energy,
            "memory_mib": _peak_mib(),
            "gpu_memory_mib": _gpu_peak_mib(),
        }

    def _joules(self) -> float:
        total = self._gpu.joules() if self._gpu else 0.0
        if self._rapl:
            return total + sum(int(path.read_text()) for path in self._rapl) / 1e6
        spent = os.times()
        return total + WATTS_A_CORE * (
            spent.user + spent.system + spent.children_user + spent.children_system
        )


class _Nvml:
    """The driver's own library; the package of the same name would be one more to install."""

    def __init__(self, library: Any, devices: list[ctypes.c_void_p]) -> None:
        self._library = library
        self._devices = devices

    @classmethod
    def find(cls) -> _Nvml | None:
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return None
        count = ctypes.c_uint()
        if library.nvmlInit_v2() or library.nvmlDeviceGetCount_v2(ctypes.byref(count)):
            return None
        devices = []
        for number in range(count.value):
            device = ctypes.c_void_p()
            if not library.nvmlDeviceGetHandleByIndex_v2(number, ctypes.byref(device)):
                devices.append(device)
        found = cls(library, devices)
        return found if devices and found._read(devices[0]) is not None else None

    def joules(self) -> float:
        return sum((self._read(device) or 0) / 1000 for device in self._devices)

    def _read(self, device: ctypes.c_void_p) -> int | None:
        value = ctypes.c_ulonglong()
        failed = self._library.nvmlDeviceGetTotalEnergyConsumption(device, ctypes.byref(value))
        return None if failed else value.value


def _rapl_packages() -> list[Path]:
    """The counters of whole packages that may be read; their parts would count twice."""
    found = sorted(_RAPL.glob("intel-rapl:?/energy_uj"))
    return [path for path in found if os.access(path, os.R_OK)]


def _forget_peak() -> None:
    with suppress(OSError):  # where it cannot, the peak is that of the whole process
        Path("/proc/self/clear_refs").write_text("5")


def _peak_mib() -> float:
    """The most memory of the process since it was last forgotten, models included."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return round(int(line.split()[1]) / 1024, 1)
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (_MIB if sys.platform == "darwin" else 1024), 1)


def _forget_gpu_peak() -> None:
    if (cuda := _cuda()) is not None:
        cuda.reset_peak_memory_stats()


def _gpu_peak_mib() -> float | None:
    return None if (cuda := _cuda()) is None else round(cuda.max_memory_allocated() / _MIB, 1)


def _cuda() -> Any:
    """PyTorch's GPU side, if a method has loaded it and there is one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    return torch.cuda
