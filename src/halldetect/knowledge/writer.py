"""Writing an index, so that a crash at any moment loses little and breaks nothing.

Documents are written in transactions of some thousand passages. Until the last one the index
states that it is not complete, and cannot be searched. A build that is run again skips documents
that are there unchanged, so it continues where it was stopped.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
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

    A document is known by a key, whose form is the business of the database.
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
    def start_run(self) -> int:
        """State that the index is not complete; the number of this run."""

    @abstractmethod
    def commit(self) -> None:
        """Make what was written so far last."""

    @abstractmethod
    def find(self, name: str) -> tuple[Any, bytes, int] | None:
        """The key of a document, its digest and the last run that had it, if it is there."""

    @abstractmethod
    def mark(self, key: Any, run: int) -> None:
        """Note that a run had a document, which has not changed."""

    @abstractmethod
    def insert(self, document: IndexDocument, digest: bytes, run: int) -> int:
        """Write a document with its passages; the number of passages."""

    @abstractmethod
    def delete(self, key: Any) -> None:
        """Remove a document with its passages."""

    @abstractmethod
    def outdated(self, run: int) -> Sequence[Any]:
        """The keys of some documents that a run did not have; none if it had all."""

    @abstractmethod
    def complete(self) -> None:
        """What is to be done when all documents are written."""

    @abstractmethod
    def digests(self) -> Iterable[tuple[str, bytes]]:
        """The names and digests of all documents, sorted by name."""

    @abstractmethod
    def totals(self) -> tuple[int, int]:
        """The number of documents and of passages."""

    @abstractmethod
    def state(self, facts: Mapping[str, str]) -> None:
        """Keep facts about the index."""

    @abstractmethod
    def close(self) -> None:
        """Close the database; what was not committed is undone."""

    def begin(self) -> None:
        """Start a run; to be called once the database is open."""
        self._run = self.start_run()

    def add(self, document: IndexDocument) -> None:
        """Add a document, replace it if it has changed, or leave it as it is."""
        with self.errors():
            self._add(document)
        self._added += 1
        if self._progress is not None:
            self._progress(self._added)

    def _add(self, document: IndexDocument) -> None:
        digest = hashlib.sha256(f"{document.title}\x00{document.text}".encode()).digest()
        key, known, run = self.find(document.name) or (None, None, 0)
        if run == self._run:
            raise InputError(f"two documents have the name {document.name!r}")
        if known == digest:
            self.mark(key, self._run)
            self._counts["unchanged"] += 1
            self._step(1)
            return
        if key is not None:
            self.delete(key)
        self._counts["added" if key is None else "updated"] += 1
        self._step(1 + self.insert(document, digest, self._run))

    def remove(self, name: str) -> None:
        """Remove the document of that name, if there is one."""
        with self.errors():
            if (found := self.find(name)) is not None:
                self.delete(found[0])
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
            while remove_missing and (gone := self.outdated(self._run)):
                for key in gone:
                    self.delete(key)
                    self._counts["removed"] += 1
                    self._step(1)
            self.complete()
            digest = hashlib.sha256()
            for name, value in self.digests():
                digest.update(f"{name}\x00{value.hex()}\n".encode())
            documents, passages = self.totals()
            facts = {
                "documents": str(documents),
                "passages": str(passages),
                "digest": digest.hexdigest(),
                "state": "complete",
            }
            self.state(facts)
            self.commit()
        return BuildSummary(
            **self._counts,
            skipped=tuple(self.skipped),
            documents=documents,
            passages=passages,
        )
