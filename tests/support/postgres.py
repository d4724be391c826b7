"""A real PostgreSQL server, started for the tests that need one."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True, slots=True)
class Server:
    """A cluster in a folder of its own; PostgreSQL refuses to run as root."""

    programs: Path
    folder: Path
    port: int
    who: dict[str, Any]

    def url(self, name: str) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def create(self, name: str) -> str:
        """The URL of a new database."""
        self.run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres", name)
        return self.url(name)

    def run(self, program: str, *arguments: str) -> str:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            [str(self.programs / program), *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            cwd=self.folder,
            **self.who,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def start(self) -> None:
        options = f"-p {self.port} -h 127.0.0.1 -k {self.folder} -c fsync=off"
        log = str(self.folder / "log")
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-o", options, "-l", log, "-w", "start")

    def stop(self) -> None:
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "-w", "stop")


def programs() -> Path:
    found = shutil.which("pg_ctl")
    places = [Path(found).resolve().parent] if found else []
    places += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    for place in places:
        if (place / "initdb").exists():
            return place
    pytest.skip("PostgreSQL is not installed")


@contextmanager
def postgres_server() -> Iterator[Server]:
    """A running server; the test is skipped where PostgreSQL is not installed."""
    pytest.importorskip("psycopg")
    who: dict[str, Any] = {}
    folder = Path(tempfile.mkdtemp(prefix="halldetect-pg-"))
    if os.getuid() == 0:
        try:
            entry = pwd.getpwnam("postgres")
        except KeyError:
            pytest.skip("there is no user postgres to run PostgreSQL as")
        who = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = Server(programs(), folder, port, who)
    try:
        server.run("initdb", "-D", str(folder / "data"), "-U", "postgres", "-A", "trust", "-N")
        server.start()
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
