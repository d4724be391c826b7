"""What of the catalogue is on this machine, and whether it is whole.

Beside each model lies a record of the digest it was found to have and of the size and time
the file had then. A file that still has both is taken as checked; any other is read in full.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from pathlib import Path

from halldetect.errors import ModelError
from halldetect.models.catalogue import ModelEntry, entries, find

_RECORD = "checked.json"


class State(StrEnum):
    CACHED = "cached"
    ABSENT = "absent"
    CORRUPT = "corrupt"


@dataclass(frozen=True, slots=True)
class ModelStatus:
    entry: ModelEntry
    state: State
    path: Path


@dataclass(frozen=True, slots=True)
class Record:
    """The digest a file must have, and its size and time when it last did."""

    sha256: str
    bytes: int
    mtime_ns: int
    source: str


def home() -> Path:
    """HALLDETECT_HOME, else the folder the platform keeps for caches."""
    given = os.environ.get("HALLDETECT_HOME")
    if given:
        return Path(given).expanduser()
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else Path.home() / "AppData" / "Local") / "halldetect"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "halldetect"
    xdg = os.environ.get("XDG_CACHE_HOME")
    return (Path(xdg) if xdg else Path.home() / ".cache") / "halldetect"


def folder(entry: ModelEntry) -> Path:
    return home() / "models" / entry.name


def location(entry: ModelEntry) -> Path:
    """Where the file lies, or would."""
    return folder(entry) / entry.filename


def path(name: str) -> Path:
    """The checked file of a model in the cache; raises ModelError when absent or corrupt."""
    entry = find(name)
    objection = problem(entry)
    if objection is not None:
        raise ModelError(f"{objection}; {_way_out(entry)}")
    return location(entry)


def is_cached(name: str) -> bool:
    """Whether the model is in the cache and whole."""
    return problem(find(name)) is None


def sha256_of(name: str) -> str:
    """The digest that the file of this name was checked against."""
    entry = find(name)
    record = _read_record(entry)
    digest = entry.sha256 or (record.sha256 if record else None)
    if digest is None:
        raise ModelError(f"{_absent(entry)}; {_way_out(entry)}")
    return digest


def verify(name: str) -> Path:
    """Read the whole file again and compare; raises ModelError when absent or corrupt."""
    entry = find(name)
    _forget_check(entry)
    return path(name)


def status() -> tuple[ModelStatus, ...]:
    """Every model of the catalogue; nothing is read in full."""
    return tuple(ModelStatus(entry, _state(entry), location(entry)) for entry in entries())


def problem(entry: ModelEntry) -> str | None:
    """Why the cached file cannot be used, in one line; None if it can."""
    file = location(entry)
    try:
        stat = file.stat()
    except FileNotFoundError:
        return _absent(entry)
    except OSError as error:
        return f"cannot read {file}: {error.strerror}"
    record = _read_record(entry)
    expected = entry.sha256 or (record.sha256 if record else None)
    if expected is None:
        return _corrupt(entry, "the record of its digest is gone")
    if record and (record.sha256, record.bytes, record.mtime_ns) == (
        expected,
        stat.st_size,
        stat.st_mtime_ns,
    ):
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
    write_record(entry, Record(found, stat.st_size, stat.st_mtime_ns, source))
    return None


def digest_of(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def write_record(entry: ModelEntry, record: Record) -> None:
    """Keep a record; a cache that cannot be written to is only checked again next time."""
    target = folder(entry) / _RECORD
    draft = target.with_name(f"{_RECORD}.{os.getpid()}")
    try:
        draft.write_text(json.dumps(asdict(record), indent=2) + "\n", encoding="utf-8")
        draft.replace(target)
    except OSError:
        return


def _read_record(entry: ModelEntry) -> Record | None:
    try:
        data = json.loads((folder(entry) / _RECORD).read_text(encoding="utf-8"))
        record = Record(**data)
    except (OSError, ValueError, TypeError):
        return None
    return record if isinstance(record.sha256, str) else None


def _forget_check(entry: ModelEntry) -> None:
    """Make the next look read the file in full; the digest to hold it to stays."""
    record = _read_record(entry)
    if record is not None:
        write_record(entry, replace(record, mtime_ns=0))


def _state(entry: ModelEntry) -> State:
    file = location(entry)
    if not file.is_file():
        return State.ABSENT
    record = _read_record(entry)
    expected = entry.bytes if entry.pinned else (record.bytes if record else -1)
    return State.CACHED if file.stat().st_size == expected else State.CORRUPT


def _absent(entry: ModelEntry) -> str:
    return f"{entry.name} is not in the model cache"


def _corrupt(entry: ModelEntry, why: str) -> str:
    return f"the cached {entry.name} is corrupt: {why}"


def _way_out(entry: ModelEntry) -> str:
    return f"`halldetect models pull {entry.name}` fetches it"
