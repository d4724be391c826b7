"""The database of the reports: SQLite in one file, or PostgreSQL by URL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from halldetect.errors import ConfigurationError, MissingExtra, ServiceError
from halldetect.machine.locks import use_write_ahead_log
from halldetect_serve.error_responses import service_error

metadata = sa.MetaData()
schema_version = sa.Table(
    "halldetect_schema", metadata, sa.Column("version", sa.Integer, nullable=False)
)
# The list reads only the columns after `report`, not whole reports.
reports = sa.Table(
    "reports",
    metadata,
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("created", sa.Double, nullable=False, index=True),
    sa.Column("report", sa.Text, nullable=False),
    sa.Column("verdict", sa.Text, nullable=False),
    sa.Column("score", sa.Double),
    sa.Column("seconds", sa.Double, nullable=False),
    sa.Column("overview", sa.Text, nullable=False),
)
# The review of a stored report; a row is deleted with its report.
reviews = sa.Table(
    "reviews",
    metadata,
    sa.Column("report_id", sa.Text, primary_key=True),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("decisions", sa.Text, nullable=False),
    sa.Column("reviewer", sa.Text),
    sa.Column("updated", sa.Double, nullable=False),
    sa.Column("verdict", sa.Text),  # that of the decisions; null if they do not settle it
)
SCHEMA_VERSION = 4
_ADVISORY_LOCK = 7_423_911  # any number, the same in every process of the service
_BUSY_SECONDS = 30.0


class Database:
    """An open database, by URL; a failure later on is a ServiceError with one code."""

    def __init__(self, url: str) -> None:
        self.engine = _create_engine(url)

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite, False for PostgreSQL."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def transaction(self, *, write: bool = True) -> Iterator[sa.Connection]:
        """Run the body in one transaction; with `write`, SQLite takes its write lock first."""
        try:
            with self.engine.execution_options(write=write).begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise _unavailable(error) from None

    def reading(self) -> AbstractContextManager[sa.Connection]:
        """Run the body in one transaction that does not write."""
        return self.transaction(write=False)

    def create(self) -> None:
        """Create the tables; raise ConfigurationError if they are those of another version."""
        with self.transaction() as connection:
            if not self.is_sqlite:  # in SQLite the transaction is the lock (see _create_sqlite)
                connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
            schema_version.create(connection, checkfirst=True)
            version = connection.execute(sa.select(schema_version.c.version)).scalar()
            if version is None:
                metadata.create_all(connection)
                connection.execute(sa.insert(schema_version).values(version=SCHEMA_VERSION))
            elif version != SCHEMA_VERSION:
                raise ConfigurationError(
                    f"the database has schema {version}, this halldetect uses {SCHEMA_VERSION}: "
                    "name another database, or use the halldetect that made it"
                )

    def erase_deleted(self) -> None:
        """Erase the bytes of deleted rows from the files, if the database allows it.

        SQLite overwrites freed space, and this empties its journal. PostgreSQL only marks the
        space as free; its journal and backups are up to its administrator.
        """
        statement = (
            "PRAGMA wal_checkpoint(TRUNCATE)" if self.is_sqlite else "VACUUM reports, reviews"
        )
        try:
            engine = self.engine.execution_options(isolation_level="AUTOCOMMIT", plain=True)
            with engine.connect() as connection:
                connection.execute(sa.text(statement))
        except SQLAlchemyError as error:
            raise _unavailable(error) from None

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()


def _create_engine(url: str) -> sa.Engine:
    try:
        parsed = make_url(url)
        name = parsed.get_backend_name()
        if name == "sqlite":
            return _create_sqlite(parsed)
        if name != "postgresql":
            raise ConfigurationError(f"the database must be SQLite or PostgreSQL, not {name}")
        # psycopg 3, whatever the default driver of SQLAlchemy is
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


def _create_sqlite(url: sa.URL) -> sa.Engine:
    if url.database in (None, "", ":memory:"):
        raise ConfigurationError("name a file for the SQLite database: sqlite:////path/file.db")
    path = Path(str(url.database))
    if not path.parent.is_dir():
        raise ConfigurationError(f"there is no folder {str(path.parent)!r} for the database")
    try:  # only the owner may read the texts; SQLite's other files get the same permissions
        path.touch(mode=0o600)
    except OSError as error:
        raise ConfigurationError(f"cannot write the database: {error.strerror}") from None
    engine = sa.create_engine(url, connect_args={"timeout": _BUSY_SECONDS})

    @sa.event.listens_for(engine, "connect")
    def prepare(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin below, not in the driver
        use_write_ahead_log(connection, _BUSY_SECONDS)
        for pragma in ("synchronous=NORMAL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def begin(connection: sa.Connection) -> None:
        options = connection.get_execution_options()
        if not options.get("plain"):
            # A writer takes the lock at the start, so that waiting for another writer cannot
            # fail in the middle of a transaction.
            write = options.get("write", True)
            connection.exec_driver_sql("BEGIN IMMEDIATE" if write else "BEGIN")

    return engine


def _unavailable(error: SQLAlchemyError) -> ServiceError:
    """Return an error with the kind of failure only: driver messages quote values."""
    original = getattr(error, "orig", None)
    kind = type(original or error).__name__
    full = "full" in str(original) or "disk I/O" in str(original)
    reason = "its disk is full" if full else f"it cannot be used now ({kind})"
    return service_error("store_unavailable", f"the database failed: {reason}")
