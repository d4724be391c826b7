"""Energy and memory: what is read, and what is said of it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from halldetect_bench import meter
from halldetect_bench.meter import WATTS_PER_CORE, Meter
from halldetect_bench.predictions import Prediction
from halldetect_bench.stats.cost import mean_cost


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that counts no energy."""
    monkeypatch.setattr(meter, "_RAPL", Path("/nowhere"))
    monkeypatch.setattr(meter.GpuEnergy, "find", classmethod(lambda cls: None))


@pytest.mark.usefixtures("bare")
def test_without_counters_a_busy_core_has_its_watts() -> None:
    measured = Meter()
    assert measured.energy == "5 W a busy core (model)"
    start = time.process_time()
    with measured.measure(2):
        while time.process_time() - start < 0.3:
            pass
    worked = time.process_time() - start
    # The clock behind it has ticks of a hundredth of a second.
    assert measured.last["joules"] == pytest.approx(WATTS_PER_CORE * worked / 2, abs=0.15)
    assert measured.last["energy"] == measured.energy
    assert measured.last["memory_mib"] > 1


@pytest.mark.usefixtures("bare")
def test_a_counter_of_the_processor_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = tmp_path / "intel-rapl:0" / "energy_uj"
    part = tmp_path / "intel-rapl:0:0" / "energy_uj"
    for file in (counter, part):
        file.parent.mkdir()
        file.write_text("1000000\n")
    monkeypatch.setattr(meter, "_RAPL", tmp_path)
    measured = Meter()
    assert measured.energy == "RAPL"
    with measured.measure(4):
        counter.write_text("9000000\n")
        part.write_text("5000000\n")
    assert measured.last["joules"] == 2.0


@pytest.mark.usefixtures("bare")
def test_without_rapl_the_joules_are_those_of_the_gpu() -> None:
    class Gpu:
        read = 0.0

        def joules(self) -> float:
            self.read += 100
            return self.read

    measured = Meter()
    measured._gpu = Gpu()  # type: ignore[assignment]
    assert measured.energy == "NVML (GPU only)"
    with measured.measure(1):
        pass
    assert measured.last["joules"] == pytest.approx(100, abs=0.5)


class FakeNvml:
    """Two GPUs that count millijoules, or a driver that fails."""

    class NVMLError(Exception):
        pass

    def __init__(self, *, gpus: int = 2, fails: bool = False) -> None:
        self.gpus = gpus
        self.fails = fails

    def nvmlInit(self) -> None:
        if self.fails:
            raise self.NVMLError

    def nvmlDeviceGetCount(self) -> int:
        return self.gpus

    def nvmlDeviceGetHandleByIndex(self, at: int) -> int:
        return at

    def nvmlDeviceGetTotalEnergyConsumption(self, device: int) -> int:
        return 1500 * (device + 1)


@pytest.mark.parametrize(
    ("nvml", "joules"),
    [(FakeNvml(), 4.5), (FakeNvml(gpus=0), None), (FakeNvml(fails=True), None)],
)
def test_the_driver_is_asked_for_every_gpu(
    nvml: FakeNvml, joules: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", nvml)
    found = meter.GpuEnergy.find()
    assert (found and found.joules()) == joules


@pytest.mark.usefixtures("bare")
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux only")
def test_the_peak_is_that_of_the_last_piece_of_work() -> None:
    measured = Meter()
    with measured.measure(1):
        block = bytearray(b"x") * (200 << 20)
        del block
    large = measured.last["memory_mib"]
    with measured.measure(1):
        pass
    assert measured.last["memory_mib"] < large - 100


def test_costs_tell_means_and_the_greatest_memory() -> None:
    cost = {
        "generative_passes": 1, "extractor_tokens_in": 2, "extractor_tokens_out": 3,
        "pairs_judged": 4, "pairs_skipped": 5, "verifier_tokens": 6, "seconds": {"verify": 2.0},
    }  # fmt: skip
    taken = [
        {"joules": 1.0, "energy": "RAPL", "memory_mib": 10.0, "gpu_memory_mib": None},
        {"joules": 4.0, "energy": "RAPL", "memory_mib": 30.0, "gpu_memory_mib": None},
        {},
    ]
    found = mean_cost(
        [
            Prediction(str(n), "", "", None, True, None, 0.5, None, [], cost, {}, one)
            for n, one in enumerate(taken)
        ]
    )
    assert found.joules == 2.5
    assert found.counted["pairs"] == 4
    assert found.energy == "RAPL"
