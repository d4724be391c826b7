"""An index in a PostgreSQL database, for collections beyond one machine.

Passages are found by PostgreSQL's full-text search. Its own ranks do not know how rare a word is,
so passages are ranked by the words of the claim that they have, each weighted by its rarity.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from halldetect.errors import CheckError, InputError, MissingExtra
from halldetect.knowledge.index import about, rarest
from halldetect.knowledge.passages import Passage, cut_passages
from halldetect.knowledge.readers import IndexDocument
from halldetect.knowledge.sql_writer import SqlWriter
from halldetect.reading.document import Span

VERSION = 1
SCHEMA = "halldetect"
CONNECT_SECONDS = 10
SEARCH_SECONDS = 60
# Held while an index is written: "HDKN".
_LOCK = 0x48444B4E
_TABLES = f"""
CREATE SCHEMA {SCHEMA};
CREATE TABLE {SCHEMA}.meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE {SCHEMA}.documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
    title text NOT NULL, digest bytea NOT NULL, run integer NOT NULL);
CREATE TABLE {SCHEMA}.passages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES {SCHEMA}.documents (id) ON DELETE CASCADE,
    "start" integer NOT NULL, "end" integer NOT NULL, title text NOT NULL, text text NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || text)) STORED);
CREATE INDEX passages_of ON {SCHEMA}.passages (document);
CREATE INDEX passages_with ON {SCHEMA}.passages USING gin (words);
CREATE TABLE {SCHEMA}.words (word text PRIMARY KEY, passages integer NOT NULL);
INSERT INTO {SCHEMA}.meta VALUES ('state', 'building'), ('run', '0'), ('version', '{VERSION}');
"""


class PostgresIndex:
    """An index in a database, opened for searching; several threads may use it.

    url  postgresql://user@host/database, without a password: that is the business of PGPASSWORD
         or a password file, since reports state where evidence came from
    Raises InputError for a database without a complete index of this version.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = Lock()
        self._connection = _connect(url)
        try:
            with _errors(url):
                self._meta = _meta(self._connection, url)
                self._connection.execute(f"SET statement_timeout = '{SEARCH_SECONDS}s'")
            if self._meta.get("state") != "complete":
                raise InputError(
                    f"the index {url} is not complete: run halldetect index build again"
                )
            if not self.passages:
                raise InputError(f"the index {url} has no passages")
        except BaseException:
            self._connection.close()
            raise

    @property
    def passages(self) -> int:
        """The number of passages."""
        return int(self._meta["passages"])

    @property
    def description(self) -> dict[str, Any]:
        """The database, the number of passages, and a digest of all documents."""
        parts = urlsplit(self._url)
        return {
            "name": f"postgresql://{parts.hostname or ''}{parts.path}",
            "version": VERSION,
            "documents": int(self._meta["documents"]),
            "passages": self.passages,
            "digest": f"sha256:{self._meta['digest']}",
        }

    def has_document(self, name: str) -> bool:
        """Whether there is a document of that name."""
        query = f"SELECT 1 FROM {SCHEMA}.documents WHERE name = %s"
        return self._connection.execute(query, (name,)).fetchone() is not None

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def __del__(self) -> None:
        """A detector keeps its index as long as it lives, and closes nothing."""
        if (connection := getattr(self, "_connection", None)) is not None:
            connection.close()

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """For each claim the passages that are about it, best first; see `Knowledge`."""
        import psycopg

        with self._lock:
            try:
                if self._connection.closed:
                    self._connection = _connect(self._url)
                return [self._search(claim, limit) for claim in claims]
            except (psycopg.Error, InputError) as error:
                self._connection.close()  # the next search opens another one
                raise CheckError(
                    f"the index {self._url} cannot be searched: {_line(error)}"
                ) from error

    def _search(self, claim: str, limit: int) -> list[Passage]:
        rarities = self._words(claim.replace("\x00", " ")[:2000])
        if not rarities or limit < 1:
            return []
        rows = self._connection.execute(
            "WITH best AS (SELECT id, (SELECT sum(w.rarity) FROM unnest(%s::text[], %s::float8[])"
            " AS w(query, rarity) WHERE words @@ w.query::tsquery) AS score"
            f" FROM {SCHEMA}.passages WHERE words @@ %s::tsquery ORDER BY score DESC, id LIMIT %s)"
            ' SELECT p.text, d.name, p."start", p."end", p.title FROM best'
            f" JOIN {SCHEMA}.passages p ON p.id = best.id"
            f" JOIN {SCHEMA}.documents d ON d.id = p.document ORDER BY best.score DESC, best.id",
            (list(rarities), list(rarities.values()), " | ".join(rarities), limit),
        )
        found = [
            Passage(text, name, Span(start, end), title) for text, name, start, end, title in rows
        ]
        return about(claim, found)

    def _words(self, claim: str) -> dict[str, float]:
        """The words of a claim to look for, as queries, the rarest first, and how rare each is."""
        rows = self._connection.execute(
            f"SELECT word, passages FROM {SCHEMA}.words"
            " WHERE word = ANY (tsvector_to_array(to_tsvector('english', %s))) ORDER BY 1",
            (claim,),
        ).fetchall()
        return {
            _quoted(word): math.log(1.0 + self.passages / count)
            for word, count in rarest(dict(rows)).items()
        }


