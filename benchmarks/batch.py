"""Speed and memory of `halldetect batch`, and whether Ray gives the same results.

    python -m benchmarks.batch throughput [--rows N]   rows per second, phases, 1 and 2 workers
    python -m benchmarks.batch workers [--rows N]      where the time of Ray workers goes
    python -m benchmarks.batch same [--rows N]         local and Ray, byte for byte (500 rows)
    python -m benchmarks.batch flat [--rows N]         memory over 1,000,000 tiny rows
    python -m benchmarks.batch sizes                   reading, memory and bytes
    python -m benchmarks.batch table                   the table of docs/scale.md, from the results

Results go to benchmarks/results/batch.json. Processor time is measured as well as wall time: on a
busy machine only the processor time says something about the program.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import re
import resource
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.machine import processor
from halldetect import Detector, __version__
from halldetect.batch.cache import ReportCache
from halldetect.batch.counts import RowCounts
from halldetect.batch.formats import open_records
from halldetect.batch.job import Job
from halldetect.batch.local import NoProgress, run_local, run_settings
from halldetect.batch.ray.cluster import Cluster
from halldetect.batch.ray.driver import rebuild_detector, run_on_ray
from halldetect.batch.results import Level
from halldetect.batch.rows import ColumnNames, read_rows
from halldetect.config import Configuration
from halldetect.report import Probabilities
from halldetect.verification.verifiers.onnx import physical_cores

RESULTS = Path(__file__).parent / "results" / "batch.json"
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
    """Rows that all differ; in every third response one fact is wrong."""
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
        source = list(dict.fromkeys(source))
        first = FACTS[0].format(**(wrong if n % 3 == 0 else facts))
        second = FACTS[min(sentences - 1, 4)].format(**facts)
        response = f"{first} {second}" if said == 2 else first
        rows.append({"id": n, "source": " ".join(source), "response": response, "third": n % 3})
    return rows


def write_rows(path: Path, rows: Iterable[dict[str, Any]]) -> str:
    """Write rows as JSON lines; returns the path."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    return str(path)


def phases(results: Path) -> dict[str, float]:
    """The seconds of each phase, summed over the reports of a results file."""
    spent: dict[str, float] = {}
    with results.open("rb") as lines:
        for line in lines:
            report = json.loads(line)["report"]
            for phase, seconds in (report["cost"]["seconds"] if report else {}).items():
                spent[phase] = spent.get(phase, 0.0) + seconds
    return spent


def measured(work: Callable[[], Any], results: Path, rows: int) -> dict[str, Any]:
    """Do the work and return rates, phases and processor use."""
    wall, used = time.perf_counter(), time.process_time()
    work()
    wall, used = time.perf_counter() - wall, time.process_time() - used
    spent = phases(results)
    total = sum(spent.values()) or 1.0
    return {
        "rows": rows,
        "wall_seconds": round(wall, 2),
        "rows_a_second": round(rows / wall, 2),
        "cpu_seconds": round(used, 2),
        "rows_a_cpu_second": round(rows / used, 2),
        "cpus_used": round(used / wall, 2),
        "phase_percent": {phase: round(100 * s / total, 1) for phase, s in spent.items()},
        "load_average": round(os.getloadavg()[0], 1),
    }


def counting(folder: str, configuration: Any, cpus: int, pretend: float | None = None) -> Any:
    """A worker's detector that notes when it was ready, and of each slice time and processor time.

    folder         a file for each worker is written there
    configuration  of the detector
    cpus           of the worker
    pretend        seconds that each row takes, asleep, instead of being judged: what is then left
                   of the time is Ray's, and other programs hardly disturb it
    """
    detector: Any
    if pretend is None:
        detector = rebuild_detector(configuration, cpus)
    else:
        detector = Detector(Words())
        detector.configuration = configuration
    notes = Path(folder, str(os.getpid()))
    notes.write_text(json.dumps({"ready": time.time()}) + "\n")
    finish = detector.finish

    def counted(states: Any, *arguments: Any) -> Any:
        began, used = time.time(), time.process_time()
        reports = finish(states, *arguments)
        if pretend is not None:
            time.sleep(pretend * len(reports))
        spent = time.process_time() - used
        note = {"began": began, "ended": time.time(), "used": spent, "rows": len(reports)}
        with notes.open("a") as file:
            file.write(json.dumps(note) + "\n")
        return reports

    detector.finish = counted
    return detector


