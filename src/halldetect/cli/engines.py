"""Where a batch runs: the options, and the engine they stand for."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from contextlib import closing, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from halldetect.cli.screen import Screen
from halldetect.errors import InputError

if TYPE_CHECKING:
    from halldetect.batch.job import Job
    from halldetect.batch.progress import Progress
    from halldetect.batch.run import Outcome
    from halldetect.detector import Detector

# Asks whether to stop, and does the work.
Work = Callable[[Callable[[], bool]], "Outcome"]
Engine = Callable[["Detector", "Job", dict[str, Any], Screen, "Progress"], Work]


def engine_for(arguments: argparse.Namespace) -> Engine:
    if arguments.cache_size is not None and arguments.cache_size < 1:
        raise InputError(f"--cache-size must be 1 or more, not {arguments.cache_size}")
    return _on_cluster(arguments) if arguments.engine == "ray" else _here(arguments)


def _here(arguments: argparse.Namespace) -> Engine:
    from halldetect.batch.cache import Cache
    from halldetect.batch.run import run_batch

    for name in ("address", "workers", "cpus_per_worker", "gpus_per_worker", "part_rows"):
        if getattr(arguments, name) is not None:
            raise InputError(f"--{name.replace('_', '-')} is for --engine ray")

    def engine(
        detector: Detector, job: Job, made_with: dict[str, Any], screen: Screen, progress: Progress
    ) -> Work:
        kept = _cache_of(arguments)
        if kept is None:
            cache = Cache.none()
        else:
            folder, limit = kept
            place = None if folder is None else Path(folder)
            cache = Cache(place, made_with, limit=limit, notice=screen.notice)

        def work(stop: Callable[[], bool]) -> Outcome:
            with closing(cache):
                return run_batch(detector, job, cache=cache, stop=stop, progress=progress)

        return work

    return engine


def _on_cluster(arguments: argparse.Namespace) -> Engine:
    from halldetect.batch.cluster import PART_ROWS, Cluster, require_ray, run_cluster

    cluster = Cluster(
        address=arguments.address,
        workers=arguments.workers,
        cpus=1 if arguments.cpus_per_worker is None else arguments.cpus_per_worker,
        gpus=arguments.gpus_per_worker or 0.0,
        part_rows=PART_ROWS if arguments.part_rows is None else arguments.part_rows,
    )
    require_ray()

    def engine(
        detector: Detector, job: Job, made_with: dict[str, Any], screen: Screen, progress: Progress
    ) -> Work:
        def work(stop: Callable[[], bool]) -> Outcome:
            # Ray prints what it has to say of its workers; standard output is for results.
            with Path(os.devnull).open("w") as nowhere:
                aside = nowhere if arguments.quiet or sys.stderr is None else sys.stderr
                with redirect_stdout(aside):
                    return run_cluster(
                        detector,
                        job,
                        cluster,
                        cache=_cache_of(arguments),
                        stop=stop,
                        progress=progress,
                    )

        return work

    return engine


def _cache_of(arguments: argparse.Namespace) -> tuple[str | None, int | None] | None:
    """Its folder (None: for this run only) and its limit in bytes, or no cache."""
    if arguments.no_cache:
        return None
    limit = None if arguments.cache_size is None else arguments.cache_size << 20
    return arguments.cache and os.path.realpath(arguments.cache), limit


def add_running_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument_group("how to run").add_argument
    add("--batch-size", type=int, metavar="N", help="rows that are checked together: 32")
    kept = parser.add_mutually_exclusive_group()
    kept.add_argument(
        "--cache", metavar="DIR", help="keep reports there, so that the same check costs nothing"
    )
    kept.add_argument("--no-cache", action="store_true", help="check a pair that comes again again")
    add("--cache-size", type=int, metavar="MB", help="the oldest go beyond this: 1024")
    add("--engine", choices=("local", "ray"), default="local", help="default: local")
    add("--address", metavar="HOST:PORT", help="of a Ray cluster; default: this machine alone")
    add("--workers", type=int, metavar="N", help="detectors on the cluster: as many as fit")
    add("--cpus-per-worker", type=int, metavar="N", help="of each detector on the cluster: 1")
    add("--gpus-per-worker", type=float, metavar="X", help="may be a part of one: 0")
    add("--part-rows", type=int, metavar="N", help="rows in each part of a run with ray: 256")
