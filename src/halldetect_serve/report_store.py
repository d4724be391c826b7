"""The reports that requests asked to store, with their reviews."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from halldetect.errors import ServiceError
from halldetect.report import Status, Verdict
from halldetect_serve.database import Database, reports, reviews
from halldetect_serve.error_responses import service_error
from halldetect_serve.worker.process import FinishedReport

DAY_SECONDS = 86400.0


@dataclass(frozen=True, slots=True)
class Review:
    """A person's review of a report.

    Attributes:
        note: a remark, or an empty text.
        decisions: `agree` or `disagree` by number of the claim, from 1.
        reviewer: the name of the token, or None.
        updated: seconds since the epoch.
    """

    note: str
    decisions: dict[int, str]
    reviewer: str | None
    updated: float


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as it is stored: `json` is its text, `created` in seconds since the epoch."""

    id: str
    created: float
    json: str
    review: Review | None


@dataclass(frozen=True, slots=True)
class Retention:
    """The limits on stored reports.

    Attributes:
        days: delete older reports; None keeps them.
        count: keep only this number of the newest; None keeps all.
    """

    days: float | None = None
    count: int | None = None


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """A selection of reports; None, or an empty `ids`, sets no condition.

    Attributes:
        ids: ids of the reports.
        verdict: the verdict.
        state: the state of at least one claim.
        search: a text in the response, question or note; case is ignored.
        since: the earliest time of storage, in seconds since the epoch.
        until: the time before which a report was stored.
        reviewed: True for reports with a review, False for those without.
    """

    ids: tuple[str, ...] = ()
    verdict: str | None = None
    state: str | None = None
    search: str | None = None
    since: float | None = None
    until: float | None = None
    reviewed: bool | None = None


_ALL = ReportFilter()


