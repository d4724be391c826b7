"""Energy: what is read, and what is said of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from halldetect_bench import runner
from halldetect_bench.runner import Meter


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that counts no energy."""
    monkeypatch.setattr(runner, "_RAPL", Path("/nowhere"))
    monkeypatch.setattr(runner, "gpu_counters", lambda: [])


@pytest.mark.usefixtures("bare")
def test_without_counters_there_is_no_figure() -> None:
    measured = Meter()
    with measured.measure(2):
        pass
    assert measured.last == {}


@pytest.mark.usefixtures("bare")
def test_a_counter_of_the_processor_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = tmp_path / "intel-rapl:0" / "energy_uj"
    part = tmp_path / "intel-rapl:0:0" / "energy_uj"
    for file in (counter, part):
        file.parent.mkdir()
        file.write_text("1000000\n")
    monkeypatch.setattr(runner, "_RAPL", tmp_path)
    measured = Meter()
    with measured.measure(4):
        counter.write_text("9000000\n")
        part.write_text("5000000\n")
    assert measured.last == {"joules": 2.0, "energy": "RAPL"}
    joules = iter([3.0, 5.0])
    monkeypatch.setattr(runner, "gpu_counters", lambda: [lambda: next(joules)])
    both = Meter()
    with both.measure(1):
        pass
    assert both.last == {"joules": 2.0, "energy": "NVML + RAPL"}
