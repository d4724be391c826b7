"""What the measurements of workers and of long load make of their notes."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.batch import worker_times
from benchmarks.soak import RESULTS, SIZES, growth, problems


def test_the_times_of_workers(tmp_path: Path) -> None:
    def note(name: str, ready: float, *slices: tuple[float, float]) -> None:
        lines = [{"ready": ready}]
        lines += [{"began": a, "ended": b, "used": 1.0, "rows": 10.0} for a, b in slices]
        (tmp_path / name).write_text("\n".join(map(json.dumps, lines)))

    note("first", 100.0, (101.0, 103.0), (103.0, 105.0), (106.0, 108.0))
    note("second", 102.0, (103.0, 105.0), (105.0, 107.0))
    found = worker_times(tmp_path)
    assert (found["rows"], found["seconds"], found["rows_a_second"]) == (50, 8.0, 6.25)
    assert found["rows_of_each"] == [30, 20]
    assert found["ready_after"] == [0.0, 2.0]
    assert found["last_row_before_the_end"] == [0.0, 1.0]
    # Both were at work from 103 to 107: two slices of the second and one of the first in it.
    assert (found["together_seconds"], found["busy_together"]) == (4.0, 0.75)
    assert found["rows_a_cpu_second"] == 10.0


def test_growth_is_seen_and_noise_is_not() -> None:
    steady = [{**dict.fromkeys(SIZES, 100 + at % 2), "seconds": at} for at in range(100)]
    assert set(growth(steady).values()) == {0.0}
    leaking = [{**item, "http_files": at} for at, item in enumerate(steady)]
    assert growth(leaking)["http_files"] == 60.0
    assert growth([]) == {}


def test_what_passes_its_bound_in_a_long_load_is_told() -> None:
    result = json.loads(RESULTS.read_text())
    assert problems(result) == []
    worse = json.loads(json.dumps(result))
    worse["samples"][3]["worker_mb"] = 9000
    worse["samples"][5]["queued"] = 1000
    worse["growth_second_half"]["http_files"] = 30
    worse["after"]["queued"] = 2
    worse["statuses"]["refused"]["500"] = 4
    worse["answers_mixed_up"] = 1
    worse["works_after"] = False
    assert [line.split(":")[0].split(" ")[0] for line in problems(worse)] == [
        "worker_mb",
        "queued",
        "http_files",
        "queued",
        "refused",
        "1",
        "no",
    ]
