"""An index of passages: a SQLite file with a full-text index (FTS5), or a PostgreSQL database.

Both have the same tables `meta`, `documents` and `passages`, which `builder` writes. Their
full-text search differs. SQLite ranks by BM25. PostgreSQL's own ranks ignore the rarity of words,
so passages are ranked there by the words they share with the claim, each weighted by its rarity.
"""

from __future__ import annotations

import math
import os
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import urlsplit

from halldetect.errors import CheckError, InputError, MissingExtra, one_line
from halldetect.knowledge.passages import Passage
from halldetect.machine.store import require_network
from halldetect.reading.document import Span
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.words import FUNCTION_WORDS, words

# "HDKN": identifies our SQLite files, and locks a PostgreSQL database for writing.
APPLICATION_ID = 0x48444B4E
VERSION = 3
SCHEMA = "halldetect"
CONNECT_SECONDS = 10
SEARCH_SECONDS = 60
# A passage with a smaller share of the content words of a claim is not about it.
MIN_SHARED = 0.25
# Words of a claim to search for: the rarest ones tell passages apart.
MAX_TERMS = 12
# Passages to rank, counted per word: common words of a large index say little and cost the most.
MAX_RANKED = 20_000
_MAX_CLAIM = 2000
_TERM = re.compile(r"\w+")
_SQLITE_TABLES = f"""
BEGIN IMMEDIATE;
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    digest BLOB NOT NULL, run INTEGER NOT NULL);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    start INTEGER NOT NULL, end INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX passages_of ON passages (document);
CREATE VIRTUAL TABLE passage_words USING fts5(
    title, text, content='passages', content_rowid='id',
    tokenize='porter unicode61 remove_diacritics 2');
CREATE TRIGGER passage_added AFTER INSERT ON passages BEGIN
    INSERT INTO passage_words (rowid, title, text) VALUES (new.id, new.title, new.text); END;
CREATE TRIGGER passage_removed AFTER DELETE ON passages BEGIN
    INSERT INTO passage_words (passage_words, rowid, title, text)
    VALUES ('delete', old.id, old.title, old.text); END;
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
COMMIT;
"""
_POSTGRES_TABLES = f"""
CREATE SCHEMA {SCHEMA};
CREATE TABLE meta (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text NOT NULL UNIQUE,
    title text NOT NULL, digest bytea NOT NULL, run integer NOT NULL);
CREATE TABLE passages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    document bigint NOT NULL REFERENCES documents (id) ON DELETE CASCADE,
    "start" integer NOT NULL, "end" integer NOT NULL, title text NOT NULL, text text NOT NULL,
    words tsvector GENERATED ALWAYS AS (to_tsvector('english', title || ' ' || text)) STORED);
CREATE INDEX passages_of ON passages (document);
CREATE INDEX passages_with ON passages USING gin (words);
INSERT INTO meta VALUES ('version', '{VERSION}');
"""
_INSERT = 'INSERT INTO passages (document, "start", "end", title, text) VALUES (?, ?, ?, ?, ?)'
_TEXTS_OF_BEST = (
    'SELECT p.text, d.name, p."start", p."end", p.title FROM best JOIN passages p ON p.id = best.id'
    " JOIN documents d ON d.id = p.document ORDER BY best.score DESC, best.id"
)