def worker_times(notes: Path) -> dict[str, Any]:
    """What the workers of a run did, from their notes; seconds count from the first that was ready.

    notes  the folder of `counting`
    """
    logs = [
        [json.loads(line) for line in path.read_text().splitlines()] for path in notes.iterdir()
    ]
    logs.sort(key=lambda log: log[0]["ready"])
    slices = [log[1:] for log in logs]
    first = logs[0][0]["ready"]
    last = max(item["ended"] for log in slices for item in log)
    used = sum(item["used"] for log in slices for item in log)
    rows = sum(item["rows"] for log in slices for item in log)
    # All were at work from here to there.
    start = max(log[0]["began"] for log in slices if log)
    end = min(log[-1]["ended"] for log in slices if log)
    inside = [
        item for log in slices for item in log if item["began"] >= start and item["ended"] <= end
    ]
    busy = sum(item["ended"] - item["began"] for item in inside)
    return {
        "rows": rows,
        "seconds": round(last - first, 2),
        "rows_a_second": round(rows / (last - first), 2),
        "rows_of_each": [sum(item["rows"] for item in log) for log in slices],
        "ready_after": [round(log[0]["ready"] - first, 2) for log in logs],
        "first_row_after": [round(log[0]["began"] - first, 2) for log in slices if log],
        "last_row_before_the_end": [round(last - log[-1]["ended"], 2) for log in slices if log],
        "together_seconds": round(end - start, 2),
        "busy_together": round(busy / (end - start) / len(logs), 3) if end > start else None,
        "cpu_seconds": round(used, 2),
        "rows_a_cpu_second": round(rows / used, 2) if used else None,
    }


def workers(rows: int) -> dict[str, Any]:
    """Where the time of one and of two workers goes.

    Twice: with rows that take 40 ms asleep, and with the verifier of the package, for which
    processor time per row is what a busy machine can tell. Two workers get twice the rows of one.
    """
    found: dict[str, Any] = {"load_before": round(os.getloadavg()[0], 1)}
    for name, pretend, share in (("asleep", 0.04, 1.0), ("judging", None, 0.2)):
        for count in (1, 2):
            with tempfile.TemporaryDirectory() as folder_name:
                folder = Path(folder_name)
                source = write_rows(folder / "in.jsonl", made_rows(int(rows * share * count), 4))
                notes = folder / "notes"
                notes.mkdir()
                configuration = Detector().configuration
                own = Detector(Words()) if pretend else Detector()
                own.configuration = configuration
                run_on_ray(
                    own,
                    Job(source, str(folder / "out.jsonl"), in_parts=True),
                    Cluster(workers=count),
                    make_detector=partial(counting, str(notes), configuration, 1, pretend),
                )
                found[f"{name}, {count} workers"] = worker_times(notes)
            print(name, count, found[f"{name}, {count} workers"], flush=True)
        one, two = (found[f"{name}, {count} workers"] for count in (1, 2))
        found[f"{name}, efficiency"] = {
            "rows_a_second": round(two["rows_a_second"] / one["rows_a_second"] / 2, 3),
            "rows_a_cpu_second": round(two["rows_a_cpu_second"] / one["rows_a_cpu_second"], 3),
        }
    found["load_after"] = round(os.getloadavg()[0], 1)
    return found


def on_ray(source: str, folder: Path, workers: int, part_rows: int, rows: int) -> dict[str, Any]:
    """Measure a run on Ray with some workers of one thread."""
    detector = Detector()
    notes = folder / f"cpu-{workers}"
    notes.mkdir()
    out = folder / f"ray-{workers}.jsonl"
    cluster = Cluster(workers=workers, part_rows=part_rows)
    configuration = detector.configuration
    outcome = measured(
        lambda: run_on_ray(
            detector,
            Job(source, str(out), in_parts=True),
            cluster,
            make_detector=lambda: counting(str(notes), configuration, 1),
        ),
        out,
        rows,
    )
    # Without the start of Ray and of the models, which a long run does not notice.
    times = worker_times(notes)
    outcome["start_seconds"] = round(outcome["wall_seconds"] - times["seconds"], 2)
    for name in ("rows_a_second", "cpu_seconds", "rows_a_cpu_second"):
        outcome[name] = times[name]
    outcome["cpus_used"] = round(times["cpu_seconds"] / times["seconds"], 2)
    return outcome


