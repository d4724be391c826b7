"""A cache of reports, by the texts they were made from and the settings they were made with.

It is a SQLite file that several processes may use at once. It holds no whole source or response,
only reports (which quote both). A failure of the cache costs time, never a result: each entry
carries a digest over its key, the settings and its content, and is checked when it is read; a bad
entry is dropped and the report made again, and a file that is no cache is put aside.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from time import time
from typing import Any

from halldetect.errors import InputError
from halldetect.inputs import Pair, clean_pair
from halldetect.report import Report, decide

FILE_NAME = "reports.sqlite"
DEFAULT_LIMIT_BYTES = 1 << 30
# Of a cache without a folder: a temporary file, for repetitions within one run.
TEMPORARY_LIMIT_BYTES = 256 << 20
_FORMAT = 2
_DIGEST_BYTES = 24
# What is appended to the name of a file that cannot be used.
UNUSABLE_SUFFIX = ".unusable"
# A full cache frees this share of itself, so that not every new report costs a deletion.
_FREED_SHARE = 0.1
_TEXTS = ("response", "documents", "document_names", "question")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS reports (
    key BLOB PRIMARY KEY, used INTEGER NOT NULL, size INTEGER NOT NULL, report BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS by_use ON reports (used);
CREATE TABLE IF NOT EXISTS held (bytes INTEGER NOT NULL);
INSERT INTO held SELECT 0 WHERE NOT EXISTS (SELECT * FROM held);
CREATE TRIGGER IF NOT EXISTS more AFTER INSERT ON reports BEGIN
    UPDATE held SET bytes = bytes + new.size; END;
CREATE TRIGGER IF NOT EXISTS less AFTER DELETE ON reports BEGIN
    UPDATE held SET bytes = bytes - old.size; END;
"""


