"""A Ray cluster: which one, how a run is spread over it, and the connection to it."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import ceil
from typing import Any

from halldetect.errors import CheckError, InputError, MissingExtra

DEFAULT_PART_ROWS = 256
# Ray gives itself 30 seconds to start; a busy machine may take longer.
START_TRIES = 3
CONNECT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Cluster:
    """Which cluster, and how a run is spread over it.

    Attributes:
        address: HOST:PORT of the cluster, None for Ray on this machine.
        workers: how many detectors; None is as many as the cluster has room for.
        cpus: processors of each detector; None is one, or more where the memory that comes with
            one is too little for a detector.
        gpus: GPUs of each detector; may be a fraction.
        part_rows: how many rows make a part.
    """

    address: str | None = None
    workers: int | None = None
    cpus: int | None = None
    gpus: float = 0.0
    part_rows: int = DEFAULT_PART_ROWS

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

    def sized(self, memory: int = 0) -> SizedCluster:
        """How many detectors to start on the connected cluster, and with how many processors.

        Args:
            memory: bytes that a detector needs; 0 if that is too little to matter.
        """
        import ray

        total = ray.cluster_resources()
        if self.gpus and not total.get("GPU"):  # Ray would wait for one to be added
            raise InputError("--gpus-per-worker: this cluster has no GPU")
        cpus = self.cpus or 1
        if self.workers is not None:
            workers = self.workers
        elif self.gpus:
            workers = int(total["GPU"] / self.gpus)
        else:
            nodes = [node["Resources"] for node in ray.nodes()]
            cpus = self.cpus or cpus_for_memory(memory, nodes)
            workers = int(total.get("CPU", 1) / cpus)
        return SizedCluster(max(1, workers), cpus, self.gpus, self.part_rows)


@dataclass(frozen=True, slots=True)
class SizedCluster:
    """What a run takes of a connected cluster; the attributes are as in Cluster."""

    workers: int
    cpus: int
    gpus: float
    part_rows: int


def cpus_for_memory(memory: int, nodes: list[dict[str, float]]) -> int:
    """How many processors a detector reserves, so that its machine has memory for every detector.

    No more than the smallest machine has: Ray would never start the detector there.
    """
    sizes = [(int(node["CPU"]), node.get("memory", 0.0)) for node in nodes if node.get("CPU")]
    needed = [ceil(memory * cpus / available) for cpus, available in sizes if available]
    return max(1, min(max(needed, default=1), min((cpus for cpus, _ in sizes), default=1)))


def require_ray() -> None:
    """Raise MissingExtra if Ray is not installed."""
    try:
        import pyarrow  # noqa: F401
        import ray.data  # noqa: F401
    except ImportError as error:
        raise MissingExtra("--engine ray", "ray") from error


@contextmanager
def connected(address: str | None, cpus: int) -> Iterator[Any]:
    """Join a cluster, or start Ray on this machine; yields the module `ray`.

    Ray is kept quiet and sends no usage statistics.

    Args:
        address: HOST:PORT of the cluster, None for this machine.
        cpus: how many processors Ray on this machine offers at least.
    """
    for name, value in (
        ("RAY_USAGE_STATS_ENABLED", "0"),
        ("RAY_BACKEND_LOG_LEVEL", "fatal"),
        ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"),
        # Ray starts workers with a niceness of 15: any other program would go before them.
        ("RAY_worker_niceness", "0"),
    ):
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():  # by the program that calls this as a library
        yield ray
        return
    if address:
        _require_listener(address)
    _connect(ray, address, cpus)
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield ray
    finally:
        ray.shutdown()


def _require_listener(address: str) -> None:
    """Ray itself waits for minutes where nothing listens. `auto` has no port to ask."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not (host and port.isdigit()):
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise CheckError(f"Ray cannot be reached at {address}: {error}") from error


def _connect(ray: Any, address: str | None, cpus: int) -> None:
    from halldetect.verification.verifiers.onnx import physical_cores

    local_options = {} if address else {"num_cpus": max(physical_cores(), cpus)}
    for tries_left in reversed(range(1 if address else START_TRIES)):
        try:
            with _silent_native_code():
                ray.init(
                    address=address or "local",
                    include_dashboard=None if address else False,
                    log_to_driver=False,
                    logging_level=logging.ERROR,
                    **local_options,
                )
            return
        except Exception as error:  # Ray raises this very class, among others
            words = " ".join(str(error).split())[:300]
            if not tries_left or "timed out" not in words:
                where = address or "this machine"
                raise CheckError(f"Ray cannot be reached at {where}: {words}") from error


@contextmanager
def _silent_native_code() -> Iterator[None]:
    """Ray's native code writes to standard error that its log level is set."""
    saved = os.dup(2)
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        os.close(null)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
