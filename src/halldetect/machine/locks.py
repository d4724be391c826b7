"""Let several processes share a file: locks of outputs, and the log of a SQLite file."""

from __future__ import annotations

import sqlite3
import sys
from time import monotonic, sleep

from halldetect.errors import InputError


def lock_for_writing(descriptor: int, name: str) -> None:
    """Lock an open file for this process; the system releases the lock when the process ends.

    If another process has the lock, the InputError shows the `name` of the output.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        raise InputError(f"another run is writing {name!r}; wait for it") from error


def use_write_ahead_log(connection: sqlite3.Connection, seconds: float) -> None:
    """Switch to the write-ahead log; SQLite's own timeout does not cover this statement."""
    deadline = monotonic() + seconds
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # less its extension
            if not busy or monotonic() > deadline:
                raise
            sleep(0.02)
