"""The database: SQLite in one file, or PostgreSQL by URL; its tables, and how they came to be.

Each migration brings the schema from one version to the next inside one transaction. They are
never changed once released: a new need is a new migration.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from halldetect.errors import ConfigurationError, MissingExtra
from halldetect.serve.error_responses import problem

metadata = sa.MetaData()
tokens = sa.Table(
    "tokens",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("digest", sa.Text, nullable=False, unique=True),
    sa.Column("scopes", sa.Text, nullable=False),
    sa.Column("created", sa.Float, nullable=False),
)
reports = sa.Table(
    "reports",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("report", sa.Text, nullable=False),
    sa.Column("verdict", sa.Text),
    sa.Column("score", sa.Float),
    sa.Column("seconds", sa.Float),
    sa.Column("facts", sa.Text),
)
_LOCK = 7_423_911  # any number, the same in every process of the service
_BUSY_MS = 5000


def _first(connection: sa.Connection) -> None:
    """Tokens, and reports as they are."""
    for statement in (
        "CREATE TABLE tokens (name TEXT PRIMARY KEY, digest TEXT NOT NULL UNIQUE, "
        "scopes TEXT NOT NULL, created DOUBLE PRECISION NOT NULL)",
        "CREATE TABLE reports (id TEXT PRIMARY KEY, created DOUBLE PRECISION NOT NULL, "
        "report TEXT NOT NULL)",
        "CREATE INDEX reports_created ON reports (created)",
    ):
        connection.execute(sa.text(statement))


def _second(connection: sa.Connection) -> None:
    """What the list and the dashboard show, in columns: they need not read whole reports."""
    from halldetect.report import Report
    from halldetect.serve.worker.process import facts

    for column in ("verdict TEXT", "score DOUBLE PRECISION", "seconds DOUBLE PRECISION"):
        connection.execute(sa.text(f"ALTER TABLE reports ADD COLUMN {column}"))
    connection.execute(sa.text("ALTER TABLE reports ADD COLUMN facts TEXT"))
    known = connection.execute(sa.select(reports.c.id)).scalars().all()
    for name in known:
        where = reports.c.id == name
        text = connection.execute(sa.select(reports.c.report).where(where)).scalar_one()
        found = facts(Report.from_json(text))
        connection.execute(sa.update(reports).where(where).values(**columns(found)))


MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (_first, _second)


def columns(found: dict[str, Any]) -> dict[str, Any]:
    """The columns that a report's facts fill."""
    return {
        "verdict": found["verdict"],
        "score": found["score"],
        "seconds": sum(found["seconds"].values()),
        "facts": json.dumps(found),
    }


class Database:
    """A database that is up to date. Every failure to reach it is the same problem."""

    def __init__(self, url: str) -> None:
        self.engine = _engine(url)

    @property
    def is_sqlite(self) -> bool:
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[sa.Connection]:
        try:
            with self.engine.execution_options(write=write).begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _unavailable(error) from None

    def reading(self) -> AbstractContextManager[sa.Connection]:
        return self.transaction(write=False)

    def migrate(self) -> None:
        """Bring the schema up to date; raises if it is newer than this program."""
        with self.transaction() as connection:
            if not self.is_sqlite:  # SQLite: the transaction itself is the lock (see _engine)
                connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
            connection.execute(
                sa.text("CREATE TABLE IF NOT EXISTS halldetect_schema (version INTEGER NOT NULL)")
            )
            found = connection.execute(sa.text("SELECT version FROM halldetect_schema")).scalar()
            if found is None:
                connection.execute(sa.text("INSERT INTO halldetect_schema VALUES (0)"))
                found = 0
            if found > len(MIGRATIONS):
                raise ConfigurationError(
                    f"the database has schema {found}, this halldetect knows {len(MIGRATIONS)}: "
                    "update halldetect"
                )
            for migration in MIGRATIONS[found:]:
                migration(connection)
            if found < len(MIGRATIONS):
                connection.execute(
                    sa.text(f"UPDATE halldetect_schema SET version = {len(MIGRATIONS)}")
                )

    def scrub(self) -> None:
        """After a deletion: leave no bytes of it in the files.

        SQLite overwrites what is freed, and what its journal still holds goes here. PostgreSQL
        marks the space as free for the next rows; its own journal and backups are beyond us.
        """
        statement = "PRAGMA wal_checkpoint(TRUNCATE)" if self.is_sqlite else "VACUUM reports"
        try:
            engine = self.engine.execution_options(isolation_level="AUTOCOMMIT", plain=True)
            with engine.connect() as connection:
                connection.execute(sa.text(statement))
        except SQLAlchemyError as error:
            raise _unavailable(error) from None

    def close(self) -> None:
        self.engine.dispose()


def _engine(url: str) -> sa.Engine:
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
        if name == "sqlite":
            return _sqlite(parsed)
        if name != "postgresql":
            raise ConfigurationError(f"the database must be SQLite or PostgreSQL, not {name}")
        # psycopg 3, whatever the URL's short form would mean elsewhere
        return sa.create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            pool_timeout=5,
            connect_args={"connect_timeout": 5},
        )
    except (ArgumentError, NoSuchModuleError, ValueError):
        raise ConfigurationError(
            "the database must look like sqlite:////path/file.db or postgresql://user@host/name"
        ) from None
    except ModuleNotFoundError as error:
        raise MissingExtra("a PostgreSQL database", "postgres") from error


def _sqlite(url: sa.URL) -> sa.Engine:
    if url.database in (None, "", ":memory:"):
        raise ConfigurationError("name a file for the SQLite database: sqlite:////path/file.db")
    folder = Path(str(url.database)).parent
    if not folder.is_dir():
        raise ConfigurationError(f"there is no folder {str(folder)!r} for the database")
    try:  # sources and responses are nobody else's business; SQLite's other files follow this one
        Path(str(url.database)).touch(mode=0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot write the database: {error.strerror}") from None
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_MS / 1000})

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # we begin transactions ourselves, below
        _journal(connection)
        for pragma in ("synchronous=NORMAL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if not options.get("plain"):
            # At once for writing: waiting for another writer cannot fail half way through.
            write = options.get("write", True)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _journal(connection: Any) -> None:
    """Write ahead. SQLite does not wait for another program that switches to it at the same
    moment, so we do."""
    until = time.monotonic() + _BUSY_MS / 1000
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > until:
                raise
            time.sleep(0.02)


def _unavailable(error: SQLAlchemyError) -> Exception:
    """The kind of failure only: a driver's message quotes statements and their values."""
    original = getattr(error, "orig", None)
    kind = type(original or error).__name__
    full = "full" in str(original) or "disk I/O" in str(original)
    why = "its disk is full" if full else f"it cannot be used now ({kind})"
    return problem("store_unavailable", f"the database failed: {why}")
