"""Measure the speed of `halldetect batch`, locally, on Ray and on a GPU.

    python -m benchmarks.batch [throughput|nodes] [--rows N]
    python -m benchmarks.batch gpu --rows 2000 --data DATASETS --verifier large|hf:FOLDER

`gpu` needs one; it checks rows of seven public sets with explanations, and then asks the verifier
alone the same questions. hf:FOLDER is `base`, by `training.base.to_hf`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import zip_longest
from pathlib import Path
from typing import Any

from benchmarks.store import base_weights, command, processor, store, stored
from benchmarks.verifiers import add_verifier_options, verifier_of
from halldetect import Detector, __version__
from halldetect.batch.job import Job
from halldetect.batch.local import run_local, run_settings
from halldetect.batch.ray import Cluster, run_on_ray
from halldetect.machine.devices import physical_cores
from halldetect.verification.presets import HUB
from halldetect_bench.predictions import portable
from halldetect_bench.registry import load_dataset

NODES = (1, 2, 4)  # the first is what the others are compared with
MIXED = (
    "summedits", "ragtruth-selection-qa", "ragtruth-selection-data2txt", "wice",
    "ragtruth-selection-summary", "summeval", "qags-cnndm",
)  # fmt: skip
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


def nodes(folder: Path, rows: int) -> dict[str, Any]:
    """Measure local Ray nodes of one core each, and what of linear growth they reach."""
    os.environ.setdefault("RAY_worker_niceness", "0")  # as on a cluster for halldetect
    from ray.cluster_utils import Cluster as LocalNodes

    source = write_rows(folder / "typical.jsonl", made_rows(rows, 10))
    found: dict[str, Any] = {}
    for count in NODES:
        local = LocalNodes()
        for _ in range(count):
            local.add_node(num_cpus=1, include_dashboard=False)
        local.wait_for_nodes()
        one = found[f"{count} nodes"] = on_ray(folder, source, count, rows, local.address)
        local.shutdown()
        rate = found[f"{NODES[0]} nodes"]["rows_a_second"]
        one["of_linear"] = round(one["rows_a_second"] / rate / count, 3)
    return found


def on_ray(
    folder: Path, source: str, workers: int, rows: int, address: str | None = None
) -> dict[str, Any]:
    """Measure a run on Ray, without the start of Ray and of the models."""
    detector = Detector()
    one = write_rows(folder / "one.jsonl", made_rows(1, 4))
    cluster = Cluster(address, workers, part_rows=max(rows // (12 * workers), 1))
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


def on_gpu(folder: Path, rows: int, options: argparse.Namespace) -> dict[str, Any]:
    """Measure rows of several sets in turn, and the verifier alone on the same questions."""
    loaded = (load_dataset(name, options.data).rows for name in MIXED)
    mixed = [row for group in zip_longest(*loaded) for row in group if row is not None][:rows]
    given = [{"id": f"{row.dataset}/{row.id}", "source": row.source, "response": row.response}
             for row in mixed]  # fmt: skip
    verifier: Any = verifier_of(options)
    compute = verifier.compute
    asked: list[Any] = []

    def record(items: Sequence[Any]) -> Any:
        asked.extend(items)
        return compute(items)

    verifier.compute = record
    detector = Detector(verifier)
    for name, part in (("warm", given[:64]), ("all", given)):
        asked.clear()
        job = Job(write_rows(folder / f"{name}.jsonl", part), str(folder / f"{name}-out.jsonl"))
        found = measured(partial(run_local, detector, job), len(part))
    began = time.perf_counter()
    for at in range(0, len(asked), 1024):
        compute(asked[at : at + 1024])
    alone = len(given) / (time.perf_counter() - began)
    share = {
        "alone_rows_a_second": round(alone, 2),
        "of_alone": round(found["rows_a_second"] / alone, 3),
    }
    described = portable(verifier.description)
    name = "base" if options.verifier.startswith(HUB) else described["name"]
    return {name: found | share | {"verifier": described}}


def main() -> None:
    """Measure, and store the results."""
    parser = command(__doc__, "batch.json")
    kinds = ("throughput", "nodes", "gpu")
    parser.add_argument("what", choices=kinds, nargs="?", default="throughput")
    parser.add_argument("--rows", type=int, default=96)
    parser.add_argument("--data", help="the folder of the datasets, for gpu")
    add_verifier_options(parser)
    arguments = parser.parse_args()
    kept = stored(arguments.out)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.what == "gpu":
            found = kept.get("gpu", {}) | on_gpu(Path(folder), arguments.rows, arguments)
        else:
            work = nodes if arguments.what == "nodes" else throughput
            found = work(Path(folder), arguments.rows)
    kept.setdefault("machines", {})[arguments.what] = {
        "processor": processor(),
        "cores": physical_cores(),
        "python": platform.python_version(),
        "halldetect": __version__,
        "weights": base_weights(),
    }
    kept[arguments.what] = found
    store(arguments.out, kept)
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
