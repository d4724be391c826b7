"""Ray, started or joined: quiet, and reporting to nobody."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from halldetect.errors import CheckError


@contextmanager
def connected(address: str | None, cpus: int) -> Iterator[Any]:
    """Ray, joined or, without an address, started here with at least so many processors."""
    for name, value in (
        ("RAY_USAGE_STATS_ENABLED", "0"),
        ("RAY_BACKEND_LOG_LEVEL", "fatal"),
        ("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0"),
    ):
        os.environ.setdefault(name, value)
    import ray

    if ray.is_initialized():  # by whoever calls this as a library
        yield ray
        return
    from halldetect.verification.verifiers.cores import physical_cores

    here = {} if address else {"num_cpus": max(physical_cores(), cpus)}
    try:
        with _silent_native_code():
            ray.init(
                address=address or "local",
                include_dashboard=None if address else False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **here,
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = address or "this machine"
        words = " ".join(str(error).split())[:300]
        raise CheckError(f"Ray cannot be reached at {where}: {words}") from error
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        yield ray
    finally:
        ray.shutdown()


@contextmanager
def _silent_native_code() -> Iterator[None]:
    """Ray's native part says on standard error that it was told to say nothing."""
    kept = os.dup(2)
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 2)
        os.close(nowhere)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
