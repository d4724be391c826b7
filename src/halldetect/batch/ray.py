"""Run a batch job on Ray Data: tasks read parts of the input, a pool of actors checks and writes.

The name of a part holds the index of the input file, the number of the first row, and a digest of
all rows. So sorted names follow the order of the input, an existing part need not be made again,
and a part made twice is the same.
"""

from __future__ import annotations

import io
import json
import logging
import os
import pickle
import socket
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import islice
from time import monotonic
from typing import Any

from halldetect.batch.cache import ReportCache
from halldetect.batch.counts import RowCounts
from halldetect.batch.formats import open_records
from halldetect.batch.job import HOW_TO_RESUME, Job, partial_file, parts_folder
from halldetect.batch.local import BatchOutcome, BatchProgress, block_lines, check_rows
from halldetect.batch.local import run_settings as settings_of
from halldetect.batch.locations import is_url
from halldetect.batch.parts import DONE_FILE, STOP_FILE, PartsFolder
from halldetect.batch.results import convert, count_result, read_results, write_parquet
from halldetect.batch.rows import Row, read_rows
from halldetect.config import Configuration
from halldetect.detector import Detector
from halldetect.errors import CheckError, HallDetectError, InputError, MissingExtra, ModelError
from halldetect.verification.presets import memory_needed
from halldetect.verification.verifiers.onnx import physical_cores

