"""A disk that is really full, or can only be read: a file system of a few megabytes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from halldetect.errors import ConfigurationError, ServiceError
from halldetect_serve.storage.database import Database
from halldetect_serve.storage.disk_reserve import RESERVE_BYTES
from halldetect_serve.storage.report_store import ReportStore, Retention
from tests.support.store_checks import finished_report

SIZE_MB = 18
LONG = "goes on and " * 10_000


def mount(*options: str) -> bool:
    try:
        return subprocess.run(["mount", *options], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    if not mount("-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(place)):
        pytest.skip("file systems can be mounted by root only")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.fixture
def database(disk: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{disk / 'serve.db'}")
    database.migrate()
    yield database
    database.close()


def fill(disk: Path) -> None:
    """Leave no byte free."""
    for size in (65536, 4096, 1):
        with (disk / "rest").open("ab", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def free(disk: Path) -> int:
    stat = os.statvfs(disk)
    return stat.f_bavail * stat.f_frsize


@pytest.mark.parametrize("all_at_once", [False, True])
def test_reports_can_be_deleted_from_a_full_disk(
    database: Database, disk: Path, all_at_once: bool
) -> None:
    assert (disk / "serve.db.reserve").stat().st_size >= RESERVE_BYTES
    store = ReportStore(database, Retention())
    ids = [store.add([finished_report(f"Text {at} {LONG}.")])[0] for at in range(6)]
    fill(disk)
    assert free(disk) == 0
    with pytest.raises(ServiceError, match="disk is full"):
        store.add([finished_report(f"More text {LONG}.")])
    if all_at_once:
        assert store.delete_all() == 6
    else:
        for id in ids:
            store.delete(id)
    assert store.list_reports(10, None)["reports"] == []
    assert free(disk) > RESERVE_BYTES / 2, "what was kept is used up as long as there is no more"
    assert store.add([finished_report("Little.")])
    (disk / "rest").unlink()
    database.migrate()  # the next start
    assert (disk / "serve.db.reserve").exists()


def test_a_disk_that_can_only_be_read(database: Database, disk: Path) -> None:
    store = ReportStore(database, Retention())
    (id,) = store.add([finished_report()])
    database.close()
    assert mount("-o", "remount,ro", str(disk))
    with pytest.raises(ServiceError) as caught:
        store.add([finished_report()])
    assert caught.value.code == "store_unavailable"
    with pytest.raises(ServiceError):
        store.delete(id)
    with pytest.raises(ConfigurationError, match="cannot write the database"):
        Database(f"sqlite:///{disk / 'serve.db'}")
    assert mount("-o", "remount,rw", str(disk))
    assert store.get(id)
