"""The measurements of long load: growth, and bounds that are passed."""

from __future__ import annotations

import json

from benchmarks.soak import SIZES, growth, problems
from benchmarks.store import RESULTS


def test_growth_is_seen_and_noise_is_not() -> None:
    steady = [{**dict.fromkeys(SIZES, 100 + at % 2), "seconds": at} for at in range(100)]
    assert set(growth(steady).values()) == {0.0}
    leaking = [{**item, "http_files": at} for at, item in enumerate(steady)]
    assert growth(leaking)["http_files"] == 60.0
    assert growth([]) == {}


def test_a_passed_bound_in_long_load_is_reported() -> None:
    result = json.loads((RESULTS / "soak.json").read_text())
    assert problems(result) == []
    worse = json.loads(json.dumps(result))
    worse["samples"][3]["worker_mb"] = 9000
    worse["samples"][5]["queued"] = 1000
    worse["growth_second_half"]["http_files"] = 30
    worse["after"]["queued"] = 2
    worse["statuses"]["refused"]["500"] = 4
    worse["answers_mixed_up"] = 1
    worse["faults"] = {"two_servers": {"problems": ["report 7 is not seen"]}}
    worse["works_after"] = False
    assert [line.split(":")[0].split(" ")[0] for line in problems(worse)] == [
        "worker_mb",
        "queued",
        "http_files",
        "queued",
        "refused",
        "1",
        "two_servers",
        "no",
    ]
