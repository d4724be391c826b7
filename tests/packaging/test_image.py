"""The steps of the Dockerfile, run in a folder in place of a container."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support.paths import ROOT

pytestmark = pytest.mark.packaging
DEADLINE_SECONDS = 120


def stages() -> list[list[tuple[str, str]]]:
    """The instructions of each stage, continued lines joined."""
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines()
    found: list[list[tuple[str, str]]] = []
    for line in joined:
        name, value = line.split(maxsplit=1)
        if name == "FROM":
            found.append([])
        found[-1].append((name, value))
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def test_the_image_would_serve(tmp_path: Path) -> None:
    build, final = stages()
    place = tmp_path / "opt"
    source = tmp_path / "source"
    source.mkdir()
    arguments = dict(value.split("=", 1) for name, value in build if name == "ARG")
    environment = {**os.environ, **arguments, "HALLDETECT_HOME": str(tmp_path / "data")}
    environment["PIP_NO_COMPILE"] = "1"
    environment.pop("PYTHONPATH", None)
    for name, value in build:
        if name == "COPY":
            *copied, target = value.split()
            for item in copied:
                _copy(ROOT / item, source / target)
        elif name == "RUN":
            command = value.replace("/opt/halldetect", str(place))
            command = command.replace("python -m venv", f"{sys.executable} -m venv")
            if shutil.which("uv"):  # the same versions, sooner: it has fetched them before
                fetched = f"uv pip install --python {place}"
                command = command.replace(f"{place}/bin/pip install --no-cache-dir", fetched)
            subprocess.run(["sh", "-ec", command], cwd=source, env=environment, check=True)
    port = free_port()
    last = dict(final)
    environment["PATH"] = f"{place}/bin:{environment['PATH']}"
    command = [*json.loads(last["ENTRYPOINT"]), *json.loads(last["CMD"])]
    ported = [str(port) if word == "8000" else word for word in command]
    health = json.loads(last["HEALTHCHECK"].partition(" CMD ")[2].replace(":8000/", f":{port}/"))
    with subprocess.Popen(ported, cwd=tmp_path, env=environment) as service:
        try:
            _await_health(health, environment)
        finally:
            service.send_signal(signal.SIGTERM)
        assert service.wait(60) == 0


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        target = target / source.name if target.is_dir() else target
        shutil.copy(source, target)


def _await_health(command: list[str], environment: dict[str, str]) -> None:
    until = time.monotonic() + DEADLINE_SECONDS
    while subprocess.run(command, env=environment, capture_output=True).returncode:
        assert time.monotonic() < until, "the health check never passed"
        time.sleep(0.5)
