"""Making and updating an index file, so that a crash at any moment loses little and breaks nothing.

Documents are written in transactions of some thousand passages. Until the last one the file
states that it is not complete, and cannot be searched. A build that is run again skips documents
that are there unchanged, so it continues where it was stopped.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import HallDetectError, InputError
from halldetect.knowledge.index import (
    APPLICATION_ID,
    TOKENIZER,
    VERSION,
    KnowledgeIndex,
    index_errors,
    require_version,
)
from halldetect.knowledge.passages import cut_passages
from halldetect.knowledge.readers import IndexDocument, SourceFile, read_documents

# Passages per transaction: fewer cost time, more cost memory and are lost with a crash.
COMMIT_PASSAGES = 5_000
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


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """What a build did: documents per outcome, files that could not be read, and the totals."""

    added: int
    updated: int
    unchanged: int
    removed: int
    skipped: tuple[str, ...]
    documents: int
    passages: int


def build_index(
    path: Path,
    files: Iterable[SourceFile],
    *,
    remove_missing: bool = False,
    strict: bool = True,
    progress: Callable[[int], None] | None = None,
) -> BuildSummary:
    """Make an index of files, or bring an index up to date with them.

    path            of the index file
    files           what to index
    remove_missing  remove documents of earlier builds that are not in these files
    strict          raise InputError for a file that cannot be read; otherwise it is skipped
    progress        gets the number of documents so far
    """
    builder = _Builder(path, progress)
    try:
        for file in files:
            try:
                for document in read_documents(file):
                    builder.add(document)
            except HallDetectError as error:
                if strict:
                    raise
                builder.skipped.append(str(error))
        return builder.finish(remove_missing)
    finally:
        builder.close()


def remove_documents(path: Path, names: Iterable[str]) -> int:
    """Remove documents from an index; returns their number.

    path   of the index file
    names  of the documents
    Raises InputError for a name that the index does not have.
    """
    wanted = list(dict.fromkeys(names))
    with closing(KnowledgeIndex(path)) as index:
        for name in wanted:
            if not index.has_document(name):
                raise InputError(f"the index has no document {name!r}")
    builder = _Builder(path, None)
    try:
        for name in wanted:
            builder.remove(name)
        return builder.finish(False).removed
    finally:
        builder.close()


class _Builder:
    def __init__(self, path: Path, progress: Callable[[int], None] | None) -> None:
        self.skipped: list[str] = []
        self._path = path
        self._progress = progress
        self._counts = {"added": 0, "updated": 0, "unchanged": 0, "removed": 0}
        self._uncommitted = 0
        self._names_of_run: int = 0
        with index_errors(path):
            self._connection = sqlite3.connect(path, timeout=5.0, isolation_level=None)
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        run = self._connection
        run.execute("PRAGMA synchronous = NORMAL")
        (tables,) = run.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if not tables:
            run.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
        require_version(run, self._path)
        run.execute("BEGIN IMMEDIATE")
        run.execute("UPDATE meta SET value = 'building' WHERE name = 'state'")
        run.execute("UPDATE meta SET value = value + 1 WHERE name = 'run'")
        run.execute("COMMIT")
        (number,) = run.execute("SELECT value FROM meta WHERE name = 'run'").fetchone()
        self._run = int(number)
        run.execute("BEGIN IMMEDIATE")

    def add(self, document: IndexDocument) -> None:
        """Add a document, replace it if it has changed, or leave it as it is."""
        with index_errors(self._path):
            self._add(document)
        self._names_of_run += 1
        if self._progress is not None:
            self._progress(self._names_of_run)

    def _add(self, document: IndexDocument) -> None:
        run = self._connection
        digest = hashlib.sha256(f"{document.title}\x00{document.text}".encode()).digest()
        known = run.execute(
            "SELECT id, digest, run FROM documents WHERE name = ?", (document.name,)
        ).fetchone()
        if known is not None and known[2] == self._run:
            raise InputError(f"two documents have the name {document.name!r}")
        if known is not None and known[1] == digest:
            run.execute("UPDATE documents SET run = ? WHERE id = ?", (self._run, known[0]))
            self._counts["unchanged"] += 1
            self._step(1)
            return
        if known is not None:
            self._delete(known[0])
        self._counts["added" if known is None else "updated"] += 1
        number = run.execute(
            "INSERT INTO documents (name, title, digest, run) VALUES (?, ?, ?, ?)",
            (document.name, document.title, digest, self._run),
        ).lastrowid
        for span in cut_passages(document.text):
            text = span.cut(document.text)
            passage = run.execute(
                "INSERT INTO passages (document, start, end, title, text) VALUES (?, ?, ?, ?, ?)",
                (number, span.start, span.end, document.title, text),
            ).lastrowid
            run.execute(
                "INSERT INTO passage_words (rowid, title, text) VALUES (?, ?, ?)",
                (passage, document.title, text),
            )
            self._uncommitted += 1
        self._step(1)

    def remove(self, name: str) -> None:
        """Remove the document of that name, if there is one."""
        with index_errors(self._path):
            query = "SELECT id FROM documents WHERE name = ?"
            known = self._connection.execute(query, (name,)).fetchone()
            if known is not None:
                self._delete(known[0])
                self._counts["removed"] += 1

    def _delete(self, number: int) -> None:
        run = self._connection
        # A table with its texts elsewhere must be told what to forget.
        run.execute(
            "INSERT INTO passage_words (passage_words, rowid, title, text)"
            " SELECT 'delete', id, title, text FROM passages WHERE document = ?",
            (number,),
        )
        run.execute("DELETE FROM passages WHERE document = ?", (number,))
        run.execute("DELETE FROM documents WHERE id = ?", (number,))

    def _step(self, work: int) -> None:
        """Commit when enough was written; a document is never cut by it."""
        self._uncommitted += work
        if self._uncommitted >= COMMIT_PASSAGES:
            self._connection.execute("COMMIT")
            self._connection.execute("BEGIN IMMEDIATE")
            self._uncommitted = 0

    def finish(self, remove_missing: bool) -> BuildSummary:
        """Remove what is gone, state totals and digest, and mark the index as complete."""
        run = self._connection
        with index_errors(self._path):
            if remove_missing:
                gone = "SELECT id FROM documents WHERE run < ? LIMIT 1"
                while (row := run.execute(gone, (self._run,)).fetchone()) is not None:
                    self._delete(row[0])
                    self._counts["removed"] += 1
                    self._step(1)
            digest = hashlib.sha256()
            for name, value in run.execute("SELECT name, digest FROM documents ORDER BY name"):
                digest.update(f"{name}\x00{value.hex()}\n".encode())
            (documents,) = run.execute("SELECT count(*) FROM documents").fetchone()
            (passages,) = run.execute("SELECT count(*) FROM passages").fetchone()
            facts = {
                "documents": str(documents),
                "passages": str(passages),
                "digest": digest.hexdigest(),
                "state": "complete",
            }
            run.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
            run.execute("COMMIT")
        return BuildSummary(
            **self._counts,
            skipped=tuple(self.skipped),
            documents=documents,
            passages=passages,
        )

    def close(self) -> None:
        """Close the file; what was not committed is undone."""
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self._connection.close()
