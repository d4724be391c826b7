"""An index in OpenSearch, for collections beyond one machine; passages are ranked by BM25.

One index of the server holds three kinds of entries: passages, one record per document, and the
facts about the index. There are no transactions, so a record without a digest is written before
the passages of its document are touched, and the record itself after them: whatever a crash
leaves is known by a record, and the next build writes it anew or removes it.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any
from urllib.parse import unquote, urlsplit

from halldetect.errors import CheckError, InputError, MissingExtra, one_line
from halldetect.knowledge.index import about
from halldetect.knowledge.passages import Passage, cut_passages
from halldetect.knowledge.readers import IndexDocument
from halldetect.knowledge.writer import IndexWriter
from halldetect.reading.document import Span

VERSION = 1
TLS_SCHEME = "opensearch"  # opensearch+http is the other one
PORT = 9200
REQUEST_SECONDS = 60
# The records that are read at once.
PAGE = 1_000
# A server that is asked to wait gets its passages again after 2, 4, 8, ... seconds.
RETRIES = 5
# The run of a record without a digest; the first run is 1.
ANNOUNCED = 0
_FACTS = "facts"
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")
_MAPPINGS = {
    "_meta": {"halldetect": VERSION},
    "dynamic": "strict",
    "properties": {
        "kind": {"type": "keyword"},
        "name": {"type": "keyword"},
        "digest": {"type": "keyword", "index": False},
        "run": {"type": "integer"},
        "passages": {"type": "integer", "index": False},
        "start": {"type": "integer", "index": False},
        "end": {"type": "integer", "index": False},
        "title": {"type": "text", "index": False, "copy_to": "words"},
        "text": {"type": "text", "index": False, "copy_to": "words"},
        "words": {"type": "text", "analyzer": "english"},
        "facts": {"type": "object", "enabled": False},
    },
}


class OpenSearchIndex:
    """An index on a server, opened for searching; several threads may use it.

    url  opensearch://user@host:port/name, or opensearch+http://... for a server without TLS; the
         password is in OPENSEARCH_PASSWORD, since reports state where evidence came from
    Raises InputError where there is no complete index of this version.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._client, self._name = _connect(url)
        with _errors(url):
            _require_version(self._client, self._name, url)
            facts = _entry(self._client, self._name, _FACTS).get("_source", {"facts": {}})["facts"]
        if facts.get("state") != "complete":
            raise InputError(f"the index {url} is not complete: run halldetect index build again")
        if not int(facts["passages"]):
            raise InputError(f"the index {url} has no passages")
        self._facts: Mapping[str, str] = facts

    @property
    def description(self) -> dict[str, Any]:
        """The server and the index, the number of passages, and a digest of all documents."""
        parts = urlsplit(self._url)
        return {
            "name": f"{parts.scheme}://{parts.hostname}{parts.path}",
            "version": VERSION,
            "documents": int(self._facts["documents"]),
            "passages": int(self._facts["passages"]),
            "digest": f"sha256:{self._facts['digest']}",
        }

    def has_document(self, name: str) -> bool:
        """Whether there is a document of that name."""
        with _errors(self._url):
            return bool(_entry(self._client, self._name, _identity(name))["found"])

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def search(self, claims: Sequence[str], limit: int) -> list[list[Passage]]:
        """For each claim the passages that are about it, best first; see `Knowledge`."""
        if not claims or limit < 1:
            return [[] for _ in claims]
        lines: list[dict[str, Any]] = []
        for claim in claims:
            lines += ({}, {"query": {"match": {"words": claim[:2000]}}, "size": limit})
        try:
            with _errors(self._url):
                answers = self._client.msearch(body=lines, index=self._name)["responses"]
                found = [[_passage(hit) for hit in _hits(answer)["hits"]] for answer in answers]
        except InputError as error:
            raise CheckError(
                f"the index {self._url} cannot be searched: {one_line(error.__cause__ or error)}"
            ) from error
        return [about(claim, group) for claim, group in zip(claims, found, strict=True)]


