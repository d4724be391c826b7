"""The store and the service on a real PostgreSQL server, started here."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

from halldetect.errors import ServiceError
from halldetect_serve.database import Database
from halldetect_serve.report_store import ReportStore
from halldetect_serve.settings import Limits, ServiceSettings, StorageSettings
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


@pytest.mark.parametrize("name", ["reports", "filters_and_reviews", "retention"])
def test_store(database: Database, name: str) -> None:
    database.create()
    getattr(store_checks, f"check_{name}")(database)


def test_schema(database: Database) -> None:
    store_checks.check_schema(database)


def test_text_that_postgresql_cannot_hold(database: Database) -> None:
    """It knows no NUL; the report has none, whatever came in."""
    database.create()
    store = ReportStore(database, store_checks.LIMITS)
    (name,) = store.add([store_checks.finished_report("The bridge \x00 opened \ud800 in 1923.")])
    assert "\ufffd" in store.get(name).json


def test_two_programs_create_at_once(url: str) -> None:
    def open_it(_: int) -> None:
        database = Database(url)
        database.create()
        database.close()

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(open_it, range(6)))


def test_no_server_and_no_such_database(server: Server) -> None:
    for url in (server.url("nothing"), "postgresql://postgres@127.0.0.1:9/x"):
        database = Database(url)
        with pytest.raises(ServiceError, match="cannot be used now") as caught:
            database.create()
        assert "postgres@" not in str(caught.value)
        database.close()


def test_database_goes_and_comes_back(server: Server, url: str) -> None:
    settings = ServiceSettings(StorageSettings(url, reports=True), limits=Limits(rate=0))
    with http_front(settings) as service, service.client() as client:
        stored = client.post("/v1/check", json={**ASKED, "store": True}).json()["stored"]
        server.stop()
        try:
            check_without(client, stored["url"])
        finally:
            server.start()
        eventually(lambda: client.get(stored["url"]).status_code == 200)
        again = client.post("/v1/check", json={**ASKED, "store": True}).json()
        assert again["stored"] is not None


def test_load_while_database_is_away(server: Server, url: str) -> None:
    settings = ServiceSettings(StorageSettings(url, reports=True), limits=Limits(rate=0))
    with http_front(settings) as service, service.client() as client:
        client.delete("/v1/reports?all=true").raise_for_status()
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


def check_without(client: Any, address: str) -> None:
    """While the database is away, requests that need it fail, and the rest works."""
    message = refused(client.get(address), "store_unavailable")
    assert "database" in message
    assert "SELECT" not in message
    body = client.post("/v1/check", json={**ASKED, "store": True}).json()
    assert body["report"]["verdict"] == "hallucinated"
    assert body["store_error"]["code"] == "store_unavailable"
    assert client.get("/healthz").status_code == 200
