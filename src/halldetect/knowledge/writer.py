"""Writing an index, so that a crash at any moment loses little and breaks nothing.

Documents are written in transactions of some thousand passages. Until the last one the index
states that it is not complete, and cannot be searched. A build that is run again skips documents
that are there unchanged, so it continues where it was stopped.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from halldetect.errors import InputError
from halldetect.knowledge.readers import IndexDocument

# Passages per transaction: fewer cost time, more cost memory and are lost with a crash.
COMMIT_PASSAGES = 5_000


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


class IndexWriter(ABC):
    """The steps of a build on an open database; what differs between databases is abstract.

    progress  gets the number of documents so far

    The tables `meta` (name, value), `documents` (id, name, title, digest, run) and `passages` (id,
    document, start, end, title, text) have the same columns in all of them.
    """

    def __init__(self, progress: Callable[[int], None] | None = None) -> None:
        self.skipped: list[str] = []
        self._progress = progress
        self._counts = {"added": 0, "updated": 0, "unchanged": 0, "removed": 0}
        self._uncommitted = 0
        self._added = 0
        self._run = 0

    @abstractmethod
    def errors(self) -> AbstractContextManager[None]:
        """Turn errors of the database into `InputError`."""

    @abstractmethod
    def execute(self, query: str, values: Sequence[Any] = ()) -> Iterable[Any]:
        """Run a statement with `?` for its values; the rows, if it has any."""

    @abstractmethod
    def commit(self) -> None:
        """End the transaction and begin another one."""

    @abstractmethod
    def insert(self, document: IndexDocument, digest: bytes, run: int) -> int:
        """Write a document with its passages; the number of passages."""

    @abstractmethod
    def delete(self, number: int) -> None:
        """Remove a document with its passages."""

    @abstractmethod
    def complete(self) -> None:
        """What is to be done when all documents are written."""

    @abstractmethod
    def close(self) -> None:
        """Close the database; what was not committed is undone."""

    def begin(self) -> None:
        """State that the index is not complete, and count this run."""
        self.execute("UPDATE meta SET value = 'building' WHERE name = 'state'")
        ((number,),) = self.execute("SELECT value FROM meta WHERE name = 'run'")
        self._run = int(number) + 1
        self.execute("UPDATE meta SET value = ? WHERE name = 'run'", (str(self._run),))
        self.commit()

    def add(self, document: IndexDocument) -> None:
        """Add a document, replace it if it has changed, or leave it as it is."""
        with self.errors():
            self._add(document)
        self._added += 1
        if self._progress is not None:
            self._progress(self._added)

    def _add(self, document: IndexDocument) -> None:
        digest = hashlib.sha256(f"{document.title}\x00{document.text}".encode()).digest()
        query = "SELECT id, digest, run FROM documents WHERE name = ?"
        number, known, run = next(iter(self.execute(query, (document.name,))), (None, None, 0))
        if run == self._run:
            raise InputError(f"two documents have the name {document.name!r}")
        if known is not None and bytes(known) == digest:
            self.execute("UPDATE documents SET run = ? WHERE id = ?", (self._run, number))
            self._counts["unchanged"] += 1
            self._step(1)
            return
        if number is not None:
            self.delete(number)
        self._counts["added" if number is None else "updated"] += 1
        self._step(1 + self.insert(document, digest, self._run))

    def remove(self, name: str) -> None:
        """Remove the document of that name, if there is one."""
        with self.errors():
            for (number,) in list(self.execute("SELECT id FROM documents WHERE name = ?", (name,))):
                self.delete(number)
                self._counts["removed"] += 1

    def _step(self, work: int) -> None:
        """Commit when enough was written; a document is never cut by it."""
        self._uncommitted += work
        if self._uncommitted >= COMMIT_PASSAGES:
            self.commit()
            self._uncommitted = 0

    def finish(self, remove_missing: bool) -> BuildSummary:
        """Remove what is gone, state totals and digest, and mark the index as complete."""
        with self.errors():
            gone = "SELECT id FROM documents WHERE run < ? LIMIT 1"
            while remove_missing and (rows := list(self.execute(gone, (self._run,)))):
                self.delete(rows[0][0])
                self._counts["removed"] += 1
                self._step(1)
            self.complete()
            digest = hashlib.sha256()
            for name, value in self.execute("SELECT name, digest FROM documents ORDER BY name"):
                digest.update(f"{name}\x00{bytes(value).hex()}\n".encode())
            ((documents,),) = self.execute("SELECT count(*) FROM documents")
            ((passages,),) = self.execute("SELECT count(*) FROM passages")
            facts = {
                "documents": str(documents),
                "passages": str(passages),
                "digest": digest.hexdigest(),
                "state": "complete",
            }
            for name, value in facts.items():
                self.execute("DELETE FROM meta WHERE name = ?", (name,))
                self.execute("INSERT INTO meta VALUES (?, ?)", (name, value))
            self.commit()
        return BuildSummary(
            **self._counts,
            skipped=tuple(self.skipped),
            documents=documents,
            passages=passages,
        )
