"""Build, update and open an index: a file, or a PostgreSQL database by its URL.

Documents are written in transactions of several thousand passages. Until the last one, the index
is marked as incomplete and cannot be searched. A repeated build skips unchanged documents, so it
continues after a crash.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import HallDetectError, InputError
from halldetect.knowledge.index import KnowledgeIndex, PostgresIndex
from halldetect.knowledge.passages import cut_passages
from halldetect.knowledge.readers import IndexDocument, SourceFile, read_documents

# Passages per transaction: fewer cost time, more cost memory and are lost in a crash.
COMMIT_PASSAGES = 5_000
CHANGES = ("added", "updated", "unchanged", "removed")
_DELETE = "DELETE FROM documents WHERE id = ?"  # its passages are deleted with it


@dataclass(frozen=True, slots=True)
class BuildSummary:
    """The outcome of a build: documents per change, skipped files, and the totals."""

    added: int
    updated: int
    unchanged: int
    removed: int
    skipped: tuple[str, ...]
    documents: int
    passages: int


def is_url(location: str | Path) -> bool:
    """Return True if an index is in a database, False if it is a file."""
    scheme, separator, _ = str(location).partition("://")
    if separator and scheme not in ("postgresql", "postgres"):
        raise InputError(f"an index is a file or postgresql://..., not {scheme}://...")
    return bool(separator)


def open_index(location: str | Path, *, writing: bool = False) -> KnowledgeIndex:
    """Open an index: the path of a file, or a URL such as postgresql://user@host/database.

    With `writing`, it is created if needed. Anything but a complete index of this version
    raises InputError.
    """
    if is_url(location):
        return PostgresIndex(str(location), writing=writing)
    return KnowledgeIndex(location, writing=writing)


def build_index(
    location: str | Path,
    files: Iterable[SourceFile],
    *,
    remove_missing: bool = False,
    strict: bool = True,
    progress: Callable[[int], None] = lambda documents: None,
) -> BuildSummary:
    """Create an index of files, or update an existing one; `location` as for `open_index`.

    With `remove_missing`, documents of earlier builds that are not in these files are removed.
    Unless `strict`, unreadable files are skipped. `progress` gets the number of documents so far.
    """
    skipped = []
    with closing(open_index(location, writing=True)) as index, index.errors():
        build = _Build(index)
        for file in files:
            try:
                for document in read_documents(file):
                    build.add(document)
                    progress(build.changes.total())
            except HallDetectError as error:
                if strict:
                    raise
                skipped.append(str(error))
        if remove_missing:
            build.remove_outdated()
        return build.finish(tuple(skipped))


class _Build:
    """The steps of a build on an index opened for writing."""

    def __init__(self, index: KnowledgeIndex) -> None:
        self._index = index
        self.changes: Counter[str] = Counter()
        self._uncommitted = 0
        ((number,),) = index.execute("SELECT value FROM meta WHERE name = 'run'")
        self._run = int(number) + 1
        self.record(state="building", run=str(self._run))
        index.commit()

    def record(self, **facts: str) -> None:
        """Record facts about the index."""
        keep = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        for fact in facts.items():
            self._index.execute(f"INSERT INTO meta VALUES (?, ?) {keep}", fact)

    def add(self, document: IndexDocument) -> None:
        """Add a document, replace a changed one, or keep an unchanged one."""
        digest = hashlib.sha256(f"{document.title}\x00{document.text}".encode()).digest()
        change = "added"
        find = "SELECT id, digest, run FROM documents WHERE name = ?"
        for key, known, run in self._index.execute(find, (document.name,)):
            if run == self._run:
                raise InputError(f"two documents have the name {document.name!r}")
            if bytes(known) == digest:
                update = "UPDATE documents SET run = ? WHERE id = ?"
                self._index.execute(update, (self._run, key))
                self._count("unchanged", 1)
                return
            self._index.execute(_DELETE, (key,))
            change = "updated"
        ((key,),) = self._index.execute(
            "INSERT INTO documents (name, title, digest, run) VALUES (?, ?, ?, ?) RETURNING id",
            (document.name, document.title, digest, self._run),
        )
        passages = [
            (key, span.start, span.end, document.title, span.cut(document.text))
            for span in cut_passages(document.text)
        ]
        self._index.insert(passages)
        self._count(change, 1 + len(passages))

    def remove_outdated(self) -> None:
        """Remove the documents of earlier builds that this one did not have."""
        query = "SELECT id FROM documents WHERE run < ? LIMIT 1000"
        while gone := list(self._index.execute(query, (self._run,))):
            for (key,) in gone:
                self._index.execute(_DELETE, (key,))
                self._count("removed", 1)

    def _count(self, change: str, work: int) -> None:
        """Count a document, and commit once enough is written."""
        self.changes[change] += 1
        self._uncommitted += work
        if self._uncommitted >= COMMIT_PASSAGES:
            self._index.commit()
            self._uncommitted = 0

    def finish(self, skipped: tuple[str, ...]) -> BuildSummary:
        """Record totals and digest, and mark the index as complete."""
        digest = hashlib.sha256()
        for name, value in self._index.execute("SELECT name, digest FROM documents ORDER BY name"):
            digest.update(f"{name}\x00{bytes(value).hex()}\n".encode())
        ((documents,),) = self._index.execute("SELECT count(*) FROM documents")
        ((passages,),) = self._index.execute("SELECT count(*) FROM passages")
        self.record(
            documents=str(documents),
            passages=str(passages),
            digest=digest.hexdigest(),
            state="complete",
        )
        self._index.commit()
        counts = {kind: self.changes[kind] for kind in CHANGES}
        return BuildSummary(**counts, skipped=skipped, documents=documents, passages=passages)
