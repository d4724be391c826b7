"""What every database has to do; SQLite and PostgreSQL are held to the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from halldetect import Detector
from halldetect.errors import ConfigurationError, InputError, ServiceError
from halldetect.serve.storage import database as module
from halldetect.serve.storage.access_tokens import Tokens
from halldetect.serve.storage.database import MIGRATIONS, Database, reports
from halldetect.serve.storage.report_store import DAY, Retention, Store
from halldetect.serve.worker.process import facts
from halldetect.serve.worker.worker_client import FinishedReport
from tests.support.fakes import OverlapVerifier, SentenceExtractor

SOURCE = "The bridge opened in 1932. It is 503 metres long."


def finding(response: str = "The bridge opened in 1923.") -> FinishedReport:
    report = Detector(SentenceExtractor(), OverlapVerifier()).check(SOURCE, response)
    return FinishedReport(report.to_json(indent=None), facts(report))


def check_reports(database: Database) -> None:
    store = Store(database, Retention())
    good, bad = finding("It is 503 metres long."), finding()
    names = store.add([good, bad])
    assert store.get(names[0])[1] == good.report
    listed = store.page(10, None, None)
    assert [row["id"] for row in listed["reports"]] == names[::-1]
    assert listed["next"] is None
    only = store.page(10, None, "faithful")["reports"]
    assert [row["id"] for row in only] == [names[0]]
    seen: list[str] = []
    names += store.add([finding() for _ in range(5)])
    before: str | None = None
    while True:
        page = store.page(2, before, None)
        seen += [row["id"] for row in page["reports"]]
        before = page["next"]
        if before is None:
            break
    assert seen == names[::-1]
    with pytest.raises(ServiceError, match="cursor"):
        store.page(2, "nonsense", None)
    summary = store.summary(30)
    assert (summary["total"], summary["verdicts"]["hallucinated"]) == (7, 6)
    assert summary["claims"]["supported"] == 1
    assert summary["by_day"][0]["faithful"] == 1
    store.delete(names[0])
    with pytest.raises(ServiceError, match="no such report"):
        store.get(names[0])
    with pytest.raises(ServiceError, match="no such report"):
        store.delete(names[0])
    assert store.clear() == 6
    assert store.summary(30)["hallucination_rate"] is None


def check_retention(database: Database) -> None:
    everything = Store(database, Retention())
    names = everything.add([finding() for _ in range(4)])
    with database.transaction() as connection:
        old = sa.update(reports).where(reports.c.id == names[3])
        connection.execute(old.values(created=time.time() - 3 * DAY))
    assert Store(database, Retention(days=2)).prune() == 1
    assert Store(database, Retention(count=2)).prune() == 1
    left = [row["id"] for row in everything.page(10, None, None)["reports"]]
    assert left == [names[2], names[1]]
    (fifth,) = Store(database, Retention(count=1)).add([finding()])
    assert [row["id"] for row in everything.page(10, None, None)["reports"]] == [fifth]
    everything.clear()


def check_migration(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database of the first version, with a report in it, opened by this one."""
    with monkeypatch.context() as patch:
        patch.setattr(module, "MIGRATIONS", MIGRATIONS[:1])
        database.migrate()
    made = finding()
    with database.transaction() as connection:
        connection.execute(
            sa.text("INSERT INTO reports (id, created, report) VALUES ('old', :t, :r)"),
            {"t": time.time(), "r": made.report},
        )
    database.migrate()
    database.migrate()
    store = Store(database, Retention())
    (row,) = store.page(10, None, "hallucinated")["reports"]
    assert (row["id"], row["score"]) == ("old", made.facts["score"])
    store.clear()
    with monkeypatch.context() as patch:
        patch.setattr(module, "MIGRATIONS", MIGRATIONS[:1])
        with pytest.raises(ConfigurationError, match="update halldetect"):
            database.migrate()


def check_a_failed_migration_changes_nothing(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(connection: Any) -> None:
        connection.execute(sa.text("ALTER TABLE reports ADD COLUMN half TEXT"))
        raise RuntimeError("half way")

    with monkeypatch.context() as patch:
        patch.setattr(module, "MIGRATIONS", (*MIGRATIONS, broken))
        with pytest.raises(RuntimeError):
            database.migrate()
    columns = {column["name"] for column in sa.inspect(database.engine).get_columns("reports")}
    assert "half" not in columns
    database.migrate()


def check_tokens(database: Database, all_text: Callable[[], bytes]) -> None:
    tokens = Tokens(database)
    secret = tokens.create("ci", ["check", "read"])
    found = tokens.find(secret)
    assert found is not None
    assert (found.name, found.may("check"), found.may("admin")) == ("ci", True, False)
    assert tokens.find(secret + "x") is None
    with pytest.raises(InputError, match="already"):
        tokens.create("ci", ["read"])
    for name, scopes, message in (("a b", ["read"], "name is"), ("x", [], "needs a scope")):
        with pytest.raises(InputError, match=message):
            tokens.create(name, scopes)
    assert [token.name for token in tokens.all()] == ["ci"]
    assert secret.encode() not in all_text()
    tokens.revoke("ci")
    with pytest.raises(InputError, match="no token"):
        tokens.revoke("ci")
    assert Tokens(database).find(secret) is None
