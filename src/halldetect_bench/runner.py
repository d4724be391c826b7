"""Run a method over a dataset; a run can be stopped at any row and continued later.

Energy is that of GPUs through NVML (nvidia-ml-py) and of the processor through RAPL. RAPL counts
the whole processor package, including other processes and idle power. A machine without either
counter gives no figure.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from halldetect.errors import InputError, MissingExtra
from halldetect_bench.datasets.labelled_rows import Row
from halldetect_bench.methods.method import Method
from halldetect_bench.predictions import (
    header_of,
    open_predictions,
    prediction_of,
    row_digest,
)

_RAPL = Path("/sys/class/powercap")
# Returns the joules since some moment in the past.
Counter = Callable[[], float]
# Called with the rows done and the rows to do.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class RunOutcome:
    """The file of a run, and the numbers of new and of existing rows."""

    path: Path
    new: int
    kept: int


def sample(rows: Sequence[Row], limit: int | None, seed: int) -> list[Row]:
    """Return a random sample, in the order of the dataset; all rows if the limit is None.

    A larger sample with the same seed contains the smaller one, so that a run can be extended.
    """
    if limit is None or limit >= len(rows):
        return list(rows)
    if limit < 1:
        raise InputError(f"--limit must be at least 1, not {limit}")
    order = list(range(len(rows)))
    random.Random(seed).shuffle(order)
    return [rows[place] for place in sorted(order[:limit])]


def run(
    dataset: str,
    rows: Sequence[Row],
    method: Method,
    folder: Path,
    *,
    batch: int = 1,
    progress: Progress | None = None,
    command: str = "",
    sample: dict[str, int] | None = None,
) -> RunOutcome:
    """Score the rows of a dataset that are missing in a folder of results, and append them.

    Each call of the method gets `batch` rows. Large batches are faster on some machines, but their
    rows share the time equally, and a killed process loses the whole batch. `command` and `sample`
    are for the header; see `predictions.header_of`.
    """
    if batch < 1:
        raise InputError(f"--batch must be at least 1, not {batch}")
    header = header_of(dataset, method.description, command=command, sample=sample)
    with open_predictions(folder, header) as writer:
        todo = missing(rows, writer.done, folder / header.path)
        kept = len(rows) - len(todo)
        meter = Meter()
        for start in range(0, len(todo), batch):
            part = todo[start : start + batch]
            with meter.measure(len(part)):
                found = method.score_many(part)
            for row, scored in zip(part, found, strict=True):
                writer.append(prediction_of(row, scored, meter.last))
            if progress is not None:
                progress(start + len(part), len(todo))
    return RunOutcome(folder / header.path, len(todo), kept)


def missing(rows: Sequence[Row], done: dict[str, str], path: Path) -> list[Row]:
    """Return the rows that are not in `done`, the row digests by id; none of these may differ."""
    todo = []
    for row in rows:
        if row.id not in done:
            todo.append(row)
        elif done[row.id] != row_digest(row):
            raise InputError(
                f"{path} was made with other data: row {row.id} has changed; choose another -o"
            )
    return todo


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
