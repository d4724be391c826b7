"""Measure the energy of work: of GPUs through NVML (nvidia-ml-py), of the processor through RAPL.

RAPL counts the whole processor package, including other processes and idle power. A machine without
either counter gives no figure.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from halldetect.errors import MissingExtra

_RAPL = Path("/sys/class/powercap")
# Returns the joules since some moment in the past.
Counter = Callable[[], float]


class Meter:
    """Measures pieces of work one at a time; `last` holds the latest measurement, if any."""

    def __init__(self) -> None:
        gpu, processor = gpu_counters(), rapl_counters()
        self._counters = [*gpu, *processor]
        # The origin of the joules; result files hold this text.
        self.energy = "NVML + RAPL" if gpu else "RAPL"
        if not processor:
            self.energy = "NVML (GPU only)"
        self.last: dict[str, Any] = {}

    @contextmanager
    def measure(self, rows: int) -> Iterator[None]:
        """Measure the work inside the `with` block; the joules are divided by `rows`."""
        before = self._joules()
        yield
        joules = (self._joules() - before) / max(1, rows)
        if self._counters:
            self.last = {"joules": round(joules, 3), "energy": self.energy}

    def _joules(self) -> float:
        return sum(counter() for counter in self._counters)


def gpu_counters() -> list[Counter]:
    """Return the energy counters of all NVIDIA GPUs; none if a GPU does not count energy."""
    try:
        import pynvml
    except ImportError as error:
        raise MissingExtra("measuring energy", "bench") from error

    def joules(device: Any) -> float:
        return float(pynvml.nvmlDeviceGetTotalEnergyConsumption(device)) / 1000

    try:
        pynvml.nvmlInit()
        devices = map(pynvml.nvmlDeviceGetHandleByIndex, range(pynvml.nvmlDeviceGetCount()))
        found = [partial(joules, device) for device in devices]
        for counter in found:
            counter()
    except pynvml.NVMLError:
        return []
    return [*found]


def rapl_counters() -> list[Counter]:
    """Return the readable counters of whole packages, without those of their parts."""
    found = sorted(_RAPL.glob("intel-rapl:?/energy_uj"))
    return [partial(_read_joules, path) for path in found if os.access(path, os.R_OK)]


def _read_joules(path: Path) -> float:
    return int(path.read_text()) / 1e6
