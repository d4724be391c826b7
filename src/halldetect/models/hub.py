"""Fetching from the model hub, through its own client so that its settings and tokens apply."""

from __future__ import annotations

import io
import logging
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from halldetect.errors import FetchError
from halldetect.models.catalogue import ModelEntry
from halldetect.models.progress import Progress

# How long to wait for the first sign of life, in seconds.
_TIMEOUT = 5.0
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Stated:
    """What the hub says of a file before it is fetched."""

    sha256: str
    bytes: int | None
    commit: str | None


def ask(entry: ModelEntry) -> Stated:
    """The digest and size the hub states; raises FetchError when they cannot be had or differ."""
    from huggingface_hub import get_hf_file_metadata, hf_hub_url

    hub = entry.hub
    url = hf_hub_url(hub.repo, hub.file, revision=hub.revision, endpoint=_endpoint())
    try:
        found = get_hf_file_metadata(url, timeout=_TIMEOUT)
    except Exception as error:
        raise FetchError(_reason(error)) from error
    if found.etag is None or not _SHA256.fullmatch(found.etag):
        raise FetchError("the hub states no sha256 for the file")
    if entry.sha256 is not None and found.etag != entry.sha256:
        raise FetchError("the hub now holds other bytes under this name")
    return Stated(found.etag, found.size, found.commit_hash)


def fetch(entry: ModelEntry, stated: Stated, staging: Path, progress: Progress) -> Path:
    """Download into the staging folder; a broken connection is taken up where it broke."""
    from huggingface_hub import hf_hub_download

    logger = logging.getLogger("huggingface_hub")
    level = logger.level
    logger.setLevel(logging.ERROR)  # "trying to resume" and the like: our progress says enough
    try:
        found = hf_hub_download(
            entry.hub.repo,
            entry.hub.file,
            revision=stated.commit or entry.hub.revision,
            local_dir=staging,
            etag_timeout=_TIMEOUT,
            endpoint=_endpoint(),
            tqdm_class=_reporting(progress, stated, f"fetching {entry.name} from the hub"),
        )
    except Exception as error:
        raise FetchError(_reason(error)) from error
    finally:
        logger.setLevel(level)
    return Path(found)


def _endpoint() -> str | None:
    """The client reads its own variable only when it is imported first; this one asks now."""
    return os.environ.get("HF_ENDPOINT") or None


def _reporting(progress: Progress, stated: Stated, what: str) -> Any:
    """The client reports to a tqdm class: this one passes the numbers on and draws nothing."""
    from tqdm import tqdm  # type: ignore[import-untyped]

    class Reporting(tqdm):  # type: ignore[misc]
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **{**options, "file": io.StringIO()})

        def update(self, n: float | None = 1) -> Any:
            shown = super().update(n)
            progress(int(self.n), stated.bytes, what)
            return shown

    return Reporting


def _reason(error: Exception) -> str:
    """One short line: the client's own messages run over many."""
    kind = type(error).__name__
    if kind in ("GatedRepoError", "RepositoryNotFoundError"):
        return "the hub asks for a login: accept the licence there and run `hf auth login`"
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{kind}: {lines[0].partition(' for url')[0][:160]}" if lines else kind
