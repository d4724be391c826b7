"""A GGUF model by its name in the store, or by its file."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from halldetect.models.catalogue import find
from halldetect.models.download import Progress
from halldetect.models.integrity import digest_of
from halldetect.models.store import is_cached, megabytes, offline, path, pull, sha256_of


class GgufFile:
    """Where a model lies, and what a report records of it.

    model  a name of the store, which must be in the cache, or the path of a file
    """

    def __init__(self, model: str | Path) -> None:
        self._stored = str(model).lower() if is_stored(model) else None
        self.path = Path(model).expanduser() if self._stored is None else path(self._stored)

    @property
    def name(self) -> str:
        """The name that loads the same model again."""
        return f"gguf:{self._stored or self.path.resolve()}"

    @cached_property
    def digest(self) -> str:
        """The sha256 of the file."""
        digest = digest_of(self.path) if self._stored is None else sha256_of(self._stored)
        return f"sha256:{digest}"


def is_stored(model: str | Path) -> bool:
    """Whether this is a model name of the store, not a path; raises ModelError for neither."""
    if isinstance(model, Path) or model.lower().endswith(".gguf") or os.sep in model:
        return False
    find(model)
    return True


def fetch_if_stored(
    model: str, notice: Callable[[str], None], progress: Progress | None = None
) -> None:
    """Download a model of the store unless it is in the cache; a path is left as it is.

    model     a name of the store, or a path
    notice    gets one-line messages for a person, such as that a model is downloaded
    progress  gets the bytes of a download
    """
    if not is_stored(model) or is_cached(model):
        return
    if not offline():
        size = megabytes(find(model).bytes)
        notice(f"fetching {model} ({size}, once); HALLDETECT_OFFLINE=1 forbids this")
    pull(model, progress)
