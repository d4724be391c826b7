"""The reports that requests asked to store, with their reviews."""

from __future__ import annotations

import json
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any

import sqlalchemy as sa

from halldetect.errors import ServiceError
from halldetect.report import Status, Verdict
from halldetect_serve.database import Database, reports, reviews
from halldetect_serve.error_responses import service_error
from halldetect_serve.schemas import Decision, ReportQuery, ReviewAnswer
from halldetect_serve.settings import StorageSettings
from halldetect_serve.worker.process import FinishedReport

DAY_SECONDS = 86400.0
_ALL = ReportQuery()
_LISTED = (
    *(reports.c.id, reports.c.created, reports.c.verdict, reports.c.score, reports.c.seconds),
    *(reports.c.overview, reviews.c.note, reviews.c.decisions),
    reviews.c.verdict.label("reviewed"),
)
_REVIEWED = reports.outerjoin(reviews, reviews.c.report_id == reports.c.id)
_NEWEST_FIRST = (reports.c.created.desc(), reports.c.id.desc())


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A report as it is stored: `json` is its text, `created` in seconds since the epoch."""

    id: str
    created: float
    json: str
    review: ReviewAnswer | None


class ReportStore:
    """The reports in the database, within the limits on their age and number."""

    def __init__(self, database: Database, limits: StorageSettings) -> None:
        self.database = database
        self._limits = limits
        self._clock_offset = time.time() - time.monotonic()

    def add(self, finished: list[FinishedReport]) -> list[str]:
        """Store reports, all or none; delete those beyond the limits; return the new ids."""
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
        """Delete the reports beyond the limits and return their number."""
        days, count, expired = self._limits.keep_days, self._limits.keep_reports, []
        if days is not None:
            # A monotonic clock: a jump of the system clock deletes nothing.
            now = self._clock_offset + time.monotonic()
            expired.append(reports.c.created < now - days * DAY_SECONDS)
        if count is not None:
            newest = sa.select(reports.c.id).order_by(*_NEWEST_FIRST).limit(count)
            expired.append(reports.c.id.not_in(newest.scalar_subquery()))
        return self._delete(sa.or_(*expired)) if expired else 0

    def get(self, id: str) -> StoredReport:
        """Return a report with its review, or raise ServiceError `not_found`."""
        query = sa.select(reports.c.id, reports.c.created, reports.c.report, *reviews.c)
        with self.database.reading() as connection:
            row = connection.execute(query.select_from(_REVIEWED).where(reports.c.id == id)).first()
        if row is None:
            raise _no_such_report()
        return StoredReport(row.id, row.created, row.report, _review(row))

    def delete(self, id: str) -> None:
        """Delete one report permanently, or raise ServiceError `not_found`."""
        if not self._delete(reports.c.id == id):
            raise _no_such_report()

    def delete_all(self, wanted: ReportQuery = _ALL) -> int:
        """Delete the selected reports permanently and return their number."""
        return self._delete(sa.and_(sa.true(), *self._conditions(wanted)))

    def list_reports(
        self, limit: int, before: str | None = None, wanted: ReportQuery = _ALL
    ) -> dict[str, Any]:
        """Return up to `limit` `reports`, newest first; `next` is the `before` of more.

        `total` counts all selected reports.
        """
        conditions = self._conditions(wanted)
        query = sa.select(*_LISTED).select_from(_REVIEWED).where(*conditions)
        query = query.order_by(*_NEWEST_FIRST).limit(limit + 1)
        if before is not None:
            created, _, id = before.partition("~")  # ListQuery has checked its form
            last = sa.tuple_(sa.literal(float(created)), sa.literal(id))
            query = query.where(sa.tuple_(reports.c.created, reports.c.id) < last)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
            counted = sa.select(sa.func.count()).select_from(reports).where(*conditions)
            total = connection.execute(counted).scalar_one()
        has_more = len(rows) > limit
        rows = rows[:limit]
        cursor = f"{rows[-1].created!r}~{rows[-1].id}" if has_more else None
        return {"reports": [_listed(row) for row in rows], "next": cursor, "total": total}

    def each(self, wanted: ReportQuery = _ALL) -> Iterator[StoredReport]:
        """Yield the selected reports, the newest first; one at a time to save memory."""
        query = sa.select(reports.c.id).where(*self._conditions(wanted)).order_by(*_NEWEST_FIRST)
        with self.database.reading() as connection:
            ids = connection.execute(query).scalars().all()
        for id in ids:
            try:
                yield self.get(id)
            except ServiceError as error:
                if error.code != "not_found":  # it may have been deleted meanwhile
                    raise

    def set_review(self, id: str, review: ReviewAnswer) -> None:
        """Replace the review of a report, or raise ServiceError `not_found`."""
        values = {
            "report_id": id,
            "note": review.note,
            "decisions": json.dumps(review.by_claim),
            "reviewer": review.reviewer,
            "updated": time.time(),
            "verdict": review.verdict and str(review.verdict),
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
        query = sa.select(reports.c.overview, reviews.c.verdict).select_from(_REVIEWED)
        with self.database.reading() as connection:
            rows = connection.execute(query.where(recent)).all()
        verdicts, corrected, claims = (Counter[str]() for _ in range(3))
        for row in rows:
            overview = json.loads(row.overview)
            verdicts[overview["verdict"]] += 1
            corrected[row.verdict or overview["verdict"]] += 1
            claims.update(overview["claims"])
        return {
            "days": days,
            "total": len(rows),
            "verdicts": {str(verdict): verdicts[verdict] for verdict in Verdict},
            "hallucination_rate": _hallucination_rate(verdicts),
            "corrected_rate": _hallucination_rate(corrected),
            "claims": {str(status): claims[status] for status in Status},
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

    def _conditions(self, wanted: ReportQuery) -> list[sa.ColumnElement[bool]]:
        """Return the SQL conditions of a query on the table `reports`."""
        found: list[sa.ColumnElement[bool]] = []
        if wanted.id:
            found.append(reports.c.id.in_(wanted.id))
        if wanted.verdict is not None:
            found.append(reports.c.verdict == str(wanted.verdict))
        if wanted.state is not None:
            count = self._json(reports.c.overview)["claims"][str(wanted.state)]
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
            found.append(reports.c.created >= _midnight(wanted.since))
        if wanted.until is not None:
            found.append(reports.c.created < _midnight(wanted.until) + DAY_SECONDS)
        if wanted.reviewed is not None:
            listed = reports.c.id.in_(sa.select(reviews.alias().c.report_id))
            found.append(listed if wanted.reviewed else sa.not_(listed))
        return found

    def _json(self, column: sa.ColumnElement[Any]) -> Any:
        """Return a column of JSON text as a value with queryable fields."""
        if self.database.is_sqlite:
            return sa.type_coerce(column, sa.JSON)
        return sa.cast(column, sa.JSON)


def _hallucination_rate(verdicts: Counter[str]) -> float | None:
    decided = verdicts["faithful"] + verdicts["hallucinated"]
    return verdicts["hallucinated"] / decided if decided else None


def _midnight(day: date) -> float:
    return datetime.combine(day, datetime.min.time(), UTC).timestamp()


def iso_time(created: float) -> str:
    """Return seconds since the epoch in ISO 8601."""
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="microseconds")


def _listed(row: Any) -> dict[str, Any]:
    """Return one entry of the list of reports."""
    overview = json.loads(row.overview)
    review = None
    if row.decisions is not None:
        counts = Counter(json.loads(row.decisions).values())
        review = {"note": row.note, "verdict": row.reviewed}
        review |= {name: counts[name] for name in ("agree", "disagree")}
    return {
        "id": row.id,
        "created": iso_time(row.created),
        "verdict": row.verdict,
        "score": row.score,
        "seconds": row.seconds,
        "review": review,
        **{name: overview[name] for name in ("threshold", "claims", "excerpt", "question")},
    }


def _review(row: Any) -> ReviewAnswer | None:
    if row.report_id is None:
        return None
    decisions = [
        Decision(claim=int(number), decision=decision)
        for number, decision in json.loads(row.decisions).items()
    ]
    return ReviewAnswer(
        note=row.note,
        decisions=sorted(decisions, key=lambda item: item.claim),
        reviewer=row.reviewer,
        updated=iso_time(row.updated),
        verdict=row.verdict,
    )


def _no_such_report() -> Exception:
    return service_error("not_found", "there is no such report")
