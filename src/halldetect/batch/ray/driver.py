"""Run a batch job on Ray, from the process that started it.

Ray tasks read and write, a pool of Ray actors checks. Parts of the input are checked in any
order and written under names that put them in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from hashlib import blake2b
from time import monotonic
from typing import Any

from halldetect.batch.checker import BatchDetector
from halldetect.batch.job import Job
from halldetect.batch.local import BatchOutcome, BatchProgress, NoProgress, run_settings
from halldetect.batch.locations import file_sizes, is_url
from halldetect.batch.ray.cluster import Cluster, SizedCluster, connected, require_ray
from halldetect.batch.ray.parts import PartsFolder
from halldetect.batch.results import write_csv, write_parquet
from halldetect.batch.resume import HOW_TO_RESUME, partial_file, parts_folder
from halldetect.config import Configuration
from halldetect.errors import CheckError, HallDetectError, InputError
from halldetect.verification.presets import memory_needed

# Reading and writing need little processor time, but some: if the detectors reserved every
# processor, no row would ever reach them.
_DETECTOR_SHARE = 0.95
_IO_CPUS = 0.025
_POLL_SECONDS = 0.5
# The folder (None: temporary) and the limit in bytes of a worker's cache.
CacheOptions = tuple[str | None, int | None]


def rebuild_detector(configuration: Configuration, cpus: int) -> BatchDetector:
    """The detector of a configuration, for a worker.

    Its reports record the configuration as given, not the processors of the worker: they must
    not depend on which worker made them.

    Args:
        configuration: what the run was started with.
        cpus: how many processors the worker has.
    """
    from halldetect.detector import Detector

    detector = Detector(config=configuration.replaced(threads=configuration.threads or cpus))
    _ = detector.extractor, detector.verifier
    detector.configuration = configuration
    return detector


def run_on_ray(
    detector: BatchDetector,
    job: Job,
    cluster: Cluster,
    *,
    make_detector: Callable[[], BatchDetector] | None = None,
    cache: CacheOptions | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: BatchProgress | None = None,
) -> BatchOutcome:
    """Check every row of a job on a cluster.

    Args:
        detector: a detector on this machine, whose settings the workers must have.
        job: which rows, and where the results go.
        cluster: which cluster, and how to use it.
        make_detector: builds a worker's detector; by default, from the configuration.
        cache: where each worker keeps its cache of reports; none by default.
        stop: asked regularly whether to end early.
        progress: told regularly how far the run is.
    """
    require_ray()
    progress = progress or NoProgress()
    began = monotonic()
    suffix = ".parquet" if job.is_folder and job.suffix == ".parquet" else ".jsonl"
    parts = PartsFolder(job.target if job.is_folder else str(parts_folder(job.out)))
    with connected(cluster.address, (cluster.cpus or 1) * (cluster.workers or 1)) as ray:
        sized = cluster.sized(memory_needed(detector.configuration.verifier))
        make = make_detector or partial(rebuild_detector, detector.configuration, sized.cpus)
        expected = worker_settings(make, sized) if sized.gpus else run_settings(detector)
        settings = {
            **expected,
            "level": job.level.value,
            "columns": asdict(job.columns),
            "list of input files": _digest_of_names(job.files),
            "part_rows": cluster.part_rows,
        }
        parts.begin(settings, resume=job.resume, overwrite=job.overwrite)
        from halldetect.batch.ray.workers import CoordinatorClient

        coordinator = _start_coordinator()
        work = partial(
            _run_pipeline,
            limits=detector.configuration,
            expected=expected,
            job=job,
            cluster=sized,
            make_detector=make,
            cache=cache,
            parts=parts,
            suffix=suffix,
            coordinator=CoordinatorClient(coordinator),
        )
        progress.begin(0, 0.0)
        try:
            interrupted = _watch(work, coordinator, stop, progress)
            counts, _, failure = ray.get(coordinator.state.remote())
            before = ray.get(coordinator.rows_before.remote())
            part_names = ray.get(coordinator.names.remote())
        except ray.exceptions.RayError as error:
            raise _ray_failed(error) from error
    if failure is not None:
        is_input, message = failure
        raise (InputError if is_input else CheckError)(message)
    if not interrupted:
        _finish(job, parts, part_names, counts.to_dict())
    return BatchOutcome(counts, None, before, monotonic() - began, interrupted)


def _watch(
    work: Callable[[], None], coordinator: Any, stop: Callable[[], bool], progress: BatchProgress
) -> bool:
    """Do the work and tell the progress; True if it was stopped."""
    import ray

    interrupted = False
    with ThreadPoolExecutor(1, "ray-data") as pool:
        running = pool.submit(work)
        while not running.done():
            if not interrupted and stop():
                interrupted = True
                coordinator.stop.remote()
            with suppress(TimeoutError):
                running.exception(timeout=_POLL_SECONDS)
            counts, share, _ = ray.get(coordinator.state.remote())
            progress.advance(counts, min(share, 1.0))
        try:
            running.result()
        except HallDetectError:
            raise
        except Exception as error:  # however Ray reports a defect of a worker
            _, _, failure = ray.get(coordinator.state.remote())
            if failure is None:
                raise _ray_failed(error) from error
    return interrupted


def _ray_failed(error: Exception) -> CheckError:
    words = " ".join(str(error).split())[-400:]
    return CheckError(f"Ray failed: {words}; {HOW_TO_RESUME}")


def _start_coordinator() -> Any:
    """The coordinator, on this machine: the run is not to depend on a machine that may be lost."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    from halldetect.batch.ray.workers import Coordinator

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(Coordinator).remote()


