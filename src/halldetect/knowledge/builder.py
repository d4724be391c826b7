"""Making, updating and opening an index: a file, or one on a server by its URL."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path

from halldetect.errors import HallDetectError, InputError
from halldetect.knowledge.index import KnowledgeIndex
from halldetect.knowledge.passages import Knowledge, SearchIndex
from halldetect.knowledge.readers import SourceFile, read_documents
from halldetect.knowledge.writer import BuildSummary, IndexWriter

_POSTGRES = ("postgresql", "postgres")
_OPENSEARCH = ("opensearch", "opensearch+http")
_RERANKER = "?reranker="


def is_url(location: str | Path) -> bool:
    """Whether an index is on a server.

    location  the path of an index file, or a URL
    Raises InputError for a URL of another kind than those of PostgreSQL and OpenSearch.
    """
    return _scheme(location) is not None


def open_knowledge(location: str | Path) -> Knowledge:
    """What evidence is retrieved from: an index, perhaps with a reranker.

    location  of the index, as for `open_index`; a reranker follows it: INDEX?reranker=MODEL
    Raises InputError for what is not a complete index of this version, ModelError for a model
    that cannot be loaded.
    """
    place, separator, model = str(location).partition(_RERANKER)
    if not separator:
        return open_index(location)
    if not model:
        raise InputError(f"{str(location)!r} names no reranker: use INDEX?reranker=MODEL")
    from halldetect.knowledge.reranking import RerankedKnowledge, SentenceTransformerEmbedder

    return RerankedKnowledge(open_index(place), SentenceTransformerEmbedder(model))


def open_index(location: str | Path) -> SearchIndex:
    """An index, opened for searching.

    location  the path of an index file, or a URL such as postgresql://user@host/database or
              opensearch://user@host/name
    Raises InputError for what is not a complete index of this version.
    """
    scheme = _scheme(location)
    if scheme is None:
        return KnowledgeIndex(location)
    if scheme in _OPENSEARCH:
        from halldetect.knowledge.opensearch import OpenSearchIndex

        return OpenSearchIndex(str(location))
    from halldetect.knowledge.postgres import PostgresIndex

    return PostgresIndex(str(location))


def build_index(
    location: str | Path,
    files: Iterable[SourceFile],
    *,
    remove_missing: bool = False,
    strict: bool = True,
    progress: Callable[[int], None] | None = None,
) -> BuildSummary:
    """Make an index of files, or bring an index up to date with them.

    location        of the index, as for `open_index`
    files           what to index
    remove_missing  remove documents of earlier builds that are not in these files
    strict          raise InputError for a file that cannot be read; otherwise it is skipped
    progress        gets the number of documents so far
    """
    with closing(_writer(location, progress)) as writer:
        for file in files:
            try:
                for document in read_documents(file):
                    writer.add(document)
            except HallDetectError as error:
                if strict:
                    raise
                writer.skipped.append(str(error))
        return writer.finish(remove_missing)


def remove_documents(location: str | Path, names: Iterable[str]) -> int:
    """Remove documents from an index; returns their number.

    location  of the index, as for `open_index`
    names     of the documents
    Raises InputError for a name that the index does not have.
    """
    wanted = list(dict.fromkeys(names))
    with closing(open_index(location)) as index:
        for name in wanted:
            if not index.has_document(name):
                raise InputError(f"the index has no document {name!r}")
    with closing(_writer(location, None)) as writer:
        for name in wanted:
            writer.remove(name)
        return writer.finish(False).removed


def _writer(location: str | Path, progress: Callable[[int], None] | None) -> IndexWriter:
    scheme = _scheme(location)
    if scheme is None:
        from halldetect.knowledge.sqlite_writer import SqliteWriter

        return SqliteWriter(Path(location), progress)
    if scheme in _OPENSEARCH:
        from halldetect.knowledge.opensearch import OpenSearchWriter

        return OpenSearchWriter(str(location), progress)
    from halldetect.knowledge.postgres import PostgresWriter

    return PostgresWriter(str(location), progress)


def _scheme(location: str | Path) -> str | None:
    """What a URL begins with; None for the path of a file."""
    if _RERANKER in str(location):
        raise InputError("a reranker is for searching: leave ?reranker=... out here")
    scheme, separator, _ = str(location).partition("://")
    if separator and scheme not in (*_POSTGRES, *_OPENSEARCH):
        raise InputError(
            f"an index is a file, postgresql://... or opensearch://..., not {scheme}://..."
        )
    return scheme if separator else None