class OpenSearchWriter(IndexWriter):
    """Writes an index on a server, which is made if it is not there.

    url       as of `OpenSearchIndex`
    progress  gets the number of documents so far

    A key is the record of a document. Passages and records are kept until `commit`. Nothing locks
    the index: a build stops with an error at its next `commit` once another one has started.
    """

    def __init__(self, url: str, progress: Callable[[int], None] | None = None) -> None:
        super().__init__(progress)
        self._url = url
        self._client, self._name = _connect(url)
        self._facts: dict[str, str] = {}
        self._fact_version: dict[str, Any] = {"op_type": "create"}
        self._announced: dict[str, dict[str, Any]] = {}
        self._passages: list[dict[str, Any]] = []
        self._records: dict[str, dict[str, Any] | None] = {}
        try:
            with _errors(url):
                if not self._client.indices.exists(index=self._name):
                    self._client.indices.create(index=self._name, body={"mappings": _MAPPINGS})
                _require_version(self._client, self._name, url)
                self.begin()
        except BaseException:
            self._client.close()
            raise

    def errors(self) -> AbstractContextManager[None]:
        """See `IndexWriter`."""
        return _errors(self._url)

    def start_run(self) -> int:
        """See `IndexWriter`."""
        if (entry := _entry(self._client, self._name, _FACTS))["found"]:
            self._facts = entry["_source"]["facts"]
            self._fact_version = _version(entry)
        run = int(self._facts.get("run", 0)) + 1
        self.state({"state": "building", "run": str(run)})
        self.commit()
        return run

    def commit(self) -> None:
        """See `IndexWriter`."""
        # Fails if the facts were written by another build since.
        body = {"kind": "facts", "facts": self._facts}
        self._fact_version = _version(
            self._client.index(index=self._name, id=_FACTS, body=body, **self._fact_version)
        )
        self._send(_action(identity, record) for identity, record in self._announced.items())
        self._send(self._passages)
        self._send(_action(identity, record) for identity, record in self._records.items())
        self._announced, self._passages, self._records = {}, [], {}

    def find(self, name: str) -> tuple[dict[str, Any], bytes, int] | None:
        """See `IndexWriter`."""
        identity = _identity(name)
        if identity in self._records:
            record = self._records[identity]
        else:
            record = _entry(self._client, self._name, identity).get("_source")
        return None if record is None else (record, _digest(record), record["run"])

    def mark(self, key: dict[str, Any], run: int) -> None:
        """See `IndexWriter`."""
        self._records[_identity(key["name"])] = {**key, "run": run}

    def insert(self, document: IndexDocument, digest: bytes, run: int) -> int:
        """See `IndexWriter`."""
        identity = _identity(document.name)
        spans = list(cut_passages(document.text))
        self._announce(document.name, len(spans))
        for at, span in enumerate(spans):
            passage = {
                "kind": "passage",
                "name": document.name,
                "start": span.start,
                "end": span.end,
                "title": document.title,
                "text": span.cut(document.text),
            }
            self._passages.append(_action(f"{identity}-{at}", passage))
        self._records[identity] = _record(document.name, digest, run, len(spans))
        return len(spans)

    def delete(self, key: dict[str, Any]) -> None:
        """See `IndexWriter`."""
        identity = _identity(key["name"])
        self._announce(key["name"], key["passages"])
        self._passages += (_action(f"{identity}-{at}", None) for at in range(key["passages"]))
        self._records[identity] = None

    def outdated(self, run: int) -> Sequence[dict[str, Any]]:
        """See `IndexWriter`."""
        self.commit()
        self._client.indices.refresh(index=self._name)  # until then, searches see older entries
        older = [{"term": {"kind": "document"}}, {"range": {"run": {"lt": run}}}]
        found = self._search({"bool": {"filter": older}}, size=PAGE)
        return [hit["_source"] for hit in found["hits"]]

    def complete(self) -> None:
        """Remove what was announced by a build that was stopped, and not written since."""
        while gone := self.outdated(ANNOUNCED + 1):
            for key in gone:
                self.delete(key)

    def digests(self) -> Iterator[tuple[str, bytes]]:
        """See `IndexWriter`."""
        page: dict[str, Any] = {"size": PAGE, "sort": [{"name": "asc"}]}
        while hits := self._search({"term": {"kind": "document"}}, **page)["hits"]:
            for hit in hits:
                yield hit["_source"]["name"], _digest(hit["_source"])
            page["search_after"] = hits[-1]["sort"]

    def totals(self) -> tuple[int, int]:
        """See `IndexWriter`."""
        return self._count("document"), self._count("passage")

    def state(self, facts: Mapping[str, str]) -> None:
        """See `IndexWriter`."""
        self._facts = {**self._facts, **facts}

    def close(self) -> None:
        """See `IndexWriter`."""
        self._client.close()

    def _announce(self, name: str, passages: int) -> None:
        """Before passages of a document change, a record says how many there may be."""
        identity = _identity(name)
        before = self._announced.get(identity, {"passages": 0})
        self._announced[identity] = _record(name, b"", ANNOUNCED, max(passages, before["passages"]))

    def _send(self, actions: Iterable[dict[str, Any]]) -> None:
        from opensearchpy.helpers import streaming_bulk

        for done, item in streaming_bulk(
            self._client, actions, index=self._name, raise_on_error=False, max_retries=RETRIES
        ):
            ((operation, answer),) = item.items()
            # What a build that was stopped has announced need not be there.
            if not done and (operation, answer["status"]) != ("delete", 404):
                raise InputError(f"{self._url} refuses an entry: {one_line(answer.get('error'))}")

    def _search(self, query: dict[str, Any], **more: Any) -> dict[str, Any]:
        return _hits(self._client.search(index=self._name, body={"query": query, **more}))

    def _count(self, kind: str) -> int:
        found = self._search({"term": {"kind": kind}}, size=0, track_total_hits=True)
        return int(found["total"]["value"])


