"""Cache reports by their texts and settings, in a SQLite file that several processes may share.

A failure of the cache costs time, never a result: the report of a damaged entry is made again.
"""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

from halldetect.errors import InputError
from halldetect.inputs import CleanPair, Pair, clean_pair
from halldetect.machine.locks import use_write_ahead_log
from halldetect.report import Report
from halldetect.report.json_form import plain

DEFAULT_LIMIT_BYTES = 1 << 30
_FORMAT = 6  # of an entry
_BUSY_SECONDS = 60.0
_TEXTS = ("response", "question", "documents", "document_names", "document_metadata")
_TABLE = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, report BLOB NOT NULL)"


class ReportCache:
    """Reports of earlier checks, without their whole texts, in a folder or a temporary file.

    `settings` is all but the texts that a report depends on. Above a `limit` in bytes, the cache
    begins again. `notice` gets a line if the cache fails.
    """

    def __init__(
        self,
        folder: Path | str | None,
        settings: Mapping[str, Any],
        *,
        limit: int = DEFAULT_LIMIT_BYTES,
        notice: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._limit, self._notice = limit, notice
        self._settings = json.dumps([_FORMAT, settings], sort_keys=True).encode()
        self._store: sqlite3.Connection | None = None
        try:
            if folder is not None:
                Path(folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            path = "" if folder is None else Path(folder, "reports.sqlite")
            self._store = sqlite3.connect(path, timeout=_BUSY_SECONDS)
            if folder is not None:
                use_write_ahead_log(self._store, _BUSY_SECONDS)
            self._store.execute("PRAGMA synchronous = NORMAL")
            self._store.execute(_TABLE)
        except (OSError, sqlite3.Error) as error:
            self.close()
            if folder is not None:  # without temporary space, use no cache
                where = f"cannot use the cache {str(folder)!r}"
                raise InputError(f"{where}: {error}; delete it or name another folder") from error

    def key(self, pair: Pair) -> bytes:
        """Return the key of a pair: a digest of its texts and the settings."""
        taken = clean_pair(pair)
        texts = json.dumps([_texts(taken), taken.notes]).encode()
        return blake2b(self._settings + texts, digest_size=24).digest()

    def get(self, wanted: Mapping[bytes, Pair]) -> dict[bytes, Report]:
        """Return the cached reports of the wanted keys, without timings."""
        found: dict[bytes, Report] = {}
        with self._using() as store:
            for key, pair in wanted.items() if store else ():
                row = store.execute("SELECT report FROM entries WHERE key = ?", (key,)).fetchone()
                if row and (report := _unpacked(row[0], pair)) is not None:
                    found[key] = report
        return found

    def put(self, reports: Mapping[bytes, Report]) -> None:
        """Store the reports that another check of the same pair would repeat."""
        packed = [
            (key, _packed(report))
            for key, report in reports.items()
            # A failure may not recur, and retrieved passages are not part of the pair.
            if report.score is not None and not report.provenance.configuration.get("knowledge")
        ]
        with self._using() as store:
            if store and packed:
                if _size(store) > self._limit:
                    store.execute("DELETE FROM entries")
                store.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?)", packed)

    @contextmanager
    def _using(self) -> Iterator[Any]:
        """Yield the open file in a transaction, or None; errors disable the cache."""
        try:
            with self._store or nullcontext() as store:
                yield store
        except sqlite3.Error as error:
            self._notice(f"continuing without the cache: {error}")
            self._store = None

    def close(self) -> None:
        """Close the file."""
        if self._store is not None:
            self._store.close()
        self._store = None


def _packed(report: Report) -> bytes:
    fields = without_cost(report).to_dict().items()
    kept = {name: value for name, value in fields if name not in _TEXTS}
    return zlib.compress(json.dumps(kept).encode(), 1)


def _unpacked(data: bytes, pair: Pair) -> Report | None:
    """Return the report of an entry; None if it is damaged, which its checksum shows."""
    try:
        return Report.from_dict({**json.loads(zlib.decompress(data)), **_texts(clean_pair(pair))})
    except (zlib.error, ValueError):
        return None


def _texts(pair: CleanPair) -> dict[str, Any]:
    """Return the fields of a report that hold the texts of its pair."""
    fields = {name: plain(getattr(pair, name)) for name in _TEXTS}
    if not pair.document_metadata:  # optional in a report
        del fields["document_metadata"]
    return fields


def _size(store: sqlite3.Connection) -> int:
    """Return the bytes in use, without the free pages of deleted entries."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (store.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return int((pages - free) * size)


def without_cost(report: Report) -> Report:
    """Return the report without timings, for a pair checked before."""
    return replace(report, cost=replace(report.cost, seconds={}))