def throughput(rows: int) -> dict[str, Any]:
    """Rows per second, locally and on Ray."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for label, sentences in (("short", 4), ("typical", 10)):
            source = write_rows(folder / f"{label}.jsonl", made_rows(rows, sentences))
            for threads in (1, None) if label == "short" else (None,):
                detector = Detector(threads=threads)
                run_settings(detector)
                out = folder / f"{label}-{threads}.jsonl"
                key = f"local, {label}, {threads or physical_cores()} threads"
                job = Job(source, str(out))
                found[key] = measured(partial(run_local, detector, job), out, rows)
                print(key, found[key], flush=True)
        detector = Detector()
        with_cache = ReportCache(folder / "kept", run_settings(detector))
        for name in ("filling the cache", "from the cache"):
            out = folder / f"{name}.jsonl"
            job = Job(str(folder / "short.jsonl"), str(out))
            found[f"local, short, {name}"] = measured(
                partial(run_local, detector, job, cache=with_cache), out, rows
            )
        for workers in (1, 2):
            key = f"ray, short, {workers} workers of 1 thread"
            found[key] = on_ray(
                str(folder / "short.jsonl"), folder, workers, max(rows // 12, 1), rows
            )
            print(key, found[key], flush=True)
    one, two = (found[f"ray, short, {workers} workers of 1 thread"] for workers in (1, 2))
    found["efficiency from 1 to 2 workers"] = {
        "wall": round(two["rows_a_second"] / one["rows_a_second"] / 2, 3),
        "rows_a_cpu_second": round(two["rows_a_cpu_second"] / one["rows_a_cpu_second"], 3),
    }
    return found


def same(rows: int) -> dict[str, Any]:
    """Whether local runs and runs on Ray write the same bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = write_rows(folder / "in.jsonl", made_rows(rows, 2, said=1))
        detector = Detector()
        here, there = folder / "here.jsonl", folder / "there.jsonl"
        began = time.perf_counter()
        run_local(detector, Job(source, str(here)))
        middle = time.perf_counter()
        run_on_ray(
            detector, Job(source, str(there), in_parts=True), Cluster(workers=2, part_rows=32)
        )
        ended = time.perf_counter()
        mine, theirs = (
            re.sub(rb'"seconds":\{[^}]*\}', b'"seconds":{}', path.read_bytes())
            for path in (here, there)
        )
        verifier = detector.verifier.description
        return {
            "rows": rows,
            "bytes": len(mine),
            "identical": mine == theirs,
            "verdicts": Counter(json.loads(line)["verdict"] for line in mine.splitlines()),
            "verifier": f"{verifier['name']} {verifier['digest']}",
            "local_seconds": round(middle - began, 1),
            "ray_seconds": round(ended - middle, 1),
        }


class Words:
    """Entailed as far as the window has the claim's words: costs next to nothing."""

    description: dict[str, Any] = {"name": "words"}  # noqa: RUF012
    max_tokens = 500

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """The number of words of each text."""
        return [len(text.split()) for text in texts]

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[Probabilities]:
        """Probabilities from the share of common words."""
        shares = [
            len(set(claim.split()) & set(window.split())) / max(1, len(set(claim.split())))
            for window, claim in pairs
        ]
        return [Probabilities(0.98 * share, 1 - 0.98 * share, 0.0) for share in shares]


class Watch(NoProgress):
    """Notes the memory of the process along the way."""

    def __init__(self, every: int) -> None:
        self.every = every
        self.seen: list[tuple[int, int]] = []

    def advance(self, counts: RowCounts, fraction: float | None) -> None:
        """Record the resident memory at regular row counts."""
        if counts.rows // self.every > len(self.seen) - 1:
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            self.seen.append((counts.rows, pages * resource.getpagesize() >> 20))
            print(self.seen[-1], flush=True)


