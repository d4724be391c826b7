"""The same run on Ray: its tasks read and write, a pool of its actors checks.

Parts of the input are checked in any order and written under names that put them in order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, TimeoutError
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from time import monotonic
from typing import Any

from halldetect.batch.connection import connected
from halldetect.batch.job import Job
from halldetect.batch.parquet import convert
from halldetect.batch.parts import Parts
from halldetect.batch.places import is_address, sizes_of
from halldetect.batch.progress import Progress
from halldetect.batch.run import Outcome, settings
from halldetect.batch.sinks import HOW_TO_RESUME, parts_of
from halldetect.batch.stages import Checks
from halldetect.config import Configuration
from halldetect.errors import CheckError, HallDetectError, InputError, MissingExtra

PART_ROWS = 256
# Reading and writing need next to nothing, but not nothing: where the detectors took every
# processor, no row would ever reach them.
_DETECTOR_SHARE = 0.95
_IO_CPUS = 0.025
_ASK_EVERY = 0.5


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster, and how a run is spread over it. `address` None is this machine;
    `workers` None is as many as there is room for."""

    address: str | None = None
    workers: int | None = None
    cpus: int = 1
    gpus: float = 0.0
    part_rows: int = PART_ROWS

    def __post_init__(self) -> None:
        for name, value in (
            ("workers", self.workers),
            ("cpus-per-worker", self.cpus),
            ("part-rows", self.part_rows),
        ):
            if value is not None and value < 1:
                raise InputError(f"--{name} must be 1 or more, not {value}")
        if self.gpus < 0:
            raise InputError(f"--gpus-per-worker must not be negative, not {self.gpus}")


def require_ray() -> None:
    """Find out before the long work that it could not be done."""
    try:
        import pyarrow  # noqa: F401
        import ray.data  # noqa: F401
    except ImportError as error:
        raise MissingExtra("--engine ray", "ray") from error


def rebuilt(configuration: Configuration, cpus: int) -> Checks:
    """The detector of a configuration, on so many processors without saying so in its reports:
    they must not depend on who made them."""
    from halldetect.detector import Detector

    options = configuration.to_dict()
    options["threads"] = configuration.threads or cpus
    detector = Detector(**options)
    _ = detector.extractor, detector.verifier
    detector.configuration = configuration
    return detector


def run_cluster(
    detector: Checks,
    job: Job,
    cluster: Cluster,
    *,
    make: Callable[[], Checks] | None = None,
    cache: tuple[str | None, int | None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    progress: Progress | None = None,
) -> Outcome:
    """Check every row. `make` builds a worker's detector, `cache` is its folder and limit."""
    require_ray()
    progress = progress or Progress(quiet=True)
    began = monotonic()
    ending = ".parquet" if job.is_folder and job.ending == ".parquet" else ".jsonl"
    parts = Parts(job.target if job.is_folder else str(parts_of(job.out)))
    make = make or partial(rebuilt, detector.configuration, cluster.cpus)
    with connected(cluster.address, cluster.cpus * (cluster.workers or 1)) as ray:
        workers = _workers(cluster)
        expected = _of_a_worker(make, cluster) if cluster.gpus else settings(detector)
        made_with = {
            **expected,
            "level": job.level.value,
            "columns": asdict(job.columns),
            "list of input files": _digest(job.files),
            "part_rows": cluster.part_rows,
        }
        parts.begin(made_with, resume=job.resume, overwrite=job.overwrite)
        from halldetect.batch.workers import Control, ToControl

        control = ray.remote(num_cpus=0)(Control).remote()
        work = partial(
            _pipeline,
            limits=detector.configuration,
            expected=expected,
            job=job,
            cluster=cluster,
            workers=workers,
            make=make,
            cache=cache,
            parts=parts,
            ending=ending,
            control=ToControl(control),
        )
        progress.begin(0, 0.0)
        interrupted = _watched(work, control, stop, progress)
        tally, _, failure = ray.get(control.state.remote())
        before = ray.get(control.rows_before.remote())
        names = ray.get(control.names.remote())
    if failure is not None:
        is_input, message = failure
        raise (InputError if is_input else CheckError)(message)
    if not interrupted:
        _finish(job, parts, names, asdict(tally))
    return Outcome(tally, None, before, monotonic() - began, interrupted)


def _watched(
    work: Callable[[], None], control: Any, stop: Callable[[], bool], progress: Progress
) -> bool:
    """Do the work and show how it gets on; True if it was stopped."""
    import ray

    interrupted = False
    with ThreadPoolExecutor(1, "ray-data") as pool:
        running = pool.submit(work)
        while not running.done():
            if not interrupted and stop():
                interrupted = True
                control.stop.remote()
            with suppress(TimeoutError):
                running.exception(timeout=_ASK_EVERY)
            tally, share, _ = ray.get(control.state.remote())
            progress.advance(tally, min(share, 1.0))
        try:
            running.result()
        except HallDetectError:
            raise
        except Exception as error:  # whatever Ray makes of a worker's defect
            _, _, failure = ray.get(control.state.remote())
            if failure is None:
                words = " ".join(str(error).split())[-400:]
                raise CheckError(f"Ray failed: {words}; {HOW_TO_RESUME}") from error
    return interrupted


def _pipeline(
    *,
    limits: Configuration,
    expected: dict[str, Any],
    job: Job,
    cluster: Cluster,
    workers: int,
    make: Callable[[], Checks],
    cache: tuple[str | None, int | None] | None,
    parts: Parts,
    ending: str,
    control: Any,
) -> None:
    import ray
    from ray.data import ActorPoolStrategy, DataContext

    from halldetect.batch.workers import CheckParts, PartSink, RowSource

    context = DataContext.get_current()
    context.enable_progress_bars = False
    # Each part is a block of its own, so that it can go to any detector.
    context.target_max_block_size = 1
    source = RowSource(_files(job, parts), job, limits, cluster.part_rows, ending, control)
    checked = ray.data.read_datasource(source, num_cpus=_IO_CPUS).map_batches(
        CheckParts,
        fn_constructor_args=(make, expected, job, cache, parts, control),
        batch_size=None,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=workers, max_tasks_in_flight_per_actor=2),
        num_cpus=cluster.cpus * _DETECTOR_SHARE,
        num_gpus=cluster.gpus or None,
    )
    checked.write_datasink(
        PartSink(parts, job.level, ending, control), ray_remote_args={"num_cpus": _IO_CPUS}
    )


