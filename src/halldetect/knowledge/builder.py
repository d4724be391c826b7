"""Build, update and open an index: a file, or a PostgreSQL database by its URL.

A build is one transaction: if it is stopped, the index stays as it was. Unchanged documents are
skipped.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from halldetect.errors import InputError
from halldetect.knowledge.index import KnowledgeIndex, PostgresIndex
from halldetect.knowledge.passages import cut_passages
from halldetect.knowledge.readers import IndexDocument, SourceFile, read_documents


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

    With `writing`, it is created if needed. Anything but an index of this version raises
    InputError.
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
    Unless `strict`, what cannot be read is skipped. `progress` gets the number of documents so far.
    """
    skipped = []
    with closing(open_index(location, writing=True)) as index, index.errors():
        ((run,),) = index.execute("SELECT coalesce(max(run), 0) + 1 FROM documents")
        changes: Counter[str] = Counter()
        for found in (item for file in files for item in read_documents(file)):
            done = _add(index, found, run) if isinstance(found, IndexDocument) else found
            if isinstance(done, str):
                changes[done] += 1
                progress(changes.total())
            elif strict:
                raise done
            else:
                skipped.append(str(done))
        if remove_missing:
            gone = index.execute("DELETE FROM documents WHERE run < ?", (run,))
            changes["removed"] = gone.rowcount
        documents, passages = _record_totals(index)
        index.commit()
    counts = {change: changes[change] for change in ("added", "updated", "unchanged", "removed")}
    return BuildSummary(**counts, skipped=tuple(skipped), documents=documents, passages=passages)


def _add(index: KnowledgeIndex, document: IndexDocument, run: int) -> str | InputError:
    """Add a document, replace a changed one, or keep an unchanged one; return the change or error.

    `run` is the number of the build that had the document last.
    """
    digest = hashlib.sha256(f"{document.title}\x00{document.text}".encode()).digest()
    change = "added"
    find = "SELECT id, digest, run FROM documents WHERE name = ?"
    for key, known, last_run in list(index.execute(find, (document.name,))):
        if last_run == run:
            return InputError(f"two documents have the name {document.name!r}")
        if bytes(known) == digest:
            index.execute("UPDATE documents SET run = ? WHERE id = ?", (run, key))
            return "unchanged"
        # The passages are deleted with their document.
        index.execute("DELETE FROM documents WHERE id = ?", (key,))
        change = "updated"
    ((key,),) = index.execute(
        "INSERT INTO documents (name, title, digest, run) VALUES (?, ?, ?, ?) RETURNING id",
        (document.name, document.title, digest, run),
    )
    passages = [
        (key, span.start, span.end, document.title, span.cut(document.text))
        for span in cut_passages(document.text)
    ]
    index.insert(passages)
    return change


def _record_totals(index: KnowledgeIndex) -> tuple[int, int]:
    """Record the digest and the numbers of documents and passages; return the numbers."""
    digest = hashlib.sha256()
    for name, value in index.execute("SELECT name, digest FROM documents ORDER BY name"):
        digest.update(f"{name}\x00{bytes(value).hex()}\n".encode())
    ((documents,),) = index.execute("SELECT count(*) FROM documents")
    ((passages,),) = index.execute("SELECT count(*) FROM passages")
    totals = {"documents": documents, "passages": passages, "digest": digest.hexdigest()}
    keep = "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
    for name, value in totals.items():
        index.execute(f"INSERT INTO meta VALUES (?, ?) {keep}", (name, str(value)))
    return documents, passages
