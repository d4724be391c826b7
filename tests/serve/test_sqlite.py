"""Reports in SQLite."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

from halldetect.errors import ConfigurationError, ServiceError
from halldetect_serve.database import Database
from halldetect_serve.report_store import DAY_SECONDS, ReportStore
from halldetect_serve.settings import StorageSettings
from tests.support import store_checks
from tests.support.paths import ROOT
from tests.support.store_checks import LIMITS, finished_report


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'serve.db'}")
    database.create()
    yield database
    database.close()


def written(folder: Path) -> bytes:
    """Every byte that the database has on disk: its file, its journal, its index."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.mark.parametrize("name", ["reports", "filters_and_reviews", "retention", "schema"])
def test_store(database: Database, name: str) -> None:
    getattr(store_checks, f"check_{name}")(database)


def test_journal_and_permissions(database: Database, tmp_path: Path) -> None:
    ReportStore(database, LIMITS).add([finished_report()])
    with database.reading() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_deleted_text_leaves_disk(database: Database, tmp_path: Path) -> None:
    store = ReportStore(database, LIMITS)
    (name,) = store.add([finished_report("Zanzibarquux was never here. " * 40)])
    kept = store.add([finished_report() for _ in range(3)])
    assert b"Zanzibarquux" in written(tmp_path)
    store.delete(name)
    assert b"Zanzibarquux" not in written(tmp_path)
    assert [row["id"] for row in store.list_reports(9)["reports"]] == kept[::-1]


def test_retention_leaves_no_text(database: Database, tmp_path: Path) -> None:
    store = ReportStore(database, StorageSettings("", keep_reports=1))
    store.add([finished_report("Zanzibarquux was never here.")])
    store.add([finished_report()])
    assert b"Zanzibarquux" not in written(tmp_path)


@pytest.mark.parametrize("days", [400, -400])
def test_jumping_clock_deletes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    store = ReportStore(database, StorageSettings("", keep_days=30))
    (before,) = store.add([finished_report()])
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + days * DAY_SECONDS)
    (after,) = store.add([finished_report()])
    assert store.get(before), "a month old, by a clock that was set ahead"
    if days > 0:
        assert store.get(after)


def test_full_disk(database: Database) -> None:
    """SQLite's own limit gives the very error of a full disk."""
    store = ReportStore(database, LIMITS)
    (name,) = store.add([finished_report()])

    def limit(pages: str) -> None:
        with database.engine.connect() as connection:
            raw = connection.connection.driver_connection
            assert raw is not None
            raw.execute(f"PRAGMA max_page_count={pages}")

    limit("1")  # no more than there are
    long = finished_report("A long text follows here. " * 400)
    with pytest.raises(ServiceError, match="disk is full") as caught:
        store.add([long])
    assert (caught.value.code, caught.value.status) == ("store_unavailable", 503)
    assert store.get(name)
    limit("1000000")
    assert store.add([long])


KEEP_STORING = """
import sys
from tests.support.store_checks import LIMITS, finished_report
from halldetect_serve.database import Database
from halldetect_serve.report_store import ReportStore
database = Database(sys.argv[1])
database.create()
store, report = ReportStore(database, LIMITS), finished_report()
while True:
    print(*store.add([report, report]), flush=True)
"""


def test_killed_writer_loses_nothing(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serve.db'}"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}
    command = [sys.executable, "-c", KEEP_STORING, url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as writer:
        assert writer.stdout is not None
        stored = [writer.stdout.readline() for _ in range(20)]
        writer.kill()
        stored += [line for line in writer.stdout if line.endswith("\n")]
    database = Database(url)
    store = ReportStore(database, LIMITS)
    assert all(store.get(id) for line in stored for id in line.split())
    assert store.summary(1)["total"] % 2 == 0, "a batch is stored whole or not at all"
    database.close()


def test_file_that_is_not_a_database(tmp_path: Path) -> None:
    place = tmp_path / "serve.db"
    place.write_bytes(b"not a database" * 100)
    with pytest.raises(ServiceError, match="cannot be used"):
        Database(f"sqlite:///{place}").create()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "must look like"),
        ("mysql://a/b", "SQLite or PostgreSQL"),
        ("sqlite://", "name a file"),
        ("sqlite:////no/such/folder/x.db", "no folder"),
    ],
)
def test_bad_urls(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Database(url)


def test_eight_programs_create_at_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'serve.db'}"

    def open_it(_: int) -> None:
        database = Database(url)
        database.create()
        ReportStore(database, LIMITS).add([finished_report()])
        database.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(open_it, range(8)))
    database = Database(url)
    assert ReportStore(database, LIMITS).summary(1)["total"] == 8
    database.close()
