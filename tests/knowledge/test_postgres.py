"""The index in a real PostgreSQL server, started here."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from halldetect.errors import CheckError, InputError
from halldetect.knowledge.builder import build_index, open_index
from halldetect.knowledge.readers import find_files
from tests.support.fakes import use_overlap_verifier
from tests.support.index_checks import (
    check_building_and_checking,
    check_killed_build_changes_nothing,
)
from tests.support.postgres import Server, postgres_server

pytestmark = pytest.mark.database


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with postgres_server() as running:
        yield running


@pytest.fixture
def url(server: Server, request: pytest.FixtureRequest) -> str:
    """A database of its own for each test."""
    return server.create(f"k{abs(hash(request.node.nodeid))}")


def test_it_finds_what_a_file_finds(url: str, folder: Path, tmp_path: Path) -> None:
    files = find_files([folder])
    summary = build_index(url, files)
    assert summary == build_index(tmp_path / "same.index", files)
    claims = [
        "The bridges opened in 1932",
        "Italy's capital is Rome",
        "White sails",
        "Zebras sing",
        "It is.",
        "' | ! & :* <-> \\ \x00 %s ?",
        "",
    ]
    with closing(open_index(url)) as one, closing(open_index(tmp_path / "same.index")) as other:
        assert one.search(claims, 5) == other.search(claims, 5)
        assert one.search(claims[:1], 0) == [[]]
        assert one.description["digest"] == other.description["digest"]
        assert one.description["name"].startswith("postgresql://127.0.0.1/k")


def test_updates(url: str, folder: Path) -> None:
    build_index(url, find_files([folder]))
    (folder / "rome.txt").write_text("Rome has seven hills.", encoding="utf-8")
    (folder / "bridge.md").unlink()
    summary = build_index(url, find_files([folder]), remove_missing=True)
    assert (summary.added, summary.updated, summary.unchanged, summary.removed) == (0, 1, 1, 1)
    with closing(open_index(url)) as index:
        hills, capital, bridge = index.search(
            ["Rome has hills", "The capital of Italy", "The bridge over the Elbe"], 5
        )
    assert [passage.text for passage in hills] == ["Rome has seven hills."]
    assert capital == bridge == []


def test_a_check(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_overlap_verifier(monkeypatch)
    check_building_and_checking(url, folder)


def test_what_is_no_index(url: str, server: Server, folder: Path) -> None:
    with pytest.raises(InputError, match="holds no halldetect index"):
        open_index(url)
    with pytest.raises(InputError, match="cannot be used"):
        open_index(server.url("none"))
    with pytest.raises(InputError, match="password"):
        open_index(url.replace("postgres@", "postgres:secret@"))
    with pytest.raises(InputError, match="an index is a file or postgresql"):
        open_index("https://localhost/index")
    build_index(url, [])
    with pytest.raises(InputError, match="has no passages"):
        open_index(url)
    build_index(url, find_files([folder]))
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE halldetect.meta SET value = '9' WHERE name = 'version'")
        with pytest.raises(InputError, match="version 9"):
            open_index(url)
        with pytest.raises(InputError, match="version 9"):
            build_index(url, [])
        connection.execute("UPDATE halldetect.meta SET value = '3' WHERE name = 'version'")
        connection.execute("SELECT pg_advisory_lock(%s)", (0x48444B4E,))
        with pytest.raises(InputError, match="another process"):
            build_index(url, [])


def test_a_server_that_goes_and_comes_back(url: str, server: Server, folder: Path) -> None:
    build_index(url, find_files([folder]))
    with closing(open_index(url)) as index:
        server.stop()
        for _ in range(2):
            with pytest.raises(CheckError, match="cannot be searched"):
                index.search(["Rome is the capital of Italy"], 5)
        server.start()
        assert index.search(["Rome is the capital of Italy"], 5)[0]


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs kill -9")
def test_killed_build_changes_nothing(url: str, tmp_path: Path) -> None:
    check_killed_build_changes_nothing(url, tmp_path)
