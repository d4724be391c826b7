"""The model store: places, intact and damaged files, several processes at once."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from halldetect.errors import FetchError, ModelError
from halldetect.machine import download
from halldetect.machine import store as model_store
from tests.support.fake_hub import BYTES, CACHED, ENTRY, SHA, HubServer, left_behind

POSIX = os.name == "posix"


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"XDG_CACHE_HOME": "/x"}, "/x/halldetect"),
        ({}, "/h/.cache/halldetect"),
        ({"HALLDETECT_HOME": "/mine", "XDG_CACHE_HOME": "/x"}, "/mine"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="paths of other platforms, written as here")
def test_home(variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HALLDETECT_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/h")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert model_store.home() == Path(expected)


def test_a_file_put_there_by_hand_is_checked(store: Path) -> None:
    path = model_store.location(ENTRY)
    path.parent.mkdir(parents=True)
    path.write_bytes(BYTES)
    assert model_store.path("tiny") == path


def test_corrupt_files(store: Path, server: HubServer) -> None:
    path = model_store.pull("tiny")
    path.write_bytes(BYTES[:-1])
    with pytest.raises(ModelError, match=f"has {len(BYTES) - 1} bytes.*models pull tiny"):
        model_store.path("tiny")
    assert model_store.state(ENTRY) == "corrupt"
    path.write_bytes(BYTES[:-1] + b"!")
    with pytest.raises(ModelError, match="sha256"):
        model_store.path("tiny")
    assert model_store.pull("tiny").read_bytes() == BYTES, "pull fetches it again"


def test_altered_file_with_same_size_and_time_found(store: Path, server: HubServer) -> None:
    path = model_store.pull("tiny")
    before = path.stat()
    path.write_bytes(BYTES[:-1] + b"!")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(ModelError, match="sha256"):
        model_store.path("tiny")


def test_untouched_file_is_read_again_by_verify_only(
    store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = model_store.pull("tiny")
    read: list[Path] = []
    monkeypatch.setattr(model_store, "digest_of", lambda file: read.append(file) or SHA)
    assert model_store.path("tiny") == path
    assert read == []
    path.with_name("checked").chmod(0o444)
    model_store.path("tiny", trust_record=False)
    assert read == [path]


def test_state(store: Path, server: HubServer) -> None:
    assert model_store.state(ENTRY) == "absent"
    model_store.pull("tiny")
    assert model_store.state(ENTRY) == "cached"


def test_absent_says_how_to_get_it(store: Path) -> None:
    with pytest.raises(ModelError, match="halldetect models pull tiny"):
        model_store.path("tiny")
    with pytest.raises(ModelError, match="halldetect models pull tiny"):
        model_store.path("tiny", trust_record=False)


def test_offline_asks_nobody(
    store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    monkeypatch.setattr(
        download, "fetch_from_registry", lambda *_: pytest.fail("asked the registry")
    )
    with pytest.raises(FetchError, match="unset HALLDETECT_OFFLINE") as caught:
        model_store.pull("tiny")
    assert "models pull" not in str(caught.value), "that is what was just tried"
    assert server.asked == 0
    monkeypatch.setenv("HALLDETECT_OFFLINE", "0")
    assert model_store.pull("tiny").exists()
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    assert model_store.pull("tiny").exists(), "what is in the cache needs no network"


def test_a_cache_that_cannot_be_written(
    store: Path, server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("in the way")
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "a file" / "home"))
    with pytest.raises(ModelError, match=r"cannot write tiny .*HALLDETECT_HOME"):
        model_store.pull("tiny")


@pytest.mark.skipif(not POSIX or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_cache(store: Path, server: HubServer) -> None:
    store.mkdir()
    store.chmod(0o555)
    try:
        with pytest.raises(ModelError, match="cannot write tiny"):
            model_store.pull("tiny")
    finally:
        store.chmod(0o755)


def test_a_full_disk(store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(download, "fetch_from_hub", full)
    with pytest.raises(ModelError, match=r"cannot write tiny \(3 MB\) .*No space left on device"):
        model_store.pull("tiny")
    assert left_behind(store) == []


PULL = """
import sys
from halldetect.machine import catalogue
from halldetect.machine import store as model_store
from halldetect.machine.catalogue import ModelEntry
tiny = ModelEntry("tiny", "tiny.gguf", {size}, {sha!r}, "Apache-2.0", "someone/tiny")
catalogue.ENTRIES = (tiny,)
print(model_store.pull("tiny", lambda *args: print(*args, file=sys.stderr, flush=True)))
"""


def start_pull() -> subprocess.Popen[str]:
    script = PULL.format(size=len(BYTES), sha=SHA)
    return subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


def end(process: subprocess.Popen[str]) -> None:
    """Whatever happened, nothing is left running or open."""
    with process:
        process.kill()


def test_several_processes_fetch_once(store: Path, server: HubServer) -> None:
    processes = [start_pull() for _ in range(3)]
    try:
        for process in processes:
            out, err = process.communicate(timeout=120)
            assert process.returncode == 0, err
            assert Path(out.strip()).read_bytes() == BYTES
    finally:
        for process in processes:
            end(process)
    assert server.gets == [0]
    assert left_behind(store) == CACHED


@pytest.mark.skipif(not POSIX, reason="sends a POSIX signal")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_pull(how: signal.Signals, store: Path, server: HubServer) -> None:
    server.stalls_at = 1_500_000
    process = start_pull()
    try:
        deadline = time.monotonic() + 120
        while not server.gets and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(how)
        process.communicate(timeout=120)
    finally:
        end(process)
    assert process.returncode != 0
    if how == signal.SIGINT:
        assert left_behind(store) == []
    with pytest.raises(ModelError):
        model_store.path("tiny")
    # What a killed process had to leave is cleared away by the next.
    server.stalls_at = 0
    server.released.set()
    assert model_store.pull("tiny").read_bytes() == BYTES
    assert left_behind(store) == CACHED
