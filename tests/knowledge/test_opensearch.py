"""The index in OpenSearch, against a server of our own that follows its documented REST API."""

from __future__ import annotations

import base64
import json
import socket
import sys
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from halldetect.cli import main
from halldetect.errors import CheckError, InputError, MissingExtra
from halldetect.knowledge import opensearch, writer
from halldetect.knowledge.builder import build_index, open_index, remove_documents
from halldetect.knowledge.readers import find_files
from tests.support.fakes import use_overlap_verifier
from tests.support.index_checks import check_building_and_checking
from tests.support.opensearch import FakeOpenSearch, fake_opensearch

pytestmark = pytest.mark.database

LONG = "\n\n".join(f"Lane {at} is closed. {'Lanes are closed. ' * 40}" for at in range(4))


@pytest.fixture
def server() -> Iterator[FakeOpenSearch]:
    with fake_opensearch() as running:
        yield running
    assert not running.problems


def test_it_finds_what_a_file_finds(server: FakeOpenSearch, folder: Path, tmp_path: Path) -> None:
    files = find_files([folder])
    assert build_index(server.url, files) == build_index(tmp_path / "same.index", files)
    claims = [
        "The bridges opened in 1932",
        "Italy's capital is Rome",
        "White sails",
        "Zebras sing",
        "It is.",
        "' | ! & :* <-> \\ \x00 %s ?",
        "",
    ]
    with (
        closing(open_index(server.url)) as one,
        closing(open_index(tmp_path / "same.index")) as other,
    ):
        before = len(server.requests)
        assert one.search(claims, 5) == other.search(claims, 5)
        assert server.requests[before:] == [("POST", "/facts/_msearch")]
        assert one.search(claims[:1], 0) == [[]]
        assert one.search([], 5) == []
        assert one.description["digest"] == other.description["digest"]
        assert one.description["name"] == "opensearch+http://127.0.0.1/facts"


def test_the_mapping(server: FakeOpenSearch, folder: Path) -> None:
    build_index(server.url, find_files([folder]))
    fields = server.indexes["facts"].mappings["properties"]
    assert fields["words"] == {"type": "text", "analyzer": "english"}
    assert {name for name, field in fields.items() if field.get("copy_to") == "words"} == {
        "title",
        "text",
    }


def test_updates(server: FakeOpenSearch, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opensearch, "PAGE", 1)
    (folder / "long.txt").write_text(LONG, encoding="utf-8")
    assert build_index(server.url, find_files([folder])).passages == 7
    (folder / "long.txt").write_text("Lane 9 is open.", encoding="utf-8")
    (folder / "rome.txt").write_text("Rome has seven hills.", encoding="utf-8")
    (folder / "bridge.md").unlink()
    summary = build_index(server.url, find_files([folder]), remove_missing=True)
    assert (summary.added, summary.updated, summary.unchanged, summary.removed) == (0, 2, 1, 1)
    assert (summary.documents, summary.passages) == (3, 3)
    with closing(open_index(server.url)) as index:
        hills, capital, bridge, lanes = index.search(
            ["Rome has hills", "The capital of Italy", "The bridge over the Elbe", "A lane"], 5
        )
    assert [passage.text for passage in hills] == ["Rome has seven hills."]
    assert [passage.text for passage in lanes] == ["Lane 9 is open."]
    assert capital == bridge == []
    assert remove_documents(server.url, ["rome.txt"]) == 1
    with pytest.raises(InputError, match="has no document"):
        remove_documents(server.url, ["rome.txt"])
    # The facts, two records and their passages.
    assert len(server.indexes["facts"].entries) == 5