def _connect(url: str) -> tuple[Any, str]:
    """A client for the server of an index, and the name of the index there."""
    parts = urlsplit(url)
    if parts.password is not None:
        raise InputError(
            "a URL with a password would stand in every report: use OPENSEARCH_PASSWORD"
        )
    name = parts.path.removeprefix("/")
    try:
        port = parts.port or PORT
    except ValueError:
        port = 0
    if not (parts.hostname and port and _NAME.fullmatch(name)) or parts.query or parts.fragment:
        raise InputError(
            f"{url} is not the URL of an index: it has the form {parts.scheme}://host:port/name, "
            "where name has small letters, digits, '.', '_' and '-'"
        )
    password = os.environ.get("OPENSEARCH_PASSWORD")
    if parts.username and not password:
        raise InputError(f"the index {url} needs the password of the user: set OPENSEARCH_PASSWORD")
    try:
        from opensearchpy import OpenSearch
    except ImportError as error:
        raise MissingExtra("an index in OpenSearch", "opensearch") from error
    client = OpenSearch(
        hosts=[{"host": parts.hostname, "port": port}],
        http_auth=(unquote(parts.username), password) if parts.username else None,
        use_ssl=parts.scheme == TLS_SCHEME,
        timeout=REQUEST_SECONDS,
    )
    return client, name


@contextmanager
def _errors(url: str) -> Iterator[None]:
    """Turn errors of the client into one that names the index."""
    import opensearchpy

    try:
        yield
    except opensearchpy.ConnectionError as error:
        raise InputError(
            f"the server of the index {url} cannot be reached: {one_line(error.error)}"
        ) from error
    except opensearchpy.ConflictError as error:
        raise InputError(f"the index {url} is being built by another process") from error
    except opensearchpy.OpenSearchException as error:
        raise InputError(f"the index {url} cannot be used: {one_line(error)}") from error


def _require_version(client: Any, name: str, url: str) -> None:
    """Raise InputError unless there is an index of this version."""
    answer = client.indices.get_mapping(index=name, ignore=404)
    try:
        if answer.get("status") == 404:
            raise InputError(f"there is no index {url}: make it with halldetect index build")
        (version,) = (
            index["mappings"].get("_meta", {}).get("halldetect") for index in answer.values()
        )
    except (AttributeError, LookupError, TypeError, ValueError):
        version = None  # another kind of server, or a name for several indexes
    if version is None:
        raise InputError(f"{url} is not a halldetect index")
    if version != VERSION:
        raise InputError(
            f"the index {url} has version {version}, this halldetect reads version {VERSION}: "
            "delete it and build it anew"
        )


def _identity(name: str) -> str:
    """The id of a record; names may be longer than ids."""
    return hashlib.sha256(name.encode()).hexdigest()


def _record(name: str, digest: bytes, run: int, passages: int) -> dict[str, Any]:
    return {
        "kind": "document",
        "name": name,
        "digest": digest.hex(),
        "run": run,
        "passages": passages,
    }


def _digest(record: Mapping[str, Any]) -> bytes:
    return bytes.fromhex(record["digest"])


def _action(identity: str, entry: Mapping[str, Any] | None) -> dict[str, Any]:
    """The step of a bulk request that writes an entry, or removes it."""
    if entry is None:
        return {"_op_type": "delete", "_id": identity}
    return {"_op_type": "index", "_id": identity, "_source": entry}


def _entry(client: Any, name: str, identity: str) -> dict[str, Any]:
    """An entry by its id, as it was last written; with `found` if it is there."""
    return {"found": False, **client.get(index=name, id=identity, ignore=404)}


def _version(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What a later write states in order to fail if there was another one in between."""
    return {"if_seq_no": answer["_seq_no"], "if_primary_term": answer["_primary_term"]}


def _hits(answer: Mapping[str, Any]) -> dict[str, Any]:
    """What was found; an error if a part of the index did not answer."""
    if "error" in answer or answer["timed_out"] or answer["_shards"]["failed"]:
        raise InputError(f"the search failed: {one_line(answer.get('error', 'no full answer'))}")
    hits: dict[str, Any] = answer["hits"]
    return hits


def _passage(hit: Mapping[str, Any]) -> Passage:
    entry = hit["_source"]
    span = Span(entry["start"], entry["end"])
    return Passage(entry["text"], entry["name"], span, entry["title"])
