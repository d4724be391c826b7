"""A server on loopback that answers the requests of an index as OpenSearch's REST API documents.

It is strict: a request that it does not know is a problem, and so is a field that the mapping does
not have. As in OpenSearch, an entry is read by its id at once, and found only after a refresh.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qsl, urlsplit

Answer = tuple[int, dict[str, Any]]
SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


@dataclass
class Index:
    """Entries by id, with the number of the write that made them."""

    mappings: dict[str, Any]
    entries: dict[str, tuple[int, dict[str, Any]]] = field(default_factory=dict)
    searchable: dict[str, dict[str, Any]] = field(default_factory=dict)
    writes: int = 0

    def write(self, identity: str, source: dict[str, Any] | None) -> Answer:
        if source is None:
            there = self.entries.pop(identity, None) is not None
            result = {"_id": identity, "result": "deleted" if there else "not_found"}
            return (200 if there else 404), result
        if unknown := set(source) - set(self.mappings["properties"]):
            return 400, error("strict_dynamic_mapping_exception", f"{unknown} is not allowed")
        self.writes += 1
        self.entries[identity] = (self.writes, source)
        return 201, {"_id": identity, "_seq_no": self.writes, "_primary_term": 1}


@dataclass
class FakeOpenSearch:
    """The indexes of a server, what it was asked, and how it is to fail.

    requests   method and path of each
    problems   requests that OpenSearch would not understand
    fail_from  the number of the request from which on each one fails
    shards     what searches say about their shards
    user       the only one who is let in, as user:password in base64
    page       answered to everything, in place of JSON
    """

    url: str = ""
    indexes: dict[str, Index] = field(default_factory=dict)
    requests: list[tuple[str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    fail_from: float = math.inf
    shards: dict[str, int] = field(default_factory=lambda: dict(SHARDS))
    user: str | None = None
    page: str | None = None

    def answer(self, method: str, target: str, body: bytes) -> Answer:
        parts = urlsplit(target)
        options = dict(parse_qsl(parts.query))
        name, _, action = parts.path[1:].partition("/")
        index = self.indexes.get(name)
        if (method, action) == ("PUT", ""):
            self.indexes[name] = Index(json.loads(body)["mappings"])
            return 200, {"acknowledged": True, "index": name}
        if index is None:
            reason = f"no such index [{name}]"
            return 404, error("index_not_found_exception", reason, 404)
        if (method, action) == ("HEAD", ""):
            return 200, {}
        if (method, action) == ("GET", "_mapping"):
            return 200, {name: {"mappings": index.mappings}}
        if (method, action) == ("POST", "_refresh"):
            index.searchable = {key: source for key, (_, source) in index.entries.items()}
            return 200, {"_shards": SHARDS}
        if (method, action) == ("POST", "_bulk"):
            return 200, self._bulk(index, json_lines(body))
        if (method, action) == ("POST", "_search"):
            return 200, self._search(index, json.loads(body))
        if (method, action) == ("POST", "_msearch"):
            queries = json_lines(body)[1::2]
            return 200, {"responses": [self._search(index, query) for query in queries]}
        if action.startswith("_doc/"):
            return self._document(index, method, action.removeprefix("_doc/"), options, body)
        raise LookupError(f"{method} {target}")

    def _document(
        self, index: Index, method: str, identity: str, options: dict[str, str], body: bytes
    ) -> Answer:
        number, source = index.entries.get(identity, (None, None))
        if method == "GET":
            if source is None:
                return 404, {"_id": identity, "found": False}
            return 200, {
                "_id": identity,
                "found": True,
                "_source": source,
                "_seq_no": number,
                "_primary_term": 1,
            }
        assert method == "PUT"
        taken = options.get("op_type") == "create" and number is not None
        if taken or ("if_seq_no" in options and options["if_seq_no"] != str(number)):
            return 409, error("version_conflict_engine_exception", "version conflict", 409)
        return index.write(identity, json.loads(body))

    def _bulk(self, index: Index, lines: list[Any]) -> dict[str, Any]:
        items: list[dict[str, Any]] = []
        rest = iter(lines)
        for line in rest:
            ((operation, facts),) = line.items()
            assert operation in ("index", "delete")
            source = next(rest) if operation == "index" else None
            status, result = index.write(facts["_id"], source)
            items.append({operation: {**result, "status": status}})
        failed = any("error" in answer for item in items for answer in item.values())
        return {"took": 1, "errors": failed, "items": items}

    def _search(self, index: Index, body: dict[str, Any]) -> dict[str, Any]:
        found = [
            (score, identity, source)
            for identity, source in index.searchable.items()
            if (score := matches(body["query"], source, index.searchable)) > 0
        ]
        hits: list[dict[str, Any]] = []
        if "sort" in body:
            ((key, order),) = body["sort"][0].items()
            assert order == "asc"
            found = [item for item in found if [item[2][key]] > body.get("search_after", [""])]
            found.sort(key=lambda item: str(item[2][key]))
            hits = [
                {"_id": name, "_source": entry, "sort": [entry[key]]} for _, name, entry in found
            ]
        else:
            found.sort(key=lambda item: -item[0])
            hits = [{"_id": name, "_source": entry, "_score": at} for at, name, entry in found]
        return {
            "timed_out": False,
            "_shards": self.shards,
            "hits": {
                "total": {"value": len(found), "relation": "eq"},
                "hits": hits[: body.get("size", 10)],
            },
        }


def matches(query: dict[str, Any], source: dict[str, Any], entries: dict[str, Any]) -> float:
    """How well an entry fits a query; 0 if it does not."""
    ((kind, facts),) = query.items()
    if kind == "bool":
        return float(all(matches(part, source, entries) for part in facts["filter"]))
    ((name, wanted),) = facts.items()
    if kind == "term":
        return float(source.get(name) == wanted)
    if kind == "range":
        return float(name in source and source[name] < wanted["lt"])
    assert (kind, name) == ("match", "words")
    return sum(
        math.log(1 + len(entries) / sum(word in stems(entry) for entry in entries.values()))
        for word in stems({"text": wanted}) & stems(source)
    )


def stems(source: dict[str, Any]) -> set[str]:
    """The words of title and text, roughly without their endings."""
    text = f"{source.get('title', '')} {source.get('text', '')}"
    words = re.findall(r"\w+", text.lower())
    return {word.removesuffix("s") for word in words} - {"the", "i", "in", "of", "it", "to", ""}


def json_lines(body: bytes) -> list[Any]:
    assert body.endswith(b"\n")
    return [json.loads(line) for line in body.splitlines()]


def error(kind: str, reason: str, status: int = 400) -> dict[str, Any]:
    cause = {"type": kind, "reason": reason}
    return {"error": {"root_cause": [cause], **cause}, "status": status}


@contextmanager
def fake_opensearch() -> Iterator[FakeOpenSearch]:
    """A server that runs while the context lasts."""
    state = FakeOpenSearch()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1  # an answer in several pieces waits for the client's acknowledgement

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            state.requests.append((self.command, self.path))
            kind, text = "application/json", ""
            if len(state.requests) >= state.fail_from:
                status, answer = 500, error("failure", "the disk is full", 500)
            elif state.user and self.headers.get("Authorization") != f"Basic {state.user}":
                status, answer = 401, error("security_exception", "who are you?", 401)
            elif state.page is not None:
                status, answer, kind, text = 200, {}, "text/html", state.page
            else:
                try:
                    status, answer = state.answer(self.command, self.path, body)
                except Exception as problem:
                    state.problems.append(f"{self.command} {self.path}: {problem!r}")
                    status, answer = 400, error("parsing_exception", repr(problem))
            content = (text or json.dumps(answer)).encode()
            self.send_response(status)
            self.send_header("Content-Type", f"{kind}; charset=UTF-8")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = respond

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    state.url = f"opensearch+http://127.0.0.1:{server.server_address[1]}/facts"
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