class KnowledgeIndex:
    """An index file, opened for searching by several threads or for writing by one.

    With `writing`, it is created if needed, and changes are visible after `commit`.
    """

    _placeholder = "?"
    _having = "SELECT 1 FROM passage_words WHERE passage_words MATCH ?"

    def __init__(self, path: Path | str, *, writing: bool = False) -> None:
        self.location, self.name = repr(str(path)), Path(path).name
        self._lock = Lock()
        if not writing and not Path(path).is_file():
            raise InputError(
                f"there is no index {self.location}: make it with halldetect index build"
            )
        with self.errors():
            if writing:
                self._connection = sqlite3.connect(path, isolation_level=None)
            else:
                # Not "ro", which cannot undo a build that was killed.
                uri = f"{Path(path).resolve().as_uri()}?mode=rw"
                self._connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        self._open(writing)

    def _open(self, writing: bool) -> None:
        with self.errors():
            self._prepare(writing)
            self._facts = dict(self.execute("SELECT name, value FROM meta"))
        if not writing and not self.passages:
            raise InputError(f"the index {self.location} has no passages")

    def _prepare(self, writing: bool) -> None:
        """Create the tables of a new index, and prepare for writing or searching."""
        ((tables,),) = self.execute("SELECT count(*) FROM sqlite_master")
        if writing and not tables:
            self._connection.executescript(_SQLITE_TABLES)
        ((application,),) = self.execute("PRAGMA application_id")
        if application != APPLICATION_ID:
            raise InputError(f"{self.location} is not a halldetect index")
        ((version,),) = self.execute("PRAGMA user_version")
        self._require_version(version, "delete it")
        if writing:
            self.execute("PRAGMA foreign_keys = ON")
            self.execute("BEGIN IMMEDIATE")
            return
        self.execute("PRAGMA query_only = ON")
        self.execute("SELECT rowid FROM passage_words LIMIT 1").fetchall()

    def _require_version(self, version: int, advice: str) -> None:
        if version != VERSION:
            raise InputError(
                f"the index {self.location} has version {version}, this halldetect reads version "
                f"{VERSION}: {advice} and build it again"
            )

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn database errors into an InputError that names the index."""
        try:
            yield
        except sqlite3.Error as error:
            why = f"cannot be used ({error}); take another file, or delete it and build it again"
            if "locked" in str(error):
                why = "is being built by another process"
            raise InputError(f"the index {self.location} {why}") from error

    def execute(self, query: str, values: Sequence[Any] = ()) -> Any:
        """Run a statement with `?` as placeholder, and return its rows."""
        arguments = [values] if values else []
        return self._connection.execute(query.replace("?", self._placeholder), *arguments)

    def commit(self) -> None:
        """Make all changes permanent and visible."""
        self._connection.commit()

    def insert(self, passages: Sequence[tuple[int, int, int, str, str]]) -> None:
        """Write passages: document, start, end, title and text of each."""
        query = _INSERT.replace("?", self._placeholder)
        self._connection.cursor().executemany(query, passages)

    def close(self) -> None:
        """Close the database; uncommitted changes are undone."""
        if (connection := getattr(self, "_connection", None)) is not None:
            connection.close()

    def __del__(self) -> None:
        self.close()  # detectors keep their index as long as they live

    @property
    def passages(self) -> int:
        """The number of passages."""
        return int(self._facts.get("passages", 0))

    @property
    def description(self) -> dict[str, Any]:
        """The name, the numbers of documents and passages, and a digest of all documents."""
        return {
            "name": self.name,
            "version": VERSION,
            "documents": int(self._facts["documents"]),
            "passages": self.passages,
            "digest": f"sha256:{self._facts['digest']}",
        }

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """Return for each claim the passages about it, best first; see `Knowledge`."""
        try:
            with self._lock, self.errors():
                return [self._about(claim, limit) for claim in claims]
        except InputError as error:
            raise CheckError(f"the index cannot be searched: {error}") from error

    def _about(self, claim: str, limit: int) -> list[Passage]:
        wanted = content_keys(claim)
        rows = self._best(claim[:_MAX_CLAIM], limit) if limit > 0 else ()
        found = [Passage(text, name, Span(*place), title) for text, name, *place, title in rows]
        shared = (shared_part(wanted, content_keys(item.text_with_title)) for item in found)
        return [item for item, part in zip(found, shared, strict=True) if part >= MIN_SHARED]

    def _best(self, claim: str, limit: int) -> Any:
        """Return text, document, start, end and title of the best passages for a claim."""
        # Counting stops where a word is too common anyway.
        count = f"SELECT count(*) FROM ({self._having} LIMIT {MAX_RANKED + 1}) AS found"
        terms = dict.fromkeys(self._terms(claim))
        chosen = rarest({term: self.execute(count, (term,)).fetchone()[0] for term in terms})
        return self._ranked(chosen, limit) if chosen else ()

    def _terms(self, claim: str) -> Iterable[str]:
        """Return the words of a claim, each as a query."""
        spoken = [word.norm for word in words(claim) if word.norm not in FUNCTION_WORDS]
        return (f'"{term}"' for norm in spoken for term in _TERM.findall(norm))

    def _ranked(self, terms: Mapping[str, int], limit: int) -> Any:
        # Choose the best ones before reading their texts.
        return self.execute(
            "WITH best AS (SELECT rowid AS id, -bm25(passage_words) AS score FROM passage_words"
            f" WHERE passage_words MATCH ? ORDER BY score DESC, id LIMIT ?) {_TEXTS_OF_BEST}",
            (" OR ".join(terms), limit),
        )


class PostgresIndex(KnowledgeIndex):
    """An index in a database, as postgresql://user@host/database.

    Reports show this URL, so the password belongs in PGPASSWORD or a password file.
    """

    _placeholder = "%s"
    _having = "SELECT 1 FROM passages WHERE words @@ ?::tsquery"

    def __init__(self, url: str, *, writing: bool = False) -> None:
        parts = urlsplit(url)
        if parts.password is not None:
            raise InputError(
                "a URL with a password would stand in every report: use PGPASSWORD or a password "
                "file"
            )
        self.location, self._lock = url, Lock()
        self.name = f"postgresql://{parts.hostname or ''}{parts.path}"
        self._connect()
        self._open(writing)

    def _connect(self) -> None:
        try:
            import psycopg
            from psycopg.conninfo import conninfo_to_dict
        except ImportError as error:
            raise MissingExtra("an index in PostgreSQL", "postgres") from error
        with self.errors():
            named = conninfo_to_dict(self.location)
            hosts = named.get("hostaddr") or named.get("host") or os.environ.get("PGHOST", "")
            for host in str(hosts).split(","):
                # A path is a socket of this machine.
                require_network("an index in PostgreSQL", host if host[:1] != "/" else None)
            # Autocommit, so that reading holds no locks.
            self._connection: Any = psycopg.connect(
                self.location, autocommit=True, connect_timeout=CONNECT_SECONDS
            )
            self.execute(f"SET search_path TO {SCHEMA}")

    def _prepare(self, writing: bool) -> None:
        if writing:
            ((is_alone,),) = self.execute(f"SELECT pg_try_advisory_lock({APPLICATION_ID})")
            if not is_alone:
                raise InputError(f"the index {self.location} is being built by another process")
        ((has_tables,),) = self.execute(f"SELECT to_regclass('{SCHEMA}.meta') IS NOT NULL")
        if writing and not has_tables:
            self.execute(_POSTGRES_TABLES)
        elif not has_tables:
            advice = "make it with halldetect index build"
            raise InputError(f"{self.location} holds no halldetect index: {advice}")
        ((version,),) = self.execute("SELECT value FROM meta WHERE name = 'version'")
        self._require_version(int(version), f"drop the schema {SCHEMA}")
        if writing:
            self._connection.autocommit = False
        else:
            self.execute(f"SET statement_timeout = '{SEARCH_SECONDS}s'")

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Turn database errors into an InputError that names the index."""
        import psycopg

        try:
            yield
        except psycopg.Error as error:
            message = f"the index {self.location} cannot be used: {one_line(error)}"
            raise InputError(message) from error

    def _terms(self, claim: str) -> Iterable[str]:
        if self._connection.closed:  # the server may be back
            self._connect()
        lexemes = "SELECT unnest(tsvector_to_array(to_tsvector('english', ?)))"
        for (word,) in self.execute(lexemes, (claim.replace("\x00", " "),)):
            yield "'{}'".format(word.replace("\\", "\\\\").replace("'", "''"))

    def _ranked(self, terms: Mapping[str, int], limit: int) -> Any:
        rarity = [math.log(1.0 + self.passages / count) for count in terms.values()]
        return self.execute(
            "WITH best AS (SELECT id, (SELECT sum(w.rarity) FROM unnest(?::text[], ?::float8[])"
            " AS w(query, rarity) WHERE words @@ w.query::tsquery) AS score FROM passages"
            f" WHERE words @@ ?::tsquery ORDER BY score DESC, id LIMIT ?) {_TEXTS_OF_BEST}",
            (list(terms), rarity, " | ".join(terms), limit),
        )


def rarest(counts: Mapping[str, int]) -> dict[str, int]:
    """Return the words to search, rarest first, with the number of passages that contain each."""
    chosen: dict[str, int] = {}
    for word, count in sorted(counts.items(), key=lambda item: item[1]):
        if count and (not chosen or sum(chosen.values()) + count <= MAX_RANKED):
            chosen[word] = count
    return dict(islice(chosen.items(), MAX_TERMS))