def test_two_documents_of_one_name(server: FakeOpenSearch, tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    row = json.dumps({"id": "one", "text": "Rome has hills."})
    rows.write_text(f"{row}\n{row}\n", encoding="utf-8")
    with pytest.raises(InputError, match="two documents have the name"):
        build_index(server.url, find_files([rows]))


def test_a_check(server: FakeOpenSearch, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)
    check_building_and_checking(server.url, folder)


def test_a_build_that_is_stopped_at_any_request(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Wherever it stops, the next build makes the index what it would have been."""
    monkeypatch.setattr(writer, "COMMIT_PASSAGES", 3)
    rome = find_files([folder / "rome.txt"])
    changed, added = folder / "long.txt", folder / "more.txt"
    for stop in count(1):
        with fake_opensearch() as server:
            changed.write_text(LONG, encoding="utf-8")
            added.unlink(missing_ok=True)
            build_index(server.url, find_files([folder]))
            changed.write_text("Lane 9 is open.", encoding="utf-8")
            added.write_text("Ships have sails.", encoding="utf-8")
            server.fail_from = len(server.requests) + stop
            try:
                build_index(server.url, find_files([folder]))
                break
            except InputError:
                pass
            server.fail_from = float("inf")
            if server.indexes["facts"].entries["facts"][1]["facts"]["state"] == "building":
                with pytest.raises(InputError, match="not complete"):
                    open_index(server.url)
            build_index(server.url, find_files([folder]))
            whole = build_index(tmp_path / f"{stop}.index", find_files([folder]))
            with (
                closing(open_index(server.url)) as one,
                closing(open_index(tmp_path / f"{stop}.index")) as other,
            ):
                assert one.description["passages"] == other.description["passages"]
                assert one.description["digest"] == other.description["digest"]
            kept = build_index(server.url, rome, remove_missing=True)
            assert (kept.documents, kept.passages) == (1, 1)
            assert whole.documents == 5
            assert len(server.indexes["facts"].entries) == 3
    assert stop > 10


def test_what_a_stopped_build_leaves_is_removed(server: FakeOpenSearch, folder: Path) -> None:
    build_index(server.url, find_files([folder]))
    (folder / "rome.txt").write_text("Rome has seven hills.", encoding="utf-8")
    bulk = ("POST", "/facts/_bulk")
    kept = server.answer

    def stopped(method: str, target: str, body: bytes) -> tuple[int, dict[str, object]]:
        if server.requests.count(bulk) == before + 2:  # the record is announced, no more
            return 500, {"error": "stopped", "status": 500}
        return kept(method, target, body)

    before = server.requests.count(bulk)
    server.answer = stopped  # type: ignore[method-assign]
    with pytest.raises(InputError, match="stopped"):
        build_index(server.url, find_files([folder]))
    server.answer = kept  # type: ignore[method-assign]
    summary = build_index(server.url, find_files([folder / "bridge.md"]))
    assert (summary.documents, summary.passages) == (2, 2)
    with closing(open_index(server.url)) as index:
        assert not index.has_document("rome.txt")


def test_what_is_no_index(server: FakeOpenSearch, folder: Path) -> None:
    url = server.url
    with pytest.raises(InputError, match="there is no index"):
        open_index(url)
    build_index(url, [])
    with pytest.raises(InputError, match="has no passages"):
        open_index(url)
    build_index(url, find_files([folder]))
    index = server.indexes["facts"]
    index.mappings["_meta"] = {"halldetect": 9}
    for use in (open_index, lambda url: build_index(url, [])):
        with pytest.raises(InputError, match="version 9"):
            use(url)
    del index.mappings["_meta"]
    for use in (open_index, lambda url: build_index(url, [])):
        with pytest.raises(InputError, match="is not a halldetect index"):
            use(url)
    server.page = "<p>Hello</p>"
    with pytest.raises(InputError, match=r"cannot be used|not a halldetect index"):
        open_index(url)


@pytest.mark.parametrize(
    "url", ["opensearch://host", "opensearch://host/", "opensearch:///name", "opensearch://h:x/n"]
)
def test_urls_that_name_no_index(url: str) -> None:
    for wrong in (url, f"{url}?a=b", "opensearch://host/Upper", "opensearch://host/a,b"):
        with pytest.raises(InputError, match="is not the URL of an index"):
            open_index(wrong)


def test_passwords(server: FakeOpenSearch, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    build_index(server.url, find_files([folder]))
    server.user = base64.b64encode(b"anna holm:secret").decode()
    with pytest.raises(InputError, match="cannot be used: AuthenticationException"):
        open_index(server.url)
    with pytest.raises(InputError, match="use OPENSEARCH_PASSWORD"):
        open_index(server.url.replace("//", "//anna:secret@"))
    url = server.url.replace("//", "//anna%20holm@")
    monkeypatch.delenv("OPENSEARCH_PASSWORD", raising=False)
    with pytest.raises(InputError, match="set OPENSEARCH_PASSWORD"):
        open_index(url)
    monkeypatch.setenv("OPENSEARCH_PASSWORD", "secret")
    with closing(open_index(url)) as index:
        assert "anna" not in index.description["name"]


def test_a_server_that_is_not_there(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
        for scheme in ("opensearch", "opensearch+http"):
            url = f"{scheme}://127.0.0.1:{port}/facts"
            assert main(["index", "build", str(folder), "-o", url, "--quiet"]) == 2
            (line,) = capsys.readouterr().err.splitlines()
            assert f"the server of the index {url} cannot be reached" in line


def test_searches_that_fail(server: FakeOpenSearch, folder: Path) -> None:
    build_index(server.url, find_files([folder]))
    with closing(open_index(server.url)) as index:
        server.shards["failed"] = 1
        with pytest.raises(CheckError, match="cannot be searched: the search failed"):
            index.search(["Rome is the capital of Italy"], 5)
        server.shards["failed"] = 0
        server.fail_from = 0
        with pytest.raises(CheckError, match="the disk is full"):
            index.search(["Rome is the capital of Italy"], 5)
        server.fail_from = float("inf")
        assert index.search(["Rome is the capital of Italy"], 5)[0]


def test_two_builds_at_once(server: FakeOpenSearch, folder: Path) -> None:
    with closing(opensearch.OpenSearchWriter(server.url)) as first:
        build_index(server.url, find_files([folder]))
        with pytest.raises(InputError, match="another process"):
            first.finish(True)
    with closing(open_index(server.url)) as index:
        assert index.description["documents"] == 3


def test_an_entry_that_is_refused(server: FakeOpenSearch, folder: Path) -> None:
    build_index(server.url, [])
    del server.indexes["facts"].mappings["properties"]["title"]
    with pytest.raises(InputError, match=r"refuses an entry: .*not allowed"):
        build_index(server.url, find_files([folder]))
    with pytest.raises(InputError, match="not complete"):
        open_index(server.url)


def test_without_the_client(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opensearchpy", None)
    with pytest.raises(MissingExtra, match=r"halldetect\[opensearch\]"):
        open_index("opensearch://localhost/facts")


def test_nothing_is_sent_to_a_server_without_tls(
    server: FakeOpenSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENSEARCH_PASSWORD", "secret")
    with pytest.raises(InputError, match="cannot be reached"):
        open_index(server.url.replace("opensearch+http://", "opensearch://anna@"))
    assert not server.requests
