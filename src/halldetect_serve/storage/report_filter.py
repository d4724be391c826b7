"""Which of the stored reports a request means, and how the database is asked for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from halldetect_serve.storage.database import Database, reports, reviews


@dataclass(frozen=True, slots=True)
class ReportFilter:
    """Which reports are meant; a field that is None, or an empty `ids`, excludes none.

    ids       only these
    verdict   with this verdict
    state     with at least one claim in this state
    search    whose response, question or note contains this text, in upper or lower case
    since     stored at this time or later, in seconds since the epoch
    until     stored before this time
    reviewed  whether somebody has reviewed them
    """

    ids: tuple[str, ...] = ()
    verdict: str | None = None
    state: str | None = None
    search: str | None = None
    since: float | None = None
    until: float | None = None
    reviewed: bool | None = None


def conditions(wanted: ReportFilter, database: Database) -> list[sa.ColumnElement[bool]]:
    """What holds of the rows of these reports, in queries of the table `reports`.

    Args:
        wanted: which reports.
        database: where they are stored.
    """
    found: list[sa.ColumnElement[bool]] = []
    if wanted.ids:
        found.append(reports.c.id.in_(wanted.ids))
    if wanted.verdict is not None:
        found.append(reports.c.verdict == wanted.verdict)
    if wanted.state is not None:
        count = _json(reports.c.overview, database)["claims"][wanted.state]
        found.append(count.as_integer() > 0)
    if wanted.search:
        texts = _json(reports.c.report, database)
        places = [texts[name].as_string() for name in ("response", "question")]
        said = reviews.alias()
        note = sa.select(said.c.note).where(said.c.report_id == reports.c.id)
        places.append(note.correlate(reports).scalar_subquery())
        found.append(sa.or_(*(place.icontains(wanted.search, autoescape=True) for place in places)))
    if wanted.since is not None:
        found.append(reports.c.created >= wanted.since)
    if wanted.until is not None:
        found.append(reports.c.created < wanted.until)
    if wanted.reviewed is not None:
        listed = reports.c.id.in_(sa.select(reviews.alias().c.report_id))
        found.append(listed if wanted.reviewed else sa.not_(listed))
    return found


def _json(column: sa.ColumnElement[Any], database: Database) -> Any:
    """A column of JSON text as a value whose fields a query can name."""
    if database.is_sqlite:
        return sa.type_coerce(column, sa.JSON)
    return sa.cast(column, sa.JSON)
