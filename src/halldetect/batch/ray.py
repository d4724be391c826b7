"""Run a batch job on Ray Data: tasks read parts of the input, actors check and write them."""

from __future__ import annotations

import logging
import os
import pickle
import socket
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from halldetect.batch.formats import is_url
from halldetect.batch.job import HOW_TO_RESUME, Job, Part, read_parts
from halldetect.batch.local import (
    BatchOutcome,
    BatchProgress,
    PartChecker,
    WrittenPart,
    run_parts,
    run_settings,
)
from halldetect.batch.resume import PartsFolder
from halldetect.batch.workers import sendable
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import CheckError, HallDetectError, InputError, import_extra, one_line
from halldetect.machine.devices import physical_cores
from halldetect.verification.presets import memory_needed

_CONNECT_SECONDS = 30.0
# Reading needs a little processor time: if the detectors reserved all of it, no row would ever
# reach them.
_DETECTOR_SHARE, _READER_CPUS = 0.95, 0.025
_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    # Ray starts workers with a niceness of 15, so any other program would have priority.
    "RAY_worker_niceness": "0",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster (None: Ray on this machine), and the distribution of a run over it.

    There are `workers` detectors, by default as many as fit.
    """

    address: str | None = None
    workers: int | None = None
    cpus_per_worker: int = 1
    gpus_per_worker: float = 0.0
    part_rows: int = 256

    def room(self, memory: int) -> int:
        """Return the number of detectors for the connected cluster, each with `memory` bytes."""
        import ray

        total, cpus, gpus = ray.cluster_resources(), self.cpus_per_worker, self.gpus_per_worker
        if gpus < 0 or (gpus and not total.get("GPU")):  # Ray would wait for one
            raise InputError(f"--gpus-per-worker {gpus}: this cluster has no such GPU")
        if self.workers is not None:
            return self.workers
        room = total["GPU"] / gpus if gpus else total.get("CPU", 1) / cpus
        return max(1, int(min(room, total["memory"] / memory) if memory else room))


@contextmanager
def connected(address: str | None, cpus: int) -> Iterator[None]:
    """Join a cluster, or start Ray on this machine with at least `cpus` processors, silently."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():  # by the calling program
        yield
        return
    options: dict[str, Any] = {"address": address}
    if address is None:
        offered = max(physical_cores(), cpus)
        options = {"address": "local", "include_dashboard": False, "num_cpus": offered}
    try:
        _require_listener(address or "")
        with _silent_native_code():
            ray.init(**options, log_to_driver=False, logging_level=logging.ERROR)
    except Exception as error:  # Ray raises plain Exception, among others
        where = address or "this machine"
        raise CheckError(f"Ray cannot be reached at {where}: {one_line(error)}") from error
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _silent_native_code() -> Iterator[None]:
    """Suppress the message of Ray's native code about its log level."""
    saved = os.dup(2)
    with open(os.devnull, "wb") as null:  # noqa: PTH123
        os.dup2(null.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)


def _require_listener(address: str) -> None:
    """Fail at once: Ray waits for minutes if nothing listens. `auto` has no port to test."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


def _packed(content: object) -> dict[str, bytes]:
    """Return a file, a part or an error as a row of Ray Data."""
    content = sendable(content) if isinstance(content, HallDetectError) else content
    return {"data": pickle.dumps(content)}


def _read_file(
    row: dict[str, bytes], job: Job, limits: Configuration, part_rows: int
) -> Iterator[dict[str, bytes]]:
    """Cut a file into parts; called by a Ray task."""
    try:
        for part in read_parts(pickle.loads(row["data"]), job.columns, limits, part_rows):
            yield _packed(part)
    except HallDetectError as error:
        yield _packed(error)


class _Actor:
    """A Ray actor that checks parts with its own detector and writes them."""

    def __init__(self, check: PartChecker) -> None:
        self._check = check

    def __call__(self, row: dict[str, bytes]) -> dict[str, bytes]:
        """Return the written part, or an error."""
        part = pickle.loads(row["data"])
        try:
            return _packed(self._check(part) if isinstance(part, Part) else part)
        except HallDetectError as error:
            return _packed(error)


def rebuild_detector(configuration: Configuration, cpus: int) -> Detector:
    """Return the detector of a configuration, for a worker with `cpus` processors."""
    detector = Detector(config=configuration.replaced(threads=configuration.threads or cpus))
    detector.description()  # loads the models
    detector.configuration = configuration  # reports must not depend on the worker
    return detector


def run_on_ray(
    detector: Detector,
    job: Job,
    cluster: Cluster,
    *,
    make_detector: Callable[[], Detector] | None = None,
    progress: BatchProgress | None = None,
) -> BatchOutcome:
    """Check every row of a job on a cluster; see `run_local`.

    Each worker makes a detector, by default from the configuration of `detector`, which must have
    the same settings.
    """
    import_extra("ray.data", "--engine ray", "ray")
    limits, cpus = detector.configuration, cluster.cpus_per_worker
    with connected(cluster.address, cpus * (cluster.workers or 1)):
        import ray

        memory = memory_needed(limits.verifier)
        workers = cluster.room(memory)
        make = make_detector or partial(rebuild_detector, limits, cpus)
        resources = {"num_cpus": cpus * _DETECTOR_SHARE, "num_gpus": cluster.gpus_per_worker}
        expected = run_settings(detector)
        if cluster.gpus_per_worker:  # workers may have other devices
            expected = ray.get(ray.remote(**resources)(lambda: run_settings(make())).remote())

        def parts(folder: PartsFolder) -> Generator[WrittenPart, None, None]:
            read = _input_dataset(job).flat_map(
                _read_file, fn_args=(job, limits, folder.part_rows), num_cpus=_READER_CPUS
            )
            written = read.map(
                _Actor,
                fn_constructor_args=(PartChecker(make, expected, job, folder),),
                compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
                memory=memory or None,
                **resources,
            )
            return _collected(written)

        return run_parts(job, expected, cluster.part_rows, parts, progress)


def _input_dataset(job: Job) -> Any:
    """Return a dataset of the files of a job; workers run in other folders."""
    import ray

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = 1  # one part per block: any detector can take it
    rows = []
    for file in job.files:
        place = file.location if is_url(file.location) else os.path.realpath(file.location)
        rows.append(_packed(replace(file, location=place)))
    return ray.data.from_items(rows, override_num_blocks=len(rows))


def _collected(written: Any) -> Generator[WrittenPart, None, None]:
    """Run the dataset, and yield its parts."""
    try:
        for row in written.iter_rows():
            part = pickle.loads(row["data"])
            if isinstance(part, HallDetectError):
                raise part
            yield part
    except HallDetectError:
        raise
    except Exception as error:  # Ray reports worker failures in many ways
        words = " ".join(str(error).split())[-400:]
        raise CheckError(f"Ray failed: {words}; {HOW_TO_RESUME}") from error
