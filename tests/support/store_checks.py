"""The checks of every database: SQLite and PostgreSQL."""

from __future__ import annotations

import time
from datetime import date
from typing import Any

import pytest
import sqlalchemy as sa

from halldetect import Detector, Verdict
from halldetect.errors import ConfigurationError, ServiceError
from halldetect_serve.database import SCHEMA_VERSION, Database, reports, schema_version
from halldetect_serve.report_store import DAY_SECONDS, ReportStore
from halldetect_serve.schemas import Decision, ReportQuery, ReviewAnswer
from halldetect_serve.settings import StorageSettings
from halldetect_serve.worker.process import FinishedReport, report_overview
from tests.support.fakes import OverlapVerifier

LIMITS = StorageSettings("")
SOURCE = "The bridge opened in 1932. It is 503 metres long."


def finished_report(response: str = "The bridge opened in 1923.") -> FinishedReport:
    report = Detector(OverlapVerifier()).check(SOURCE, response)
    return FinishedReport(report.to_json(indent=None), report_overview(report))


def check_reports(database: Database) -> None:
    store = ReportStore(database, LIMITS)
    good, bad = finished_report("It is 503 metres long."), finished_report()
    names = store.add([good, bad])
    assert store.get(names[0]).json == good.json
    listed = store.list_reports(10)
    assert [row["id"] for row in listed["reports"]] == names[::-1]
    assert listed["next"] is None
    only = store.list_reports(10, wanted=ReportQuery(verdict=Verdict.FAITHFUL))["reports"]
    assert [row["id"] for row in only] == [names[0]]
    seen: list[str] = []
    names += store.add([finished_report() for _ in range(5)])
    before: str | None = None
    while True:
        page = store.list_reports(2, before)
        seen += [row["id"] for row in page["reports"]]
        before = page["next"]
        if before is None:
            break
    assert seen == names[::-1]
    summary = store.summary(30)
    assert (summary["total"], summary["verdicts"]["hallucinated"]) == (7, 6)
    assert summary["claims"]["supported"] == 1
    store.delete(names[0])
    with pytest.raises(ServiceError, match="no such report"):
        store.get(names[0])
    with pytest.raises(ServiceError, match="no such report"):
        store.delete(names[0])
    assert store.delete_all() == 6
    assert store.summary(30)["hallucination_rate"] is None


def check_filters_and_reviews(database: Database) -> None:
    store = ReportStore(database, LIMITS)
    good, bad, odd = store.add(
        [
            finished_report("It is 503 metres long."),
            finished_report("The bridge opened in 1923."),
            finished_report('It costs 100 % of a "Ferry".'),
        ]
    )

    def found(**wanted: Any) -> set[str]:
        listed = store.list_reports(10, wanted=ReportQuery(**wanted))["reports"]
        assert [row["id"] for row in listed] == [
            each.id for each in store.each(ReportQuery(**wanted))
        ]
        return {row["id"] for row in listed}

    assert found(state="supported") == {good}
    assert found(search="METRES") == {good}
    assert found(search='% of a "fer') == {odd}
    assert found(search="_") == set()
    assert found(id=[good, bad, "nobody"]) == {good, bad}
    with database.transaction() as connection:
        old = sa.update(reports).where(reports.c.id == good)
        connection.execute(old.values(created=1000.0))
    assert found(since=date(1970, 1, 2)) == {bad, odd}
    assert found(until=date(1970, 1, 1)) == {good}
    assert found(until=date.max) == {good, bad, odd}
    disagrees = [Decision(claim=1, decision="disagree")]
    agrees = [Decision(claim=1, decision="agree")]
    store.set_review(bad, ReviewAnswer(note="first", decisions=agrees))
    told = ReviewAnswer(note="It was a Tuesday", decisions=disagrees, reviewer="ann")
    store.set_review(bad, told.model_copy(update={"verdict": Verdict.FAITHFUL}))
    review = store.get(bad).review
    assert review is not None
    assert (review.note, review.decisions) == ("It was a Tuesday", disagrees)
    assert review.reviewer == "ann"
    assert store.get(good).review is None
    assert found(search="tuesday") == {bad}
    assert found(reviewed=True) == {bad}
    assert found(reviewed=False) == {good, odd}
    (row,) = store.list_reports(10, wanted=ReportQuery(reviewed=True))["reports"]
    assert row["review"] == {
        "note": "It was a Tuesday",
        "verdict": "faithful",
        "agree": 0,
        "disagree": 1,
    }
    counts = store.summary(30)
    assert (counts["hallucination_rate"], counts["corrected_rate"]) == (1.0, 0.5)
    listed = store.list_reports(1)
    assert (len(listed["reports"]), listed["total"]) == (1, 3)
    with pytest.raises(ServiceError, match="no such report"):
        store.get("nobody")
    with pytest.raises(ServiceError, match="no such report"):
        store.set_review("nobody", ReviewAnswer())
    assert store.delete_all(ReportQuery(id=[bad])) == 1
    with database.reading() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM reviews")).scalar() == 0
    assert store.delete_all() == 2


def check_retention(database: Database) -> None:
    everything = ReportStore(database, LIMITS)
    names = everything.add([finished_report() for _ in range(4)])
    with database.transaction() as connection:
        old = sa.update(reports).where(reports.c.id == names[3])
        connection.execute(old.values(created=time.time() - 3 * DAY_SECONDS))
    assert ReportStore(database, StorageSettings("", keep_days=2)).prune() == 1
    assert ReportStore(database, StorageSettings("", keep_reports=2)).prune() == 1
    left = [row["id"] for row in everything.list_reports(10)["reports"]]
    assert left == [names[2], names[1]]
    (fifth,) = ReportStore(database, StorageSettings("", keep_reports=1)).add([finished_report()])
    assert [row["id"] for row in everything.list_reports(10)["reports"]] == [fifth]
    everything.delete_all()


def check_schema(database: Database) -> None:
    """Creating twice keeps what is there; another version is refused."""
    database.create()
    (name,) = ReportStore(database, LIMITS).add([finished_report()])
    database.create()
    assert ReportStore(database, LIMITS).get(name).review is None
    for other in (SCHEMA_VERSION - 1, SCHEMA_VERSION + 1):
        with database.transaction() as connection:
            connection.execute(sa.update(schema_version).values(version=other))
        with pytest.raises(ConfigurationError, match=f"has schema {other}"):
            database.create()