class ReportStore:
    """The reports in the database.

    Args:
        database: where they are stored.
        retention: the limits on their age and number.
    """

    def __init__(self, database: Database, retention: Retention) -> None:
        self.database = database
        self._retention = retention
        self._clock_offset = time.time() - time.monotonic()

    def add(self, finished: list[FinishedReport]) -> list[str]:
        """Store reports, all or none, then delete those beyond the retention limits.

        Returns:
            The new ids, in the order of the reports.
        """
        now = time.time()
        rows = [
            {
                "id": secrets.token_urlsafe(16),
                "created": now + at * 1e-6,  # keeps the reports of a batch in order
                "report": report.json,
                "verdict": report.overview["verdict"],
                "score": report.overview["score"],
                "seconds": sum(report.overview["seconds"].values()),
                "overview": json.dumps(report.overview),
            }
            for at, report in enumerate(finished)
        ]
        with self.database.transaction() as connection:
            connection.execute(sa.insert(reports), rows)
        self.prune()
        return [row["id"] for row in rows]

    def prune(self) -> int:
        """Delete the reports beyond the retention limits.

        Returns:
            The number of deleted reports.
        """
        retention, expired = self._retention, []
        if retention.days is not None:
            # A monotonic clock: a jump of the system clock deletes nothing.
            now = self._clock_offset + time.monotonic()
            expired.append(reports.c.created < now - retention.days * DAY_SECONDS)
        if retention.count is not None:
            newest = sa.select(reports.c.id).order_by(*_NEWEST_FIRST).limit(retention.count)
            expired.append(reports.c.id.not_in(newest.scalar_subquery()))
        return self._delete(sa.or_(*expired)) if expired else 0

    def get(self, id: str) -> StoredReport:
        """Return a report with its review.

        Raises:
            ServiceError: `not_found` if there is no such report.
        """
        query = sa.select(reports.c.id, reports.c.created, reports.c.report, *reviews.c)
        with self.database.reading() as connection:
            row = connection.execute(query.select_from(_REVIEWED).where(reports.c.id == id)).first()
        if row is None:
            raise _no_such_report()
        return StoredReport(row.id, row.created, row.report, _review(row))

    def delete(self, id: str) -> None:
        """Delete one report permanently.

        Raises:
            ServiceError: `not_found` if there is no such report.
        """
        if not self._delete(reports.c.id == id):
            raise _no_such_report()

    def delete_all(self, wanted: ReportFilter = _ALL) -> int:
        """Delete every report that a filter selects permanently.

        Returns:
            The number of deleted reports.
        """
        return self._delete(sa.and_(sa.true(), *self._conditions(wanted)))

    def list_reports(
        self, limit: int, before: str | None = None, wanted: ReportFilter = _ALL
    ) -> dict[str, Any]:
        """Return a part of the list of reports, the newest first.

        Args:
            limit: number of reports at most.
            before: the cursor `next` of the previous part; None for the first part.
            wanted: which reports.

        Returns:
            The `reports`, and under `next` the cursor of the next part or None.
        """
        query = sa.select(*_LISTED, reviews.c.note, reviews.c.decisions).select_from(_REVIEWED)
        query = query.where(*self._conditions(wanted)).order_by(*_NEWEST_FIRST).limit(limit + 1)
        if before is not None:
            created, id = _parse_cursor(before)
            position = sa.tuple_(reports.c.created, reports.c.id)
            query = query.where(position < sa.tuple_(sa.literal(created), sa.literal(id)))
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        has_more = len(rows) > limit
        rows = rows[:limit]
        cursor = f"{rows[-1].created!r}~{rows[-1].id}" if has_more else None
        return {"reports": [_listed(row) for row in rows], "next": cursor}

    def each(self, wanted: ReportFilter = _ALL) -> Iterator[StoredReport]:
        """Yield every report that a filter selects, the newest first.

        Reports are read one at a time to save memory.
        """
        query = sa.select(reports.c.id).where(*self._conditions(wanted)).order_by(*_NEWEST_FIRST)
        with self.database.reading() as connection:
            ids = connection.execute(query).scalars().all()
        for id in ids:
            try:
                yield self.get(id)
            except ServiceError as error:
                if error.code != "not_found":  # it may have been deleted meanwhile
                    raise

    def set_review(self, id: str, review: Review) -> None:
        """Store the review of a report; it replaces the previous one.

        Raises:
            ServiceError: `not_found` if there is no such report.
        """
        values = {
            "report_id": id,
            "note": review.note,
            "decisions": json.dumps({str(key): value for key, value in review.decisions.items()}),
            "reviewer": review.reviewer,
            "updated": review.updated,
        }
        known = sa.select(reports.c.id).where(reports.c.id == id).with_for_update()
        with self.database.transaction() as connection:
            if connection.execute(known).first() is None:
                raise _no_such_report()
            connection.execute(sa.delete(reviews).where(reviews.c.report_id == id))
            connection.execute(sa.insert(reviews), values)

    def summary(self, days: int) -> dict[str, Any]:
        """Return counts and rates over the reports of the last `days` days."""
        recent = reports.c.created >= time.time() - days * DAY_SECONDS
        with self.database.reading() as connection:
            rows = connection.execute(sa.select(reports.c.overview).where(recent)).scalars().all()
        verdicts = dict.fromkeys(map(str, Verdict), 0)
        claims = dict.fromkeys(map(str, Status), 0)
        for overview in map(json.loads, rows):
            verdicts[overview["verdict"]] += 1
            for status, count in overview["claims"].items():
                claims[status] += count
        decided = verdicts["faithful"] + verdicts["hallucinated"]
        return {
            "days": days,
            "total": len(rows),
            "verdicts": verdicts,
            "hallucination_rate": verdicts["hallucinated"] / decided if decided else None,
            "claims": claims,
        }

    def _delete(self, condition: sa.ColumnElement[bool]) -> int:
        with self.database.transaction() as connection:
            deleted = connection.execute(sa.delete(reports).where(condition)).rowcount
            if deleted:
                left = sa.select(reports.c.id)
                connection.execute(sa.delete(reviews).where(reviews.c.report_id.not_in(left)))
        if deleted:
            self.database.erase_deleted()
        return deleted

    def _conditions(self, wanted: ReportFilter) -> list[sa.ColumnElement[bool]]:
        """Return the SQL conditions of a filter on the table `reports`."""
        found: list[sa.ColumnElement[bool]] = []
        if wanted.ids:
            found.append(reports.c.id.in_(wanted.ids))
        if wanted.verdict is not None:
            found.append(reports.c.verdict == wanted.verdict)
        if wanted.state is not None:
            count = self._json(reports.c.overview)["claims"][wanted.state]
            found.append(count.as_integer() > 0)
        if wanted.search:
            texts = self._json(reports.c.report)
            places = [texts[name].as_string() for name in ("response", "question")]
            other = reviews.alias()
            note = sa.select(other.c.note).where(other.c.report_id == reports.c.id)
            places.append(note.correlate(reports).scalar_subquery())
            hits = (place.icontains(wanted.search, autoescape=True) for place in places)
            found.append(sa.or_(*hits))
        if wanted.since is not None:
            found.append(reports.c.created >= wanted.since)
        if wanted.until is not None:
            found.append(reports.c.created < wanted.until)
        if wanted.reviewed is not None:
            listed = reports.c.id.in_(sa.select(reviews.alias().c.report_id))
            found.append(listed if wanted.reviewed else sa.not_(listed))
        return found

    def _json(self, column: sa.ColumnElement[Any]) -> Any:
        """Return a column of JSON text as a value with queryable fields."""
        if self.database.is_sqlite:
            return sa.type_coerce(column, sa.JSON)
        return sa.cast(column, sa.JSON)


_LISTED = (
    reports.c.id,
    reports.c.created,
    reports.c.verdict,
    reports.c.score,
    reports.c.seconds,
    reports.c.overview,
)
_REVIEWED = reports.outerjoin(reviews, reviews.c.report_id == reports.c.id)
_NEWEST_FIRST = (reports.c.created.desc(), reports.c.id.desc())


def iso_time(created: float) -> str:
    """Return seconds since the epoch in ISO 8601."""
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="microseconds")


def _listed(row: Any) -> dict[str, Any]:
    """Return one entry of the list of reports."""
    overview = json.loads(row.overview)
    review = None
    if row.decisions is not None:
        counts = Counter(json.loads(row.decisions).values())
        review = {"note": row.note, "agree": counts["agree"], "disagree": counts["disagree"]}
    return {
        "id": row.id,
        "created": iso_time(row.created),
        "verdict": row.verdict,
        "score": row.score,
        "threshold": overview["threshold"],
        "claims": overview["claims"],
        "seconds": row.seconds,
        "excerpt": overview["excerpt"],
        "question": overview["question"],
        "review": review,
    }


def _review(row: Any) -> Review | None:
    if row.report_id is None:
        return None
    decisions = {int(number): choice for number, choice in json.loads(row.decisions).items()}
    return Review(row.note, decisions, row.reviewer, row.updated)


def _parse_cursor(text: str) -> tuple[float, str]:
    created, _, id = text.partition("~")
    try:
        return float(created), id
    except ValueError:
        raise service_error("invalid_request", "before: not a cursor of this list") from None


def _no_such_report() -> Exception:
    return service_error("not_found", "there is no such report")