class ReportCache:
    """Reports of earlier checks.

    Args:
        folder: where the cache file is; None is a temporary file.
        settings: everything but the texts that a report depends on.
        limit: the size in bytes beyond which the longest unused reports are deleted.
        notice: receives a line if the cache cannot be used any further.
    """

    def __init__(
        self,
        folder: Path | None,
        settings: Mapping[str, Any],
        *,
        limit: int | None = None,
        notice: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._limit = limit or (TEMPORARY_LIMIT_BYTES if folder is None else DEFAULT_LIMIT_BYTES)
        self._notice = notice
        self._settings = json.dumps(settings, sort_keys=True).encode()
        self._configuration = settings.get("configuration")
        self._lock = Lock()
        self._store: sqlite3.Connection | None = None
        try:
            if folder is not None:
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._store = _opened("") if folder is None else self._open(folder / FILE_NAME)
        except (OSError, sqlite3.Error) as error:
            if folder is None:  # no room for temporary files: go without
                return
            why = error.strerror if isinstance(error, OSError) else error
            raise InputError(f"cannot use the cache {str(folder)!r}: {why}") from error

    @classmethod
    def disabled(cls) -> ReportCache:
        """A cache that holds nothing and keeps nothing."""
        cache = cls.__new__(cls)
        cache._settings, cache._lock, cache._store = b"", Lock(), None
        cache._configuration = None
        cache._limit, cache._notice = 0, lambda line: None
        return cache

    def _open(self, file: Path) -> sqlite3.Connection:
        """Open the file; one that is damaged or of another version is put aside."""
        try:
            return _opened(str(file))
        except sqlite3.OperationalError:  # it cannot be written, or another process holds it
            raise
        except sqlite3.DatabaseError as error:
            aside = file.with_name(file.name + UNUSABLE_SUFFIX)
            file.replace(aside)
            for rest in ("-wal", "-shm"):
                file.with_name(file.name + rest).unlink(missing_ok=True)
            self._notice(
                f"the cache cannot be read ({error}); it is now {aside.name}, a new one begins"
            )
            return _opened(str(file))

    def key(self, pair: Pair) -> bytes:
        """The key of a pair: a digest of its texts and the settings."""
        taken = clean_pair(pair)
        texts = [taken.documents, taken.document_names, taken.response, taken.question]
        digest = blake2b(self._settings, digest_size=24)
        digest.update(json.dumps([*texts, taken.replaced]).encode())
        return digest.digest()

    def get(self, wanted: Mapping[bytes, Pair]) -> dict[bytes, Report]:
        """The cached reports of the wanted keys, with the texts of their pairs and no timings."""
        found: dict[bytes, bytes] = {}
        with self._using() as store:
            if store is not None:
                for key in wanted:
                    row = store.execute("SELECT report FROM reports WHERE key = ?", (key,))
                    if (held := row.fetchone()) is not None:
                        found[key] = held[0]
                if found:
                    with _transaction(store):
                        now = _now()
                        store.executemany(
                            "UPDATE reports SET used = ? WHERE key = ?",
                            [(now, key) for key in found],
                        )
        reports = {key: self._checked(key, data, wanted[key]) for key, data in found.items()}
        self._drop([key for key, report in reports.items() if report is None])
        return {key: report for key, report in reports.items() if report is not None}

    def _checked(self, key: bytes, data: bytes, pair: Pair) -> Report | None:
        """The report of an entry; None if the entry is not what was written for this key."""
        content = data[_DIGEST_BYTES:]
        if data[:_DIGEST_BYTES] != self._digest(key, content):
            return None
        report = _unpacked(content, pair)
        if report is None or report.provenance.configuration != self._configuration:
            return None
        expected = decide(report.score, report.claims, report.threshold)
        return report if report.verdict == expected else None

    def _digest(self, key: bytes, content: bytes) -> bytes:
        digest = blake2b(self._settings, digest_size=_DIGEST_BYTES)
        digest.update(key)
        digest.update(content)
        return digest.digest()

    def _drop(self, keys: Sequence[bytes]) -> None:
        if not keys:
            return
        self._notice(f"damaged entries of the cache, made again: {len(keys)}")
        with self._using() as store:
            if store is not None:
                with _transaction(store):
                    store.executemany("DELETE FROM reports WHERE key = ?", [(key,) for key in keys])

    def put(self, reports: Mapping[bytes, Report]) -> None:
        """Keep the reports that another check of the same pair would repeat."""
        packed = {}
        for key, report in reports.items():
            if is_repeatable(report):
                content = _packed(report)
                packed[key] = self._digest(key, content) + content
        with self._using() as store:
            if store is None or not packed:
                return
            now = _now()
            with _transaction(store):
                store.executemany(
                    "INSERT OR IGNORE INTO reports VALUES (?, ?, ?, ?)",
                    [
                        (key, now, len(data), data)
                        for key, data in packed.items()
                        if len(data) <= self._limit
                    ],
                )
                self._make_room(store)
            store.execute("PRAGMA incremental_vacuum").fetchall()

    def _make_room(self, store: sqlite3.Connection) -> None:
        (held,) = store.execute("SELECT bytes FROM held").fetchone()
        if held <= self._limit:
            return
        excess = held - int(self._limit * (1 - _FREED_SHARE))
        oldest = []
        for key, size in store.execute("SELECT key, size FROM reports ORDER BY used, rowid"):
            if excess <= 0:
                break
            oldest.append((key,))
            excess -= size
        store.executemany("DELETE FROM reports WHERE key = ?", oldest)

    @contextmanager
    def _using(self) -> Iterator[sqlite3.Connection | None]:
        with self._lock:
            try:
                yield self._store
            except sqlite3.Error as error:
                self._notice(f"going on without the cache: {error}")
                self._abandon()

    def _abandon(self) -> None:
        if self._store is not None:
            store, self._store = self._store, None
            store.close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._abandon()


def without_cost(report: Report) -> Report:
    """The report without timings, for a pair that was checked before."""
    return replace(report, cost=replace(report.cost, seconds={}))


def _opened(path: str) -> sqlite3.Connection:
    # Python would open transactions by itself; here they are explicit.
    store = sqlite3.connect(path, timeout=60, isolation_level=None, check_same_thread=False)
    try:
        store.execute("PRAGMA auto_vacuum = INCREMENTAL")
        store.execute(f"PRAGMA journal_mode = {'WAL' if path else 'MEMORY'}")
        store.execute("PRAGMA synchronous = NORMAL")
        with _transaction(store):
            (format,) = store.execute("PRAGMA user_version").fetchone()
            if format not in (0, _FORMAT):
                raise sqlite3.DatabaseError(f"it has format {format}, not {_FORMAT}")
            for statement in _statements(_SCHEMA):
                store.execute(statement)
            store.execute(f"PRAGMA user_version = {_FORMAT}")
    except BaseException:
        store.close()
        raise
    return store


def _statements(script: str) -> Iterator[str]:
    """`executescript` would end the transaction around it."""
    statement = ""
    for line in script.splitlines():
        statement += f"{line}\n"
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def _transaction(store: sqlite3.Connection) -> Iterator[None]:
    store.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        if store.in_transaction:
            store.execute("ROLLBACK")
        raise
    store.execute("COMMIT")


def _now() -> int:
    return int(time() * 1000)


def is_repeatable(report: Report) -> bool:
    """A failure may not happen again, and a refusal is as cheap as a look into the cache.

    The texts of a report are those of its pair, except for passages that were retrieved.
    """
    if report.provenance.configuration.get("knowledge") is not None:
        return False
    return report.score is not None and not any(
        note.startswith("the extractor failed") for note in report.provenance.notes
    )


def _packed(report: Report) -> bytes:
    plain = without_cost(report).to_dict()
    kept = {name: value for name, value in plain.items() if name not in _TEXTS}
    return zlib.compress(json.dumps(kept, separators=(",", ":")).encode(), 1)


def _unpacked(data: bytes, pair: Pair) -> Report | None:
    """None where the bytes are not what was written."""
    try:
        taken = clean_pair(pair)
        texts = {
            "response": taken.response,
            "documents": list(taken.documents),
            "document_names": list(taken.document_names),
            "question": taken.question,
        }
        return Report.from_dict({**json.loads(zlib.decompress(data)), **texts})
    except (ValueError, TypeError, zlib.error, InputError):
        return None