def _of_a_worker(make: Callable[[], Checks], cluster: Cluster) -> dict[str, Any]:
    """The settings as a worker has them: with a GPU, which this machine may not have."""
    import ray

    task = ray.remote(num_cpus=cluster.cpus * _DETECTOR_SHARE, num_gpus=cluster.gpus)
    found: dict[str, Any] = ray.get(task(lambda: settings(make())).remote())
    return found


def _digest(files: tuple[str, ...]) -> str:
    """Names of parts go by the place of their file: other files, other places."""
    return blake2b("\0".join(files).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _workers(cluster: Cluster) -> int:
    import ray

    found = ray.cluster_resources()
    if cluster.gpus and not found.get("GPU"):  # Ray would wait for one to be added
        raise InputError("--gpus-per-worker: this cluster has no GPU")
    if cluster.workers is not None:
        return cluster.workers
    if cluster.gpus:
        return max(1, int(found["GPU"] / cluster.gpus))
    return max(1, int(found.get("CPU", 1) / cluster.cpus))


def _files(job: Job, parts: Parts) -> list[Any]:
    from halldetect.batch.workers import File

    found = job.files
    sizes = sizes_of(found)
    done: dict[int, set[str]] = {}
    for name in parts.names():
        done.setdefault(int(name.split("-")[1]), set()).add(name)
    return [
        File(
            place=place,
            # Workers may run elsewhere in the file tree.
            address=file if is_address(file) else os.path.realpath(file),
            label=file if job.may_be_many else None,
            share=sizes[place] / (sum(sizes) or 1),
            done=frozenset(done.get(place, ())),
        )
        for place, file in enumerate(found)
    ]


def _finish(job: Job, parts: Parts, names: set[str], summary: dict[str, Any]) -> None:
    parts.finish(names, summary)
    if job.is_folder:
        return
    lines = job.out.with_name(f"{job.out.name}.partial")
    try:
        parts.join(lines)
        if job.ending == ".parquet":
            made = job.out.with_name(f"{job.out.name}.partial.made")
            convert(lines, made, job.level)
            made.replace(job.out)
            lines.unlink()
        else:
            lines.replace(job.out)
        parts.remove()
    except OSError as error:
        raise CheckError(
            f"cannot write {str(job.out)!r}: {error.strerror or error}; {HOW_TO_RESUME}"
        ) from error
