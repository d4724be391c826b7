"""Reports and tokens in SQLite."""

from __future__ import annotations

import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from halldetect.errors import ConfigurationError, ServiceError
from halldetect_serve.storage.access_tokens import TokenStore, token_digest
from halldetect_serve.storage.database import Database
from halldetect_serve.storage.report_store import DAY_SECONDS, ReportStore, Retention
from tests.support import store_checks
from tests.support.store_checks import finished_report


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    database = Database(f"sqlite:///{tmp_path / 'serve.db'}")
    yield database
    database.close()


def written(folder: Path) -> bytes:
    """Every byte that the database has on disk: its file, its journal, its index."""
    return b"".join(path.read_bytes() for path in folder.iterdir())


def test_reports(database: Database) -> None:
    database.migrate()
    store_checks.check_reports(database)


def test_filters_and_reviews(database: Database) -> None:
    database.migrate()
    store_checks.check_filters_and_reviews(database)


def test_a_database_of_the_first_version_gets_reviews(database: Database) -> None:
    database.migrate()
    (name,) = ReportStore(database, Retention()).add([finished_report()])
    with database.transaction() as connection:
        connection.execute(sa.text("DROP TABLE reviews"))
        connection.execute(sa.text("UPDATE halldetect_schema SET version = 1"))
    database.migrate()
    assert ReportStore(database, Retention()).review(name) is None


def test_retention(database: Database) -> None:
    database.migrate()
    store_checks.check_retention(database)


def test_migration(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store_checks.check_migration(database, monkeypatch)


def test_failed_migration(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.migrate()
    store_checks.check_a_failed_migration_changes_nothing(database, monkeypatch)


def test_a_secret_is_looked_up_by_its_digest_only(database: Database) -> None:
    # The database compares digests: how long it takes tells nothing of how much of a secret is
    # right, because secrets that begin alike have digests that do not.
    database.migrate()
    store = TokenStore(database)
    secret = store.create("team", ["check"])
    sent: list[str] = []

    @sa.event.listens_for(database.engine, "before_cursor_execute")
    def note(_: Any, __: Any, statement: str, parameters: Any, *rest: Any) -> None:
        sent.append(f"{statement} {parameters}")

    nearly = secret[:-1] + ("a" if secret[-1] != "a" else "b")
    assert store.find(secret) is not None
    assert store.find(nearly) is None
    asked = " ".join(sent)
    assert token_digest(secret) in asked
    assert token_digest(nearly) in asked
    assert secret[:12] not in asked


def test_tokens(database: Database, tmp_path: Path) -> None:
    database.migrate()
    store_checks.check_tokens(database, lambda: written(tmp_path))


def test_it_writes_ahead(database: Database) -> None:
    database.migrate()
    with database.reading() as connection:
        assert connection.execute(sa.text("PRAGMA journal_mode")).scalar() == "wal"


def test_nobody_else_may_read_the_file(database: Database, tmp_path: Path) -> None:
    database.migrate()
    ReportStore(database, Retention()).add([finished_report()])
    for path in tmp_path.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_what_is_deleted_is_gone_from_the_disk(database: Database, tmp_path: Path) -> None:
    database.migrate()
    store = ReportStore(database, Retention())
    marked = finished_report("Zanzibarquux was never here. " * 40)
    (name,) = store.add([marked])
    kept = store.add([finished_report() for _ in range(3)])
    assert b"Zanzibarquux" in written(tmp_path)
    store.delete(name)
    assert b"Zanzibarquux" not in written(tmp_path)
    assert [row["id"] for row in store.list_reports(9)["reports"]] == kept[::-1]


def test_retention_deletes_for_good_too(database: Database, tmp_path: Path) -> None:
    database.migrate()
    store = ReportStore(database, Retention(count=1))
    store.add([finished_report("Zanzibarquux was never here.")])
    store.add([finished_report()])
    assert b"Zanzibarquux" not in written(tmp_path)


@pytest.mark.parametrize("days", [400, -400])
def test_a_clock_that_jumps_deletes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    database.migrate()
    store = ReportStore(database, Retention(days=30))
    (before,) = store.add([finished_report()])
    clock = time.time
    monkeypatch.setattr(time, "time", lambda: clock() + days * DAY_SECONDS)
    (after,) = store.add([finished_report()])
    assert store.get(before), "a month old, by a clock that was set ahead"
    if days > 0:
        assert store.get(after)


def test_a_full_disk_is_a_problem_and_no_more(database: Database) -> None:
    """SQLite's own limit gives the very error of a full disk."""
    database.migrate()
    store = ReportStore(database, Retention())
    (name,) = store.add([finished_report()])
    with database.engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        pages = raw.execute("PRAGMA page_count").fetchone()[0]
        raw.execute(f"PRAGMA max_page_count={pages}")
    with pytest.raises(ServiceError, match="disk is full") as caught:
        store.add([finished_report("A long text follows here. " * 400)])
    assert (caught.value.code, caught.value.status) == ("store_unavailable", 503)
    with database.engine.connect() as connection:
        raw = connection.connection.driver_connection
        assert raw is not None
        raw.execute("PRAGMA max_page_count=1000000")
    assert store.get(name)
    assert store.add([finished_report("A long text follows here. " * 400)])


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    place = tmp_path / "serve.db"
    place.write_bytes(b"not a database" * 100)
    with pytest.raises(ServiceError, match="cannot be used"):
        Database(f"sqlite:///{place}").migrate()


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "must look like"),
        ("mysql://a/b", "SQLite or PostgreSQL"),
        ("sqlite://", "name a file"),
        ("sqlite:////no/such/folder/x.db", "no folder"),
    ],
)
def test_urls_that_make_no_sense(url: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Database(url)


def test_two_programs_can_migrate_at_once(tmp_path: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    url = f"sqlite:///{tmp_path / 'serve.db'}"

    def open_it(_: int) -> None:
        database = Database(url)
        database.migrate()
        ReportStore(database, Retention()).add([finished_report()])
        database.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(open_it, range(8)))
    database = Database(url)
    assert ReportStore(database, Retention()).summary(1)["total"] == 8
    database.close()