_CONNECT_SECONDS = 30.0
# Reading needs a little processor time: if the detectors reserved all of it, no row would ever
# reach them.
_DETECTOR_SHARE, _READER_CPUS = 0.95, 0.025
_POLL_SECONDS = 0.5
# The folder of a cache (None: temporary), and its limit in bytes.
CacheOptions = tuple[str | None, int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """A Ray cluster, and the distribution of a run over it.

    Attributes:
        address: HOST:PORT of the cluster, None for Ray on this machine.
        workers: The number of detectors; by default, as many as fit.
        cpus: Processors of each detector.
        gpus: GPUs of each detector; may be a fraction.
        part_rows: Rows per part.
    """

    address: str | None = None
    workers: int | None = None
    cpus: int = 1
    gpus: float = 0.0
    part_rows: int = 256

    def room(self, memory: int) -> int:
        """Return the number of detectors for the connected cluster, each with `memory` bytes."""
        import ray

        total = ray.cluster_resources()
        if self.gpus < 0 or (self.gpus and not total.get("GPU")):  # Ray would wait for one
            raise InputError(f"--gpus-per-worker {self.gpus}: this cluster has no such GPU")
        if self.workers is not None:
            return self.workers
        room = total["GPU"] / self.gpus if self.gpus else total.get("CPU", 1) / self.cpus
        return max(1, int(min(room, total["memory"] / memory) if memory else room))


def require_ray() -> None:
    """Raise MissingExtra if Ray is not installed."""
    try:
        import pyarrow  # noqa: F401
        import ray.data  # noqa: F401
    except ImportError as error:
        raise MissingExtra("--engine ray", "ray") from error


@contextmanager
def connected(address: str | None, cpus: int) -> Iterator[None]:
    """Join a cluster, or start Ray on this machine with at least `cpus` processors.

    Ray's output and usage statistics are turned off.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    # Ray starts workers with a niceness of 15, so any other program would have priority.
    os.environ.setdefault("RAY_worker_niceness", "0")
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
        words = " ".join(str(error).split())[:300]
        where = address or "this machine"
        raise CheckError(f"Ray cannot be reached at {where}: {words}") from error
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield
    finally:
        ray.shutdown()


@contextmanager
def _silent_native_code() -> Iterator[None]:
    """Suppress the message of Ray's native code about its log level."""
    saved, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(null)


def _require_listener(address: str) -> None:
    """Fail at once: Ray waits for minutes if nothing listens. `auto` has no port to test."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_SECONDS).close()


@dataclass(frozen=True, slots=True)
class _Part:
    """A part on its way through Ray: read, then written and counted; a problem ends the run."""

    name: str = ""
    share: float = 0.0
    rows: list[Row] = field(default_factory=list)
    is_new: bool = True
    counts: RowCounts = field(default_factory=RowCounts)
    problem: InputError | CheckError | None = None


def _failed(error: HallDetectError) -> _Part:
    # Not every error can be sent to another process.
    kind = InputError if isinstance(error, InputError) else CheckError
    return _Part(problem=kind(str(error)))


def _digest(texts: Iterable[str]) -> str:
    return blake2b("\0".join(texts).encode(errors="replace"), digest_size=12).hexdigest()


def _packed(value: object) -> dict[str, bytes]:
    """Return an object as a Ray Data row."""
    return {"data": pickle.dumps(value)}


def _read_parts(
    row: dict[str, bytes], job: Job, limits: Configuration, part_rows: int, done: set[str]
) -> Iterator[dict[str, bytes]]:
    """Cut a file into parts; called by a Ray task."""
    index, file, label, share = pickle.loads(row["data"])
    suffix = ".parquet" if job.is_folder and job.suffix == ".parquet" else ".jsonl"
    try:
        with open_records(file) as records:
            rows = read_rows(records, job.columns, limits, label)
            read = 0.0
            while block := list(islice(rows, part_rows)):
                digest = _digest(row.digest() for row in block)
                name = f"part-{index:06}-{block[0].number:012}-{digest}{suffix}"
                now, is_new = records.fraction_read() or 0.0, name not in done
                yield _packed(_Part(name, share * (now - read), block if is_new else [], is_new))
                read = now
    except HallDetectError as error:
        yield _packed(_failed(error))


@dataclass(slots=True)
class _Checker:
    """A Ray actor that checks parts with its own detector and writes them."""

    make_detector: Callable[[], Detector]
    expected: dict[str, Any]
    job: Job
    cache: CacheOptions | None
    parts: PartsFolder
    loaded: tuple[Detector, ReportCache] | None = None

    def __call__(self, row: dict[str, bytes]) -> list[dict[str, bytes]]:
        """Return the part with its counts or its problem; nothing if the run was stopped."""
        part = pickle.loads(row["data"])
        try:
            if part.problem is None and part.is_new:
                if self.parts.files.get_file_info(STOP_FILE).is_file:
                    return []
                part = replace(part, counts=self._check(part.name, part.rows), rows=[])
            elif part.problem is None:
                for result in read_results(f"{self.parts.location}/{part.name}"):
                    count_result(part.counts, result)
        except HallDetectError as error:
            part = _failed(error)
        except OSError as error:
            part = _failed(_write_failed(self.parts.location, error))
        return [_packed(part)]

    def _check(self, name: str, rows: list[Row]) -> RowCounts:
        """Check the rows of a part, and write it."""
        detector, cache = self.loaded = self.loaded or self._load()
        counts, data, size = RowCounts(), b"", self.job.batch_size
        for at in range(0, len(rows), size):
            block = rows[at : at + size]
            data += block_lines(block, check_rows(detector, block, cache), self.job, counts)
        if name.endswith(".parquet"):
            write_parquet(data.splitlines(), buffer := io.BytesIO(), self.job.level)
            data = buffer.getvalue()
        self.parts.write(name, data)
        return counts

    def _load(self) -> tuple[Detector, ReportCache]:
        detector = self.make_detector()
        if settings_of(detector) != self.expected:
            raise ModelError(
                "a worker has other models or another version than this machine: install the "
                "same halldetect and the same models everywhere"
            )
        if self.cache is None:
            return detector, ReportCache.disabled()
        folder, limit = self.cache
        return detector, ReportCache(folder, self.expected, limit=limit)


def _write_failed(target: str, error: OSError) -> CheckError:
    return CheckError(f"cannot write {target!r}: {error.strerror or error}; {HOW_TO_RESUME}")


def rebuild_detector(configuration: Configuration, cpus: int) -> Detector:
    """Return the detector of a configuration, for a worker with `cpus` processors.

    Its reports record the original configuration, because they must not depend on the worker.
    """
    detector = Detector(config=configuration.replaced(threads=configuration.threads or cpus))
    detector.description()  # loads the models
    detector.configuration = configuration
    return detector


def run_on_ray(
    detector: Detector,
    job: Job,
    cluster: Cluster,
    *,
    make_detector: Callable[[], Detector] | None = None,
    cache: CacheOptions | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: BatchProgress | None = None,
) -> BatchOutcome:
    """Check every row of a job on a cluster.

    Args:
        detector: A detector on this machine; the workers must have the same settings.
        job: The rows, and the target of the results.
        cluster: The cluster, and the distribution over it.
        make_detector: Builds a worker's detector; by default, from the configuration.
        cache: The location of each worker's report cache; none by default.
        stop: Returns True to end early.
        progress: Shows the progress.
    """
    require_ray()
    began, limits = monotonic(), detector.configuration
    parts = PartsFolder(job.target if job.is_folder else str(parts_folder(job.out)))
    with connected(cluster.address, cluster.cpus * (cluster.workers or 1)):
        import ray

        memory = memory_needed(limits.verifier)
        workers = cluster.room(memory)
        make = make_detector or partial(rebuild_detector, limits, cluster.cpus)
        resources = {"num_cpus": cluster.cpus * _DETECTOR_SHARE, "num_gpus": cluster.gpus}
        expected = settings_of(detector)
        if cluster.gpus:  # workers may have other devices
            expected = ray.get(ray.remote(**resources)(lambda: settings_of(make())).remote())
        settings = {
            **expected,
            "level": job.level.value,
            "columns": asdict(job.columns),
            # Part names contain the index of their file, which depends on the list of files.
            "list of input files": _digest(job.files),
            "part_rows": cluster.part_rows,
        }
        parts.begin(settings, job)
        context = ray.data.DataContext.get_current()
        context.enable_progress_bars = False
        context.target_max_block_size = 1  # one part per block: any detector can take it
        files = _input_files(job)
        checked = (
            ray.data.from_items(files, override_num_blocks=len(files))
            .flat_map(
                _read_parts,
                fn_args=(job, limits, cluster.part_rows, set(parts.names())),
                num_cpus=_READER_CPUS,
            )
            .flat_map(
                _Checker,
                fn_constructor_args=(make, expected, job, cache, parts),
                compute=ray.data.ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
                memory=memory or None,
                **resources,
            )
        )
        try:
            found, interrupted = _collect(checked, parts, stop, progress)
        except HallDetectError:
            raise
        except Exception as error:  # Ray reports worker failures in many ways
            words = " ".join(str(error).split())[-400:]
            raise CheckError(f"Ray failed: {words}; {HOW_TO_RESUME}") from error
    counts, before = RowCounts(), 0
    for part in found:
        counts.update(part.counts)
        before += 0 if part.is_new else part.counts.rows
    if not interrupted:
        _finish(job, parts, {part.name for part in found}, counts)
    return BatchOutcome(counts, before, monotonic() - began, interrupted)


def _input_files(job: Job) -> list[dict[str, bytes]]:
    """Return index, location, label and share of each file; workers run in other folders."""
    files = job.files
    labels = files if job.label_files else [None] * len(files)
    places = [file if is_url(file) else os.path.realpath(file) for file in files]
    return [_packed((at, places[at], labels[at], 1 / len(files))) for at in range(len(files))]


def _collect(
    checked: Any, parts: PartsFolder, stop: Callable[[], bool], progress: BatchProgress | None
) -> tuple[list[_Part], bool]:
    """Run the dataset; return its parts, and True if it was stopped.

    After a stop, parts in progress are finished and no other is started.
    """
    found: list[_Part] = []
    counts, share, interrupted = RowCounts(), 0.0, False
    rows = iter(checked.iter_rows())
    if progress:
        progress.begin(0, 0.0)
    with ThreadPoolExecutor(1, "ray-data") as pool:
        while True:
            following = pool.submit(next, rows, None)
            while not following.done():
                if not interrupted and stop():
                    interrupted = True
                    parts.write(STOP_FILE, b"")
                wait([following], _POLL_SECONDS)
            if (row := following.result()) is None:
                return found, interrupted
            part = pickle.loads(row["data"])
            if part.problem is not None:
                raise part.problem
            found.append(part)
            counts.update(part.counts)
            share += part.share
            if progress:
                progress.advance(counts, min(share, 1.0))


def _finish(job: Job, parts: PartsFolder, names: set[str], counts: RowCounts) -> None:
    """Delete parts of rows that have changed, and join the others if OUT is a file."""
    lines = partial_file(job.out)
    try:
        for stale in set(parts.names()) - names:
            parts.files.delete_file(stale)
        done = {"rows": counts.rows, **counts.by_kind}
        parts.write(DONE_FILE, json.dumps(done, indent=1).encode())
        if not job.is_folder:
            with lines.open("wb") as out:
                out.writelines(map(parts.read, parts.names()))
                out.flush()
                os.fsync(out.fileno())
            convert(lines, job.out, job.suffix, job.level)
            lines.unlink(missing_ok=True)
            parts.files.base_fs.delete_dir(parts.files.base_path)
    except OSError as error:
        raise _write_failed(job.target, error) from error
