"""Energy and memory: what is read, and what is said of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from halldetect_bench import meter
from halldetect_bench.meter import WATTS_PER_CORE, Meter


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
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="Linux only")
def test_the_peak_is_of_the_last_work() -> None:
    measured = Meter()
    with measured.measure(1):
        block = bytearray(b"x") * (200 << 20)
        del block
    large = measured.last["memory_mib"]
    with measured.measure(1):
        pass
    assert measured.last["memory_mib"] < large - 100
