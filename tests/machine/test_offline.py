"""HALLDETECT_OFFLINE=1 forbids every way to another machine; `tests/paper` has the chat servers."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from halldetect.batch.formats import file_system
from halldetect.cli import main
from halldetect.errors import ConfigurationError
from halldetect.knowledge.builder import open_index
from halldetect_serve.settings import UpstreamSettings


@pytest.fixture(autouse=True)
def _no_way_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    for variable in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(variable, "http://proxy.example.org:3128")
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


WAYS: dict[str, Callable[[], object]] = {
    "index": lambda: open_index("postgresql://db.example.org/kb"),
    "one of two hosts": lambda: open_index("postgresql://localhost,db.example.org/kb"),
    "host in the query": lambda: open_index("postgresql:///kb?host=db.example.org"),
    "object store": lambda: file_system("s3://bucket/rows.parquet"),
    "upstream": lambda: UpstreamSettings(url="https://api.example.org/v1"),
    "upstream by address": lambda: UpstreamSettings(url="http://10.0.0.7:8080/v1"),
}


@pytest.mark.parametrize("way", WAYS)
def test_other_machines_are_refused(way: str) -> None:
    if way in ("index", "one of two hosts", "host in the query"):
        pytest.importorskip("psycopg")
    if way == "object store":
        pytest.importorskip("pyarrow")
    with pytest.raises(ConfigurationError, match="HALLDETECT_OFFLINE forbids"):
        WAYS[way]()


def test_host_of_the_environment_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    monkeypatch.setenv("PGHOST", "db.example.org")
    with pytest.raises(ConfigurationError, match="HALLDETECT_OFFLINE forbids"):
        open_index("postgresql:///kb")


def test_this_machine_is_allowed() -> None:
    assert UpstreamSettings(url="http://127.0.0.1:8080/v1").action
    assert UpstreamSettings(url="http://localhost:8080/v1").action


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "It rains.", "It pours.", "--paper", "--extractor", "openai:m"],
        ["serve", "--upstream", "https://api.example.org/v1"],
    ],
    ids=["extractor", "proxy"],
)
def test_commands_refuse_with_one_line(
    arguments: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    pytest.importorskip("openai")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HALLDETECT_OPENAI_BASE_URL", "https://api.example.org/v1")
    with pytest.raises(SystemExit) as ended:
        raise SystemExit(main(arguments))
    assert ended.value.code in (2, 3)
    shown = capsys.readouterr().err.strip()
    assert "HALLDETECT_OFFLINE forbids" in " ".join(shown.split())
    assert "Traceback" not in shown
