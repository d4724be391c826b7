"""Measure the rows per second of `halldetect batch`, locally and on Ray.

    python -m benchmarks.batch [--rows N]

`flat` of the stored file (a million rows) is by `git show 8f198c5:benchmarks/batch.py`; runs over
several nodes and on a GPU are measured by `git show 8c7e2b4:benchmarks/batch.py`.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.store import base_weights, command, processor, store, stored
from halldetect import Detector, __version__
from halldetect.batch.job import Job
from halldetect.batch.local import run_local, run_settings
from halldetect.batch.ray import Cluster, run_on_ray
from halldetect.verification.verifiers.onnx import physical_cores

PLACES = ("Arlen", "Brook", "Corve", "Dunmore", "Eskdale", "Farrow", "Glen Ashby", "Holme")
THINGS = ("ferry", "library", "quarry", "mill", "school", "bridge", "market", "tower")
FACTS = (
    "The {thing} of {place} opened in {year}.",
    "It was paid for by {count} families of the valley.",
    "A fire in {later} destroyed the roof and the records of the first years.",
    "Since then the town council has looked after the building.",
    "About {many} people visit it in a good summer.",
    "Its oldest part is a wall of grey stone on the northern side.",
    "In {latest} a new door was cut into that wall.",
    "The keeper lives in a small house across the road.",
    "On market days the yard is open until nine in the evening.",
    "Two plans to sell it were turned down, the second by {count} votes.",
)


def made_rows(count: int, sentences: int, said: int = 2) -> list[dict[str, Any]]:
    """Return distinct rows; every third response has a wrong fact."""
    rows = []
    for n in range(count):
        facts: dict[str, Any] = {
            "place": PLACES[n % len(PLACES)],
            "thing": THINGS[n // len(PLACES) % len(THINGS)],
            "year": 1600 + n % 200,
            "later": 1810 + n % 50,
            "latest": 1900 + n % 90,
            "count": 20 + n % 500,
            "many": 1000 + 7 * n,
        }
        wrong = {**facts, "year": facts["year"] + 60, "many": facts["many"] * 3}
        source = [FACTS[at % len(FACTS)].format(**facts) for at in range(sentences)]
        first = FACTS[0].format(**(wrong if n % 3 == 0 else facts))
        second = FACTS[min(sentences - 1, 4)].format(**facts)
        response = f"{first} {second}" if said == 2 else first
        text = " ".join(dict.fromkeys(source))
        rows.append({"id": n, "source": text, "response": response, "third": n % 3})
    return rows


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    """Write rows as JSON lines, and return the path."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return str(path)


def measured(work: Callable[[], Any], rows: int) -> dict[str, Any]:
    """Run the work, and return rates and processor use."""
    wall, used = time.perf_counter(), time.process_time()
    work()
    wall, used = time.perf_counter() - wall, time.process_time() - used
    return {
        "rows": rows,
        "wall_seconds": round(wall, 2),
        "rows_a_second": round(rows / wall, 2),
        "rows_a_cpu_second": round(rows / used, 2),
        "cpus_used": round(used / wall, 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


def throughput(folder: Path, rows: int) -> dict[str, Any]:
    """Measure rows per second, locally and on Ray."""
    found: dict[str, Any] = {}
    short = write_rows(folder / "short.jsonl", made_rows(rows, 4))
    typical = write_rows(folder / "typical.jsonl", made_rows(rows, 10))
    for name, source, threads in (
        ("local, short, 1 thread", short, 1),
        ("local, short, all threads", short, None),
        ("local, typical, all threads", typical, None),
    ):
        detector = Detector(threads=threads)
        run_settings(detector)
        out = folder / f"{len(found)}.jsonl"
        found[name] = measured(partial(run_local, detector, Job(source, str(out))), rows)
    for name in ("local, short, filling the cache", "local, short, from the cache"):
        out = folder / f"{len(found)}.jsonl"
        job = Job(short, str(out), cache=str(folder / "kept"))
        found[name] = measured(partial(run_local, detector, job), rows)
    for workers in (1, 2):
        found[f"ray, short, {workers} workers"] = on_ray(folder, short, workers, rows)
    return found


def on_ray(folder: Path, source: str, workers: int, rows: int) -> dict[str, Any]:
    """Measure a run on Ray, without the start of Ray and of the models."""
    detector = Detector()
    one = write_rows(folder / "one.jsonl", made_rows(1, 4))
    cluster = Cluster(workers=workers, part_rows=max(rows // (12 * workers), 1))
    seconds = []
    for name, given in (("cold", one), ("start", one), ("all", source)):
        job = Job(given, str(folder / f"ray-{workers}-{name}.jsonl"), in_parts=True)
        began = time.perf_counter()
        run_on_ray(detector, job, cluster)
        seconds.append(time.perf_counter() - began)
    _, start, whole = seconds
    return {
        "rows": rows,
        "start_seconds": round(start, 2),
        "wall_seconds": round(whole, 2),
        "rows_a_second": round(rows / (whole - start), 2),
        "load_average": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    """Measure, and store the results."""
    parser = command(__doc__, "batch.json")
    parser.add_argument("--rows", type=int, default=96)
    arguments = parser.parse_args()
    kept = stored(arguments.out)
    with tempfile.TemporaryDirectory() as folder:
        kept["throughput"] = throughput(Path(folder), arguments.rows)
    kept.setdefault("machines", {})["throughput"] = {
        "processor": processor(),
        "cores": physical_cores(),
        "python": platform.python_version(),
        "halldetect": __version__,
        "weights": base_weights(),
    }
    store(arguments.out, kept)
    print(json.dumps(kept["throughput"], indent=1))


if __name__ == "__main__":
    main()
