"""Reports that somebody asked to keep."""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from halldetect.report import Status, Verdict
from halldetect.serve.error_responses import problem
from halldetect.serve.storage.database import Database, columns, reports
from halldetect.serve.worker.worker_client import FinishedReport

DAY = 86400.0
_SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Retention:
    """How long reports stay: by age, by number, or for ever."""

    days: float | None = None
    count: int | None = None


class Store:
    def __init__(self, database: Database, retention: Retention) -> None:
        self._database = database
        self._retention = retention

    def add(self, findings: list[FinishedReport]) -> list[str]:
        """Keep reports, all or none; their new ids. Those past their time go on the way."""
        now = time.time()
        rows = [
            {
                "id": secrets.token_urlsafe(16),
                "created": now + at * 1e-6,  # a batch keeps its order
                "report": found.report,
                **columns(found.facts),
            }
            for at, found in enumerate(findings)
        ]
        with self._database.transaction() as connection:
            connection.execute(sa.insert(reports), rows)
        self.prune()
        return [row["id"] for row in rows]

    def prune(self) -> int:
        """Delete what retention no longer keeps; how many that were."""
        keep, old = self._retention, []
        if keep.days is not None:
            old.append(reports.c.created < time.time() - keep.days * DAY)
        if keep.count is not None:
            newest = sa.select(reports.c.id).order_by(*_NEWEST).limit(keep.count)
            old.append(reports.c.id.not_in(newest.scalar_subquery()))
        return self._delete(sa.or_(*old)) if old else 0

    def get(self, name: str) -> tuple[float, str]:
        """When a report was made, and its JSON text."""
        query = sa.select(reports.c.created, reports.c.report).where(reports.c.id == name)
        with self._database.reading() as connection:
            row = connection.execute(query).first()
        if row is None:
            raise problem("not_found", "there is no such report")
        return row.created, row.report

    def delete(self, name: str) -> None:
        if not self._delete(reports.c.id == name):
            raise problem("not_found", "there is no such report")

    def clear(self) -> int:
        return self._delete(sa.true())

    def page(self, limit: int, before: str | None, verdict: str | None) -> dict[str, Any]:
        """Reports from new to old, and where the next page begins."""
        query = sa.select(*_ROW).order_by(*_NEWEST).limit(limit + 1)
        if verdict is not None:
            query = query.where(reports.c.verdict == verdict)
        if before is not None:
            created, name = _cursor(before)
            place = sa.tuple_(reports.c.created, reports.c.id)
            query = query.where(place < sa.tuple_(sa.literal(created), sa.literal(name)))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        more = len(rows) > limit
        rows = rows[:limit]
        following = f"{rows[-1].created!r}~{rows[-1].id}" if more else None
        return {"reports": [_shown(row) for row in rows], "next": following}

    def summary(self, days: int) -> dict[str, Any]:
        """What the reports of the last days add up to."""
        since = reports.c.created >= time.time() - days * DAY
        with self._database.reading() as connection:
            rows = connection.execute(sa.select(*_ROW).where(since).order_by(*_NEWEST)).all()
        verdicts = dict.fromkeys(map(str, Verdict), 0)
        claims = dict.fromkeys(map(str, Status), 0)
        by_day: dict[str, dict[str, Any]] = {}
        for row in reversed(rows):
            day = _moment(row.created)[:10]
            entry = by_day.setdefault(day, {"day": day, **dict.fromkeys(map(str, Verdict), 0)})
            entry[row.verdict] += 1
            verdicts[row.verdict] += 1
            for status, count in json.loads(row.facts)["claims"].items():
                claims[status] += count
        decided = verdicts["faithful"] + verdicts["hallucinated"]
        slow = sorted(rows, key=lambda row: -row.seconds)
        return {
            "days": days,
            "total": len(rows),
            "verdicts": verdicts,
            "hallucination_rate": verdicts["hallucinated"] / decided if decided else None,
            "by_day": list(by_day.values()),
            "claims": claims,
            "seconds": {
                "mean": sum(row.seconds for row in rows) / len(rows) if rows else None,
                "p95": slow[len(slow) // 20].seconds if rows else None,
            },
            "slowest": [_shown(row) for row in slow[:_SLOWEST]],
        }

    def _delete(self, which: sa.ColumnElement[bool]) -> int:
        with self._database.transaction() as connection:
            gone = connection.execute(sa.delete(reports).where(which)).rowcount
        if gone:
            self._database.scrub()
        return gone


_ROW = (
    reports.c.id,
    reports.c.created,
    reports.c.verdict,
    reports.c.score,
    reports.c.seconds,
    reports.c.facts,
)
_NEWEST = (reports.c.created.desc(), reports.c.id.desc())


def _shown(row: Any) -> dict[str, Any]:
    facts = json.loads(row.facts)
    return {
        "id": row.id,
        "created": _moment(row.created),
        "verdict": row.verdict,
        "score": row.score,
        "threshold": facts["threshold"],
        "claims": facts["claims"],
        "seconds": row.seconds,
        "excerpt": facts["excerpt"],
        "question": facts["question"],
    }


def _moment(created: float) -> str:
    return datetime.fromtimestamp(created, UTC).isoformat(timespec="microseconds")


def _cursor(text: str) -> tuple[float, str]:
    created, _, name = text.partition("~")
    try:
        return float(created), name
    except ValueError:
        raise problem("invalid_request", "before: not a cursor of this list") from None