def _run_pipeline(
    *,
    limits: Configuration,
    expected: dict[str, Any],
    job: Job,
    cluster: SizedCluster,
    make_detector: Callable[[], BatchDetector],
    cache: CacheOptions | None,
    parts: PartsFolder,
    suffix: str,
    coordinator: Any,
) -> None:
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    from halldetect.batch.ray.workers import PartChecker, PartReader, PartWriter

    context = DataContext.get_current()
    context.enable_progress_bars = False
    # Each part is a block of its own, so that it can go to any detector.
    context.target_max_block_size = 1
    source = PartReader(
        _input_files(job, parts), job, limits, cluster.part_rows, suffix, coordinator
    )
    checked = ray.data.read_datasource(source, num_cpus=_IO_CPUS).map_batches(
        PartChecker,
        fn_constructor_args=(make_detector, expected, job, cache, parts, coordinator),
        batch_size=None,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=cluster.workers, max_tasks_in_flight_per_actor=2),
        num_cpus=cluster.cpus * _DETECTOR_SHARE,
        num_gpus=cluster.gpus or None,
    )
    checked.write_datasink(
        PartWriter(parts, job.level, suffix, coordinator), ray_remote_args={"num_cpus": _IO_CPUS}
    )


def worker_settings(
    make_detector: Callable[[], BatchDetector], cluster: SizedCluster
) -> dict[str, Any]:
    """The settings as a worker has them, with a GPU that this machine may not have."""
    import ray

    task = ray.remote(num_cpus=cluster.cpus * _DETECTOR_SHARE, num_gpus=cluster.gpus)
    found: dict[str, Any] = ray.get(task(lambda: run_settings(make_detector())).remote())
    return found


def _digest_of_names(files: tuple[str, ...]) -> str:
    """Names of parts hold the index of their file, which other files would change."""
    return blake2b("\0".join(files).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _input_files(job: Job, parts: PartsFolder) -> list[Any]:
    from halldetect.batch.ray.workers import InputFile

    files = job.files
    sizes = file_sizes(files)
    done: dict[int, set[str]] = {}
    for name in parts.names():
        done.setdefault(int(name.split("-")[1]), set()).add(name)
    return [
        InputFile(
            index=index,
            # Workers may run elsewhere in the file tree.
            location=file if is_url(file) else os.path.realpath(file),
            label=file if job.label_files else None,
            share=sizes[index] / (sum(sizes) or 1),
            done=frozenset(done.get(index, ())),
        )
        for index, file in enumerate(files)
    ]


def _finish(job: Job, parts: PartsFolder, names: set[str], summary: dict[str, Any]) -> None:
    parts.finish(names, summary)
    if job.is_folder:
        return
    lines = partial_file(job.out)
    try:
        parts.join(lines)
        if job.suffix in (".csv", ".parquet"):
            write = write_csv if job.suffix == ".csv" else write_parquet
            converted = job.out.with_name(f"{job.out.name}.partial.made")
            write(lines, converted, job.level)
            converted.replace(job.out)
            lines.unlink()
        else:
            lines.replace(job.out)
        parts.remove()
    except OSError as error:
        raise CheckError(
            f"cannot write {str(job.out)!r}: {error.strerror or error}; {HOW_TO_RESUME}"
        ) from error
