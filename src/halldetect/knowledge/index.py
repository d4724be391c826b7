"""The index file: a SQLite database with a full-text index (FTS5), searched by BM25."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from halldetect.errors import CheckError, InputError
from halldetect.knowledge.passages import Passage
from halldetect.reading.document import Span
from halldetect.reading.overlap import content_keys, shared_part
from halldetect.reading.words import FUNCTION_WORDS, words

# "HDKN": marks a SQLite file as one of ours.
APPLICATION_ID = 0x48444B4E
VERSION = 1
TOKENIZER = "porter unicode61 remove_diacritics 2"
# A passage that has less of a claim's content words is not about it.
MIN_SHARED = 0.25
# The words of a claim that are looked for: the rarest of them tell passages apart.
MAX_TERMS = 12
# The passages with one of these words, counted per word, that are ranked: common words of a large
# index tell little and cost the most.
MAX_RANKED = 20_000
_TERM = re.compile(r"\w+")


class KnowledgeIndex:
    """An index file, opened for searching; several threads may use it.

    path  of the file
    Raises InputError for a file that is not a complete index of this version.
    """

    def __init__(self, path: Path | str) -> None:
        self._path = Path(path)
        self._lock = Lock()
        if not self._path.is_file():
            raise InputError(
                f"there is no index {str(self._path)!r}: make it with halldetect index build"
            )
        self._connection = _connect(self._path)
        try:
            self._meta = _checked_meta(self._connection, self._path)
            self._stems = sqlite3.connect(":memory:", check_same_thread=False)
            self._stems.execute(f"CREATE VIRTUAL TABLE t USING fts5(x, tokenize='{TOKENIZER}')")
            self._stems.execute("CREATE VIRTUAL TABLE v USING fts5vocab(t, 'instance')")
        except BaseException:
            self._connection.close()
            raise

    @property
    def passages(self) -> int:
        """The number of passages."""
        return int(self._meta["passages"])

    @property
    def documents(self) -> int:
        """The number of documents."""
        return int(self._meta["documents"])

    @property
    def description(self) -> dict[str, Any]:
        """The name of the file, the number of passages, and a digest of all documents."""
        return {
            "name": self._path.name,
            "version": VERSION,
            "documents": self.documents,
            "passages": self.passages,
            "digest": f"sha256:{self._meta['digest']}",
        }

    def has_document(self, name: str) -> bool:
        """Whether there is a document of that name."""
        query = "SELECT 1 FROM documents WHERE name = ?"
        return self._connection.execute(query, (name,)).fetchone() is not None

    def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._stems.close()

    def __del__(self) -> None:
        # Detectors are not closed; from Python 3.13 on, connections that are left open warn.
        for name in ("_connection", "_stems"):
            if (connection := getattr(self, name, None)) is not None:
                connection.close()

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """For each claim the passages that are about it, best first; see `Knowledge`."""
        try:
            with self._lock:
                return [self._search(claim, limit) for claim in claims]
        except sqlite3.Error as error:
            raise CheckError(
                f"the index {str(self._path)!r} cannot be searched ({error}): "
                "delete it and build it anew"
            ) from error

    def _search(self, claim: str, limit: int) -> list[Passage]:
        terms = self._terms(claim)
        if not terms or limit < 1:
            return []
        query = " OR ".join(f'"{term}"' for term in terms)
        # The best are chosen before their texts are read.
        rows = self._connection.execute(
            "WITH best AS (SELECT rowid AS id, bm25(passage_words) AS score FROM passage_words"
            " WHERE passage_words MATCH ? ORDER BY score, id LIMIT ?)"
            " SELECT p.text, d.name, p.start, p.end, p.title FROM best"
            " JOIN passages p ON p.id = best.id JOIN documents d ON d.id = p.document"
            " ORDER BY best.score, best.id",
            (query, limit),
        )
        found = [
            Passage(text, name, Span(start, end), title) for text, name, start, end, title in rows
        ]
        return about(claim, found)

    def _terms(self, claim: str) -> list[str]:
        """The words to look for: those that the index has, the rarest first."""
        spoken = [word.norm for word in words(claim[:2000]) if word.norm not in FUNCTION_WORDS]
        terms = list(dict.fromkeys(term for norm in spoken for term in _TERM.findall(norm)))
        return list(rarest({term: self._passages_with(term) for term in terms}))

    def _passages_with(self, term: str) -> int:
        """The number of passages with a word, by the stem that the index has of it."""
        self._stems.execute("DELETE FROM t")
        self._stems.execute("INSERT INTO t VALUES (?)", (term,))
        stems = [row[0] for row in self._stems.execute("SELECT term FROM v")]
        counts = [
            row[0]
            for stem in stems
            for row in self._connection.execute(
                "SELECT doc FROM passage_vocabulary WHERE term = ?", (stem,)
            )
        ]
        return min(counts, default=0)


def rarest(counts: Mapping[str, int]) -> dict[str, int]:
    """The words to look for, rarest first, with the number of passages that have each.

    counts  words and the number of passages that have them
    """
    chosen: dict[str, int] = {}
    for word, count in sorted(counts.items(), key=lambda item: item[1]):
        if count and (not chosen or sum(chosen.values()) + count <= MAX_RANKED):
            chosen[word] = count
    return dict(islice(chosen.items(), MAX_TERMS))


def about(claim: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages that have enough of the content words of a claim."""
    wanted = content_keys(claim)
    return [
        passage
        for passage in passages
        if shared_part(wanted, content_keys(passage.text_with_title)) >= MIN_SHARED
    ]


@contextmanager
def index_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite into one that says what is wrong with the file."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise InputError(
                f"the index {str(path)!r} is being built by another process"
            ) from error
        raise InputError(f"the index {str(path)!r} cannot be used: {error}") from error
    except sqlite3.DatabaseError as error:
        raise InputError(
            f"{str(path)!r} is damaged or not a halldetect index ({error}); "
            "take another file, or delete this one and build it anew"
        ) from error


def _connect(path: Path) -> sqlite3.Connection:
    with index_errors(path):
        uri = f"{path.resolve().as_uri()}?mode=ro"
        return sqlite3.connect(uri, uri=True, check_same_thread=False, timeout=5.0)


def _checked_meta(connection: sqlite3.Connection, path: Path) -> dict[str, str]:
    with index_errors(path):
        require_version(connection, path)
        meta = dict(connection.execute("SELECT name, value FROM meta"))
        connection.execute("SELECT rowid FROM passage_words LIMIT 1").fetchall()
    if meta.get("state") != "complete":
        raise InputError(
            f"the index {str(path)!r} is not complete: run halldetect index build again"
        )
    if not int(meta.get("passages", 0)):
        raise InputError(f"the index {str(path)!r} has no passages")
    return meta


def require_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise InputError unless a database is an index of this version."""
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID:
        raise InputError(f"{str(path)!r} is not a halldetect index")
    if version != VERSION:
        raise InputError(
            f"the index {str(path)!r} has version {version}, this halldetect reads version "
            f"{VERSION}: delete it and build it anew"
        )
