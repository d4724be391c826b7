"""The store and the service on a real PostgreSQL server, started here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
import sqlalchemy as sa

from halldetect.errors import ServiceError
from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings
from halldetect_serve.storage import access_tokens as tokens_module
from halldetect_serve.storage.access_tokens import TokenStore
from halldetect_serve.storage.database import Database
from halldetect_serve.storage.report_store import ReportStore, Retention
from halldetect_serve.worker.supervisor import WorkerSupervisor
from tests.support import store_checks
from tests.support.api_requests import ASKED, refused
from tests.support.postgres import Server, postgres_server
from tests.support.running import eventually, http_front

pytestmark = pytest.mark.database


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def url(server: Server, request: pytest.FixtureRequest) -> str:
    """A database of its own for each test."""
    return server.create(f"t{abs(hash(request.node.nodeid))}")


@pytest.fixture
def database(url: str) -> Iterator[Database]:
    database = Database(url)
    yield database
    database.close()


def everything(database: Database) -> bytes:
    with database.reading() as connection:
        rows = connection.execute(sa.text("SELECT * FROM tokens")).all()
    return repr(rows).encode()


def test_reports(database: Database) -> None:
    database.migrate()
    store_checks.check_reports(database)


def test_filters_and_reviews(database: Database) -> None:
    database.migrate()
    store_checks.check_filters_and_reviews(database)


def test_retention(database: Database) -> None:
    database.migrate()
    store_checks.check_retention(database)


def test_migration(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    store_checks.check_migration(database, monkeypatch)


def test_failed_migration(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    database.migrate()
    store_checks.check_a_failed_migration_changes_nothing(database, monkeypatch)


def test_tokens(database: Database) -> None:
    database.migrate()
    store_checks.check_tokens(database, lambda: everything(database))


def test_text_that_postgresql_cannot_hold_never_gets_there(database: Database) -> None:
    """It knows no NUL; the report has none, whatever came in."""
    database.migrate()
    store = ReportStore(database, Retention())
    (name,) = store.add([store_checks.finished_report("The bridge \x00 opened \ud800 in 1923.")])
    assert "\ufffd" in store.get(name)[1]


def test_two_programs_can_migrate_at_once(url: str) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def open_it(_: int) -> None:
        database = Database(url)
        database.migrate()
        database.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(open_it, range(6)))


def test_no_server_and_no_such_database(server: Server) -> None:
    for url in (server.url("nothing"), "postgresql://postgres@127.0.0.1:9/x"):
        database = Database(url)
        with pytest.raises(ServiceError, match="cannot be used now") as caught:
            database.migrate()
        assert "postgres@" not in str(caught.value)
        database.close()


def test_the_database_goes_and_comes_back(
    server: Server, url: str, supervisor: WorkerSupervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens_module, "CACHE_SECONDS", 0.0)
    settings = ServiceSettings(StorageSettings(url, reports=True), auth=True, limits=Limits(rate=0))
    open_settings = ServiceSettings(StorageSettings(url, reports=True), limits=Limits(rate=0))
    with (
        http_front(settings, supervisor) as guarded,
        http_front(open_settings, supervisor) as service,
    ):
        database = Database(url)
        secret = TokenStore(database).create("all", ["admin"])
        database.close()
        with guarded.client(secret) as known, service.client() as client:
            stored = known.post("/v1/check", json={**ASKED, "store": True}).json()["stored"]
            server.stop()
            try:
                check_without(known, client, stored["url"])
            finally:
                server.start()
            eventually(lambda: known.get(stored["url"]).status_code == 200)
            again = client.post("/v1/check", json={**ASKED, "store": True}).json()
            assert again["stored"] is not None


def test_under_load_every_check_is_answered_while_the_database_is_away(
    server: Server, url: str, supervisor: WorkerSupervisor
) -> None:
    settings = ServiceSettings(StorageSettings(url, reports=True), limits=Limits(rate=0))
    with http_front(settings, supervisor) as service, service.client() as client:
        client.delete("/v1/reports").raise_for_status()
        over = Event()

        def ask(_: int) -> list[bool]:
            stored = []
            while not over.is_set():
                answer = client.post("/v1/check", json={**ASKED, "store": True})
                assert answer.status_code == 200
                body = answer.json()
                assert (body["stored"] is None) == (body["store_error"] is not None)
                stored.append(body["stored"] is not None)
            return stored

        with ThreadPoolExecutor(4) as pool:
            asking = [pool.submit(ask, number) for number in range(4)]
            try:
                for _ in range(2):
                    time.sleep(0.5)
                    server.stop()
                    time.sleep(0.5)
                    server.start()
                    eventually(lambda: client.get("/v1/reports").status_code == 200)
                time.sleep(0.5)
            finally:
                over.set()
            answers = [answer for done in asking for answer in done.result()]
        assert not all(answers)
        assert any(answers)
        count = client.get("/v1/reports/summary").json()["total"]
        # One whose transaction ended with the server may be there all the same.
        assert sum(answers) <= count <= len(answers)
        assert all(client.get("/v1/reports").status_code == 200 for _ in range(20))


def check_without(known: Any, client: Any, address: str) -> None:
    """While the database is away, what needs it says so, and the rest goes on."""
    message = refused(known.get("/v1/models"), "store_unavailable")
    assert "database" in message
    assert "SELECT" not in message
    body = client.post("/v1/check", json={**ASKED, "store": True}).json()
    assert body["report"]["verdict"] == "hallucinated"
    assert body["store_error"]["code"] == "store_unavailable"
    refused(client.get(address), "store_unavailable")
    assert client.get("/healthz").status_code == 200
