"""Room on the disk that is kept for deleting: on a full disk, deleting needs room as well."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

RESERVE_BYTES = 8_000_000
# The reserve is taken only from a disk that has so much room.
_MIN_FREE_BYTES = 12_000_000
_SUFFIX = ".reserve"


class DiskReserve:
    """A file of zeros beside the database; removing it makes room.

    Args:
        database: the file of the database; None for a database that is not a file.
    """

    def __init__(self, database: Path | None) -> None:
        self._file = None if database is None else database.with_name(database.name + _SUFFIX)

    def fill(self) -> None:
        """Take the room, if it is there and not taken yet."""
        if self._file is None or self._file.exists():
            return
        with suppress(OSError):
            if shutil.disk_usage(self._file.parent).free < _MIN_FREE_BYTES:
                return
            descriptor = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            try:
                for _ in range(0, RESERVE_BYTES, 65536):
                    os.write(descriptor, bytes(65536))
            except OSError:
                self._file.unlink(missing_ok=True)
            finally:
                os.close(descriptor)

    def release(self) -> bool:
        """Give the room back to the disk; False where there is none."""
        if self._file is None:
            return False
        try:
            self._file.unlink()
        except OSError:
            return False
        return True