def flat(rows: int) -> dict[str, Any]:
    """Of 1,000,000 rows 5,000 differ in their texts, and all in their ids."""
    distinct = 5_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        texts = [
            (f"The {n} mill is old.", f"The {n % 4_000} mill is old.") for n in range(distinct)
        ]
        source = write_rows(
            folder / "in.jsonl",
            (
                {"id": n, "source": texts[n % distinct][0], "response": texts[n % distinct][1]}
                for n in range(rows)
            ),
        )
        detector = Detector(Words())
        watch = Watch(max(rows // 10, 1))
        out = folder / "out.jsonl"
        job = Job(source, str(out), level=Level.CLAIM, batch_size=512)
        wall, used = time.perf_counter(), time.process_time()
        cache = ReportCache(None, run_settings(detector))
        outcome = run_local(detector, job, cache=cache, progress=watch)
        cache.close()
        wall, used = time.perf_counter() - wall, time.process_time() - used
        with out.open("rb") as lines:
            written = sum(1 for _ in lines)
    seen = watch.seen[1:]
    return {
        "rows": outcome.counts.rows,
        "results": written,
        "rows_a_second": round(rows / wall, 1),
        "rows_a_cpu_second": round(rows / used, 1),
        "resident_megabytes_by_rows": dict(seen),
        "growth_megabytes": seen[-1][1] - seen[0][1],
        "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
    }


def sizes(rows: int) -> dict[str, Any]:
    """Each in a process of its own, since memory does not come back."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        path = Path(name, "in.jsonl")
        source = write_rows(path, made_rows(rows, 10))
        used = time.process_time()
        with open_records(source) as given:
            for row in read_rows(given, ColumnNames(), Configuration()):
                row.fingerprint()
        found["rows_read_a_cpu_second"] = round(rows / (time.process_time() - used))
        found["input_bytes_a_row"] = round(path.stat().st_size / rows)
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        found["one check"] = pool.apply(loaded)
    return found


def loaded() -> dict[str, Any]:
    """Memory after one check."""
    detector = Detector()
    run_settings(detector)
    (row,) = made_rows(1, 10)
    report = detector.check(row["source"], row["response"])
    return {
        "resident_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10,
        "report_bytes": len(report.to_json(indent=None)),
        "pairs_judged": report.cost.pairs_judged,
        "verifier_tokens": report.cost.verifier_tokens,
    }


def table(found: dict[str, Any]) -> str:
    """The Markdown table of docs/scale.md."""
    lines = [
        "| run | rows | rows a second | rows a processor second | processors used | extract, % "
        "| verify, % | load |",
        "| :-- | --: | --: | --: | --: | --: | --: | --: |",
    ]
    for key, run in found.get("throughput", {}).items():
        if isinstance(run, dict) and "cpus_used" in run:
            share = run["phase_percent"]
            lines.append(
                f"| {key} | {run['rows']} | {run['rows_a_second']} | {run['rows_a_cpu_second']} "
                f"| {run['cpus_used']} | {share.get('extract', 0)} | {share.get('verify', 0)} "
                f"| {run['load_average']} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("what", choices=("throughput", "workers", "same", "flat", "sizes", "table"))
    parser.add_argument("--rows", type=int)
    arguments = parser.parse_args()
    if arguments.what == "table":
        print(table(kept_results()))
        return
    work, rows = {
        "throughput": (throughput, 96),
        "workers": (workers, 3000),
        "same": (same, 500),
        "flat": (flat, 1_000_000),
        "sizes": (sizes, 20_000),
    }[arguments.what]
    found = work(arguments.rows or rows)
    kept = kept_results()  # now: another part of it may have run meanwhile
    kept.setdefault("machines", {})[arguments.what] = {  # each part may be measured elsewhere
        "processor": processor(),
        "cores": physical_cores(),
        "python": platform.python_version(),
        "halldetect": __version__,
    }
    kept[arguments.what] = found
    RESULTS.write_text(json.dumps(kept, indent=1) + "\n")
    print(json.dumps(found, indent=1))


def kept_results() -> dict[str, Any]:
    """The results that are already in the file."""
    kept: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    return kept


if __name__ == "__main__":
    main()