class PostgresWriter(SqlWriter):
    """Writes an index into a database, where its tables are made if they are not there.

    url       as of `PostgresIndex`
    progress  gets the number of documents so far
    """

    def __init__(self, url: str, progress: Callable[[int], None] | None = None) -> None:
        super().__init__(progress)
        self._url = url
        self._connection = _connect(url)
        try:
            with _errors(url):
                ((alone,),) = self.execute(f"SELECT pg_try_advisory_lock({_LOCK})")
                if not alone:
                    raise InputError(f"the index {url} is being built by another process")
                ((there,),) = self.execute(f"SELECT to_regnamespace('{SCHEMA}') IS NOT NULL")
                if not there:
                    self.execute(_TABLES)
                _meta(self._connection, url)
                self._connection.autocommit = False
                self.execute(f"SET search_path TO {SCHEMA}")
                self.begin()
        except BaseException:
            self._connection.close()
            raise

    def errors(self) -> AbstractContextManager[None]:
        """See `IndexWriter`."""
        return _errors(self._url)

    def execute(self, query: str, values: Sequence[Any] = ()) -> Iterable[Any]:
        """See `SqlWriter`."""
        cursor = self._connection.execute(query.replace("?", "%s"), values or None)
        return cursor if cursor.description is not None else ()

    def commit(self) -> None:
        """See `IndexWriter`."""
        self._connection.commit()

    def insert(self, document: IndexDocument, digest: bytes, run: int) -> int:
        """See `IndexWriter`."""
        ((number,),) = self.execute(
            "INSERT INTO documents (name, title, digest, run) VALUES (?, ?, ?, ?) RETURNING id",
            (document.name, document.title, digest, run),
        )
        rows = [
            (number, span.start, span.end, document.title, span.cut(document.text))
            for span in cut_passages(document.text)
        ]
        with self._connection.cursor() as cursor:
            cursor.executemany(
                'INSERT INTO passages (document, "start", "end", title, text)'
                " VALUES (%s, %s, %s, %s, %s)",
                rows,
            )
        return len(rows)

    def delete(self, key: int) -> None:
        """See `IndexWriter`."""
        self.execute("DELETE FROM documents WHERE id = ?", (key,))

    def complete(self) -> None:
        """Count how many passages have each word."""
        self.execute("DELETE FROM words")
        self.execute(
            "INSERT INTO words SELECT word, ndoc FROM ts_stat('SELECT words FROM passages')"
        )

    def close(self) -> None:
        """See `IndexWriter`."""
        self._connection.close()


def _connect(url: str) -> Any:
    """A connection that commits by itself, so that reading holds nothing."""
    if urlsplit(url).password is not None:
        raise InputError(
            "a URL with a password would stand in every report: use PGPASSWORD or a password file"
        )
    try:
        import psycopg
    except ImportError as error:
        raise MissingExtra("an index in PostgreSQL", "postgres") from error
    with _errors(url):
        return psycopg.connect(url, autocommit=True, connect_timeout=CONNECT_SECONDS)


def _meta(connection: Any, url: str) -> dict[str, str]:
    """What the index states about itself; an error unless it is one of this version."""
    ((there,),) = connection.execute(f"SELECT to_regclass('{SCHEMA}.meta') IS NOT NULL")
    if not there:
        raise InputError(f"{url} holds no halldetect index: make it with halldetect index build")
    meta = dict(connection.execute(f"SELECT name, value FROM {SCHEMA}.meta").fetchall())
    if meta.get("version") != str(VERSION):
        raise InputError(
            f"the index {url} has version {meta.get('version')}, this halldetect reads version "
            f"{VERSION}: drop the schema {SCHEMA} and build it anew"
        )
    return meta


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """Turn errors of PostgreSQL into one that names the index."""
    import psycopg

    try:
        yield
    except psycopg.Error as error:
        raise InputError(f"the index {url} cannot be used: {_line(error)}") from error


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _quoted(word: str) -> str:
    """A word as a query of its own."""
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"
