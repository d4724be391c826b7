"""The stored reports: those that a request asked to keep."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from halldetect.report import Status, Verdict
from halldetect.serve.error_responses import service_error
from halldetect.serve.storage.database import Database, reports
from halldetect.serve.worker.wire import FinishedReport

DAY_SECONDS = 86400.0
_SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Retention:
    """How long reports are kept.

    days   delete those that are older; None keeps them
    count  keep this many of the newest; None keeps all
    """

    days: float | None = None
    count: int | None = None


class ReportStore:
    """The reports in the database.

    Args:
        database: where they are stored.
        retention: how long they are kept.
    """

    def __init__(self, database: Database, retention: Retention) -> None:
        self._database = database
        self._retention = retention

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
            expired.append(reports.c.created < time.time() - retention.days * DAY_SECONDS)
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

    def delete_all(self) -> int:
        """Delete every report for good.

        Returns:
            The number of deleted reports.
        """
        return self._delete(sa.true())

    def list_reports(self, limit: int, before: str | None, verdict: str | None) -> dict[str, Any]:
        """Return a part of the list of reports, the newest first.

        Args:
            limit: number of reports at most.
            before: the cursor `next` of the part before this one; None for the first part.
            verdict: only reports with this verdict; None for all.

        Returns:
            The `reports`, and under `next` the cursor of the next part or None.
        """
        query = sa.select(*_LISTED).order_by(*_NEWEST_FIRST).limit(limit + 1)
        if verdict is not None:
            query = query.where(reports.c.verdict == verdict)
        if before is not None:
            created, id = _parse_cursor(before)
            position = sa.tuple_(reports.c.created, reports.c.id)
            query = query.where(position < sa.tuple_(sa.literal(created), sa.literal(id)))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        has_more = len(rows) > limit
        rows = rows[:limit]
        cursor = f"{rows[-1].created!r}~{rows[-1].id}" if has_more else None
        return {"reports": [_listed(row) for row in rows], "next": cursor}

    def summary(self, days: int) -> dict[str, Any]:
        """Return counts, rates and durations over the reports of the last `days` days."""
        recent = reports.c.created >= time.time() - days * DAY_SECONDS
        query = sa.select(*_LISTED).where(recent).order_by(*_NEWEST_FIRST)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        verdicts = dict.fromkeys(map(str, Verdict), 0)
        claims = dict.fromkeys(map(str, Status), 0)
        by_day: dict[str, dict[str, Any]] = {}
        for row in reversed(rows):
            day = _iso_time(row.created)[:10]
            entry = by_day.setdefault(day, {"day": day, **dict.fromkeys(map(str, Verdict), 0)})
            entry[row.verdict] += 1
            verdicts[row.verdict] += 1
            for status, count in json.loads(row.overview)["claims"].items():
                claims[status] += count
        decided = verdicts["faithful"] + verdicts["hallucinated"]
        by_duration = sorted(rows, key=lambda row: -row.seconds)
        return {
            "days": days,
            "total": len(rows),
            "verdicts": verdicts,
            "hallucination_rate": verdicts["hallucinated"] / decided if decided else None,
            "by_day": list(by_day.values()),
            "claims": claims,
            "seconds": {
                "mean": sum(row.seconds for row in rows) / len(rows) if rows else None,
                "p95": by_duration[len(by_duration) // 20].seconds if rows else None,
            },
            "slowest": [_listed(row) for row in by_duration[:_SLOWEST]],
        }

    def _delete(self, condition: sa.ColumnElement[bool]) -> int:
        with self._database.transaction() as connection:
            deleted = connection.execute(sa.delete(reports).where(condition)).rowcount
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
