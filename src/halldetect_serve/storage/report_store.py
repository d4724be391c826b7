"""The stored reports: those that a request asked to keep."""

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
from halldetect_serve.error_responses import service_error
from halldetect_serve.storage.database import Database, reports, reviews
from halldetect_serve.storage.report_filter import ReportFilter, conditions
from halldetect_serve.worker.wire import FinishedReport

DAY_SECONDS = 86400.0
_SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Review:
    """What a person says of a report.

    note       a remark, or an empty text
    decisions  by number of the claim, from 1: `agree` or `disagree` with its state
    reviewer   name of the token; None without one
    updated    seconds since the epoch
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
    """How long reports are kept.

    days   delete those that are older; None keeps them
    count  keep this many of the newest; None keeps all
    """

    days: float | None = None
    count: int | None = None


_ALL = ReportFilter()


class ReportStore:
    """The reports in the database.

    Args:
        database: where they are stored.
        retention: how long they are kept.
    """

    def __init__(self, database: Database, retention: Retention) -> None:
        self._database = database
        self._retention = retention
        self._clock_offset = time.time() - time.monotonic()

    def add(self, finished: list[FinishedReport]) -> list[str]:
        """Store reports, all or none, then delete those that retention no longer keeps.

        Returns:
            The new ids, in the order of the reports.
        """
        now = time.time()
        rows = [
            {
                "id": secrets.token_urlsafe(16),
                "created": now + at * 1e-6,  # the reports of a batch stay in order
                "report": report.json,
                "verdict": report.overview["verdict"],
                "score": report.overview["score"],
                "seconds": sum(report.overview["seconds"].values()),
                "overview": json.dumps(report.overview),
            }
            for at, report in enumerate(finished)
        ]
        with self._database.transaction() as connection:
            connection.execute(sa.insert(reports), rows)
        self.prune()
        return [row["id"] for row in rows]

    def prune(self) -> int:
        """Delete what retention no longer keeps.

        Returns:
            The number of deleted reports.
        """
        retention, expired = self._retention, []
        if retention.days is not None:
            # By a clock that nobody sets: a system clock that jumps ahead deletes nothing.
            now = self._clock_offset + time.monotonic()
            expired.append(reports.c.created < now - retention.days * DAY_SECONDS)
        if retention.count is not None:
            newest = sa.select(reports.c.id).order_by(*_NEWEST_FIRST).limit(retention.count)
            expired.append(reports.c.id.not_in(newest.scalar_subquery()))
        return self._delete(sa.or_(*expired)) if expired else 0

    def get(self, id: str) -> tuple[float, str]:
        """Return when a report was stored (seconds since the epoch) and its JSON text.

        Raises:
            ServiceError: `not_found` if there is no such report.
        """
        query = sa.select(reports.c.created, reports.c.report).where(reports.c.id == id)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise _no_such_report()
        return row.created, row.report

    def delete(self, id: str) -> None:
        """Delete one report for good.

        Raises:
            ServiceError: `not_found` if there is no such report.
        """
        if not self._delete(reports.c.id == id):
            raise _no_such_report()

    def delete_all(self, wanted: ReportFilter = _ALL) -> int:
        """Delete every report that a filter lets through, for good.

        Returns:
            The number of deleted reports.
        """
        return self._delete(sa.and_(sa.true(), *conditions(wanted, self._database)))

    def list_reports(
        self, limit: int, before: str | None = None, wanted: ReportFilter = _ALL
    ) -> dict[str, Any]:
        """Return a part of the list of reports, the newest first.

        Args:
            limit: number of reports at most.
            before: the cursor `next` of the part before this one; None for the first part.
            wanted: which reports.

        Returns:
            The `reports`, and under `next` the cursor of the next part or None.
        """
        query = sa.select(*_LISTED, reviews.c.note, reviews.c.decisions).select_from(_REVIEWED)
        query = (
            query.where(*conditions(wanted, self._database))
            .order_by(*_NEWEST_FIRST)
            .limit(limit + 1)
        )
        if before is not None:
            created, id = _parse_cursor(before)
            position = sa.tuple_(reports.c.created, reports.c.id)
            query = query.where(position < sa.tuple_(sa.literal(created), sa.literal(id)))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        has_more = len(rows) > limit
        rows = rows[:limit]
        cursor = f"{rows[-1].created!r}~{rows[-1].id}" if has_more else None
        listed = [{**_listed(row), "review": _review_counts(row)} for row in rows]
        return {"reports": listed, "next": cursor}

    def each(self, wanted: ReportFilter = _ALL) -> Iterator[StoredReport]:
        """Yield every report that a filter lets through with its review, the newest first.

        Reports are read one at a time, so that many of them need no memory.
        """
        position = conditions(wanted, self._database)
        with self._database.reading() as connection:
            ids = (
                connection.execute(
                    sa.select(reports.c.id)
                    .select_from(_REVIEWED)
                    .where(*position)
                    .order_by(*_NEWEST_FIRST)
                )
                .scalars()
                .all()
            )
        query = sa.select(reports.c.id, reports.c.created, reports.c.report, *reviews.c)
        for id in ids:
            with self._database.reading() as connection:
                one = query.select_from(_REVIEWED).where(reports.c.id == id)
                row = connection.execute(one).first()
            if row is not None:  # it may have been deleted meanwhile
                yield StoredReport(row.id, row.created, row.report, _review(row))

    def review(self, id: str) -> Review | None:
        """Return what was said of a report; None if nothing was.

        Raises:
            ServiceError: `not_found` if there is no such report.
        """
        query = sa.select(reports.c.id, *reviews.c).select_from(_REVIEWED)
        with self._database.reading() as connection:
            row = connection.execute(query.where(reports.c.id == id)).first()
        if row is None:
            raise _no_such_report()
        return _review(row)

    def set_review(self, id: str, review: Review) -> None:
        """Store what somebody says of a report, in place of what was said before.

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
        with self._database.transaction() as connection:
            if connection.execute(known).first() is None:
                raise _no_such_report()
            connection.execute(sa.delete(reviews).where(reviews.c.report_id == id))
            connection.execute(sa.insert(reviews), values)

    def summary(self, days: int) -> dict[str, Any]:
        """Return counts, rates and durations over the reports of the last `days` days."""
        recent = reports.c.created >= time.time() - days * DAY_SECONDS
        query = sa.select(*_LISTED).where(recent).order_by(*_NEWEST_FIRST)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        verdicts = dict.fromkeys(map(str, Verdict), 0)
        claims = dict.fromkeys(map(str, Status), 0)
        errors: Counter[str] = Counter()
        by_day: dict[str, dict[str, Any]] = {}
        for row in reversed(rows):
            day = _iso_time(row.created)[:10]
            entry = by_day.setdefault(day, {"day": day, **dict.fromkeys(map(str, Verdict), 0)})
            entry[row.verdict] += 1
            verdicts[row.verdict] += 1
            overview = json.loads(row.overview)
            for status, count in overview["claims"].items():
                claims[status] += count
            errors.update(overview.get("errors", {}))  # older reports have none
        decided = verdicts["faithful"] + verdicts["hallucinated"]
        by_duration = sorted(rows, key=lambda row: -row.seconds)
        return {
            "days": days,
            "total": len(rows),
            "verdicts": verdicts,
            "hallucination_rate": verdicts["hallucinated"] / decided if decided else None,
            "by_day": list(by_day.values()),
            "claims": claims,
            "errors": dict(errors.most_common()),
            "seconds": {
                "mean": sum(row.seconds for row in rows) / len(rows) if rows else None,
                "p95": by_duration[len(by_duration) // 20].seconds if rows else None,
            },
            "slowest": [_listed(row) for row in by_duration[:_SLOWEST]],
        }

    def _delete(self, condition: sa.ColumnElement[bool]) -> int:
        """Delete reports; on a full disk one by one, in the room that was kept for it."""
        try:
            return self._delete_at_once(condition)
        except ServiceError:
            if not self._database.reserve.release():
                raise
        try:
            with self._database.reading() as connection:
                ids = connection.execute(sa.select(reports.c.id).where(condition)).scalars().all()
            return sum(self._delete_at_once(reports.c.id == id) for id in ids)
        finally:
            self._database.reserve.fill()

    def _delete_at_once(self, condition: sa.ColumnElement[bool]) -> int:
        with self._database.transaction() as connection:
            deleted = connection.execute(sa.delete(reports).where(condition)).rowcount
            if deleted:
                left = sa.select(reports.c.id)
                connection.execute(sa.delete(reviews).where(reviews.c.report_id.not_in(left)))
        if deleted:
            self._database.erase_deleted()
        return deleted


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


def _listed(row: Any) -> dict[str, Any]:
    """Return one entry of the list of reports."""
    overview = json.loads(row.overview)
    return {
        "id": row.id,
        "created": _iso_time(row.created),
        "verdict": row.verdict,
        "score": row.score,
        "threshold": overview["threshold"],
        "claims": overview["claims"],
        "seconds": row.seconds,
        "excerpt": overview["excerpt"],
        "question": overview["question"],
    }


def _decisions(text: str) -> dict[int, str]:
    return {int(number): decision for number, decision in json.loads(text).items()}


def _review(row: Any) -> Review | None:
    if row.report_id is None:
        return None
    return Review(row.note, _decisions(row.decisions), row.reviewer, row.updated)


def _review_counts(row: Any) -> dict[str, Any] | None:
    """Return what the list of reports says of a review; None without one."""
    if row.decisions is None:
        return None
    counts = Counter(_decisions(row.decisions).values())
    return {"note": row.note, "agree": counts["agree"], "disagree": counts["disagree"]}


def _iso_time(created: float) -> str:
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="microseconds")


def _parse_cursor(text: str) -> tuple[float, str]:
    created, _, id = text.partition("~")
    try:
        return float(created), id
    except ValueError:
        raise service_error("invalid_request", "before: not a cursor of this list") from None


def _no_such_report() -> Exception:
    return service_error("not_found", "there is no such report")
