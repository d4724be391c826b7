"""Writing an index file: a SQLite database with a full-text index."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from halldetect.knowledge.index import (
    APPLICATION_ID,
    TOKENIZER,
    VERSION,
    index_errors,
    require_version,
)
from halldetect.knowledge.passages import cut_passages
from halldetect.knowledge.readers import IndexDocument
from halldetect.knowledge.sql_writer import SqlWriter

_SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, title TEXT NOT NULL,
    digest BLOB NOT NULL, run INTEGER NOT NULL);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY, document INTEGER NOT NULL REFERENCES documents (id),
    start INTEGER NOT NULL, end INTEGER NOT NULL, title TEXT NOT NULL, text TEXT NOT NULL);
CREATE INDEX passages_of ON passages (document);
CREATE VIRTUAL TABLE passage_words USING fts5(
    title, text, content='passages', content_rowid='id', tokenize='{TOKENIZER}');
CREATE VIRTUAL TABLE passage_vocabulary USING fts5vocab(passage_words, 'row');
INSERT INTO meta VALUES ('state', 'building'), ('run', '0');
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {VERSION};
"""


class SqliteWriter(SqlWriter):
    """Writes an index file, which is made if it is not there.

    path      of the file
    progress  gets the number of documents so far
    Raises InputError for a file that is not an index of this version, or that another process
    is writing.
    """

    def __init__(self, path: Path, progress: Callable[[int], None] | None = None) -> None:
        super().__init__(progress)
        self._path = path
        with index_errors(path):
            self._connection = sqlite3.connect(path, timeout=5.0, isolation_level=None)
            try:
                self.execute("PRAGMA synchronous = NORMAL")
                ((tables,),) = self.execute("SELECT count(*) FROM sqlite_master")
                if not tables:
                    self._connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
                require_version(self._connection, path)
                self.execute("BEGIN IMMEDIATE")
                self.begin()
            except BaseException:
                self._connection.close()
                raise

    def errors(self) -> AbstractContextManager[None]:
        """See `IndexWriter`."""
        return index_errors(self._path)

    def execute(self, query: str, values: Sequence[Any] = ()) -> Iterable[Any]:
        """See `SqlWriter`."""
        return self._connection.execute(query, values)

    def commit(self) -> None:
        """See `IndexWriter`."""
        self.execute("COMMIT")
        self.execute("BEGIN IMMEDIATE")

    def insert(self, document: IndexDocument, digest: bytes, run: int) -> int:
        """See `IndexWriter`."""
        write = self._connection.execute
        number = write(
            "INSERT INTO documents (name, title, digest, run) VALUES (?, ?, ?, ?)",
            (document.name, document.title, digest, run),
        ).lastrowid
        count = 0
        for span in cut_passages(document.text):
            text = span.cut(document.text)
            passage = write(
                "INSERT INTO passages (document, start, end, title, text) VALUES (?, ?, ?, ?, ?)",
                (number, span.start, span.end, document.title, text),
            ).lastrowid
            write(
                "INSERT INTO passage_words (rowid, title, text) VALUES (?, ?, ?)",
                (passage, document.title, text),
            )
            count += 1
        return count

    def delete(self, key: int) -> None:
        """See `IndexWriter`."""
        # A table with its texts elsewhere must be told what to forget.
        self.execute(
            "INSERT INTO passage_words (passage_words, rowid, title, text)"
            " SELECT 'delete', id, title, text FROM passages WHERE document = ?",
            (key,),
        )
        self.execute("DELETE FROM passages WHERE document = ?", (key,))
        self.execute("DELETE FROM documents WHERE id = ?", (key,))

    def complete(self) -> None:
        """See `IndexWriter`; the full-text index is complete at any time."""

    def close(self) -> None:
        """See `IndexWriter`."""
        if self._connection.in_transaction:
            self.execute("ROLLBACK")
        self._connection.close()
