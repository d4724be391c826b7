"""What writing an index has in common between the databases that speak SQL."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from halldetect.knowledge.writer import IndexWriter


class SqlWriter(IndexWriter):
    """Writes an index by SQL; a key is the id of a document.

    The tables `meta` (name, value), `documents` (id, name, title, digest, run) and `passages` (id,
    document, start, end, title, text) have the same columns in all databases.
    """

    @abstractmethod
    def execute(self, query: str, values: Sequence[Any] = ()) -> Iterable[Any]:
        """Run a statement with `?` for its values; the rows, if it has any."""

    def start_run(self) -> int:
        """See `IndexWriter`."""
        ((number,),) = self.execute("SELECT value FROM meta WHERE name = 'run'")
        run = int(number) + 1
        self.state({"state": "building", "run": str(run)})
        self.commit()
        return run

    def find(self, name: str) -> tuple[int, bytes, int] | None:
        """See `IndexWriter`."""
        query = "SELECT id, digest, run FROM documents WHERE name = ?"
        for number, digest, run in self.execute(query, (name,)):
            return number, bytes(digest), run
        return None

    def mark(self, key: int, run: int) -> None:
        """See `IndexWriter`."""
        self.execute("UPDATE documents SET run = ? WHERE id = ?", (run, key))

    def outdated(self, run: int) -> Sequence[int]:
        """See `IndexWriter`."""
        rows = self.execute("SELECT id FROM documents WHERE run < ? LIMIT 1000", (run,))
        return [number for (number,) in rows]

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """See `IndexWriter`."""
        for name, digest in self.execute("SELECT name, digest FROM documents ORDER BY name"):
            yield name, bytes(digest)

    def totals(self) -> tuple[int, int]:
        """See `IndexWriter`."""
        ((documents,),) = self.execute("SELECT count(*) FROM documents")
        ((passages,),) = self.execute("SELECT count(*) FROM passages")
        return documents, passages

    def state(self, facts: Mapping[str, str]) -> None:
        """See `IndexWriter`."""
        for name, value in facts.items():
            self.execute("DELETE FROM meta WHERE name = ?", (name,))
            self.execute("INSERT INTO meta VALUES (?, ?)", (name, value))
